"""Machines that pass through blocks of rows together, and how far they are.

Where single scores can be left out (bytes), samples are shrunk as in LIBLINEAR: one with α = 0 and
a gradient above the largest projected one of the pass before is not scored by that machine until
the others are solved. Then all are visited again.

Elsewhere (tables) passes are extrapolated, by Nesterov's steps, which begin anew wherever they lead
back ([Don15]): the more samples there are, the more passes that saves. An α below 0 comes back at
its next visit. Machines that are solved leave their group, eight at a time.

[Don15] B. O'Donoghue and E. Candès, "Adaptive Restart for Accelerated Gradient Schemes",
Foundations of Computational Mathematics 15, 2015.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from visualwords.classifiers.solvers import _dual_blocks
from visualwords.classifiers.solvers.dual_gram import DualProblem

FALL = 10.0  # times the root of the share by which a pass lowers the objective is a violation
WIDTHS = 16, 32  # of a group of machines: products of fixed shapes give the same bits everywhere
LANES = 8  # machines that leave a group together


class BlockRows(Protocol):
    """Samples in an order, of which neighbours form blocks, and weights in a form that suits them.

    Attributes
    ----------
    size : int
        Most rows of a block.
    skips : bool
        Whether a score that is not wanted takes no time: samples are then shrunk. Otherwise passes
        are extrapolated, which needs a method `line` (`ExtrapolatedGroup`).
    """

    size: int
    skips: bool

    def load(self, start: int, end: int, dtype: Any) -> Any:
        """Return neighbouring rows, in the form that the other methods take."""

    def gram(self, start: int, end: int) -> np.ndarray:
        """Return their products among each other, (b, b) float32."""

    def new_weights(self, lanes: int, dtype: Any) -> np.ndarray:
        """Return weights of no training: zeros."""

    def scores(self, rows: Any, weights: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return the scores of a block's rows, (b, lanes); some number where ``wanted`` is 0."""

    def update(self, rows: Any, coefficients: np.ndarray, weights: np.ndarray) -> None:
        """Add the rows of a block times their coefficients, (b, lanes), to the weights."""

    def lanes_of(self, weights: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """Return the weights of some machines, one after the other along the first axis."""


@dataclass(frozen=True)
class Machines:
    """One-vs-rest problems that share samples and costs.

    Attributes
    ----------
    positive : (p,) int
        The class that is against the rest.
    excluded : (p,) int
        The fold that takes no part; −1: all samples do.
    """

    positive: np.ndarray
    excluded: np.ndarray

    @classmethod
    def of(cls, n_classes: int, folds: Sequence[int]) -> "Machines":
        """Return all classes without each of some folds; two classes are one problem.

        Those of a class are neighbours: they need about the same samples and passes.

        Examples
        --------
        >>> Machines.of(3, [-1, 0]).positive.tolist(), Machines.of(3, [-1, 0]).excluded.tolist()
        ([0, 0, 1, 1, 2, 2], [-1, 0, -1, 0, -1, 0])
        """
        positive = np.array([1]) if n_classes == 2 else np.arange(n_classes)
        return cls(np.repeat(positive, len(folds)), np.tile(np.asarray(folds), positive.size))

    def groups(self) -> list["Machines"]:
        """Divide the problems into groups that pass through the rows together."""
        width = WIDTHS[len(self.positive) > WIDTHS[0]]
        starts = range(0, len(self.positive), width)
        return [
            Machines(self.positive[s : s + width], self.excluded[s : s + width]) for s in starts
        ]

    def padded(self) -> "Machines":
        """Return a group filled up to its width with problems of no samples' class."""
        width = WIDTHS[len(self.positive) > WIDTHS[0]]
        more = width - len(self.positive)
        return Machines(np.pad(self.positive, (0, more)), np.pad(self.excluded, (0, more)))


@dataclass(frozen=True)
class Samples:
    """What the problems share, in the order of the blocks.

    Attributes
    ----------
    codes, folds : (n,) int
        Class and fold of every sample.
    problem : DualProblem
    """

    codes: np.ndarray
    folds: np.ndarray
    problem: DualProblem


@dataclass(frozen=True)
class Solved:
    """A group of machines after training: weights as their rows have them, passes, violations."""

    weights: np.ndarray
    n_iter: np.ndarray
    violation: np.ndarray


@dataclass(frozen=True)
class Visit:
    """A block that was read, and the orders to visit its samples in."""

    start: int
    end: int
    rows: Any
    gram: np.ndarray
    orders: np.ndarray


class Group:
    """How far a group of machines is."""

    def __init__(
        self,
        rows: BlockRows,
        samples: Samples,
        group: Machines,
        dtype: Any,
        tol: float,
        max_iter: int,
    ):
        self.rows, self.samples, self.tol, self.max_iter = rows, samples, tol, max_iter
        self.size, self.machines = len(group.positive), group.padded()
        lanes = len(self.machines.positive)
        self.weights = rows.new_weights(lanes, dtype)
        self.alpha = np.zeros((len(samples.codes), lanes), dtype)
        self.n_iter = np.zeros(lanes, np.int64)
        self.violation = np.full(lanes, np.inf)
        self.running = np.arange(lanes) < self.size
        self.fallen = np.zeros(lanes)
        self.shrunk = np.zeros((len(samples.codes), lanes), np.bool_)
        self.bounds = np.full(lanes, np.inf)  # of gradients, above which samples are shrunk
        self.whole = np.ones(lanes, np.bool_)  # nothing is shrunk in this pass
        self._begin_pass()

    def _begin_pass(self) -> None:
        lanes = len(self.running)
        self.extremes = np.array([[-np.inf], [np.inf]]) * np.ones(lanes)
        self.gains = np.zeros(lanes)

    def visit(self, visit: Visit) -> None:
        """Minimise over the α of a block."""
        part = slice(visit.start, visit.end)
        samples, problem = self.samples, self.samples.problem
        alpha = self.alpha[part]
        signs, changes = np.empty_like(alpha), np.empty_like(alpha)
        machines = self.machines.positive, self.machines.excluded
        visited = self.running, self.shrunk[part]
        _dual_blocks.fill_signs(
            samples.codes[part], samples.folds[part], *machines, *visited, signs
        )
        limits = problem.lower[part], problem.upper[part]
        block = _dual_blocks.Block(
            visit.gram, signs, problem.diagonal[part], *limits, problem.curvature[part]
        )
        scores = np.ascontiguousarray(self.rows.scores(visit.rows, self.weights, signs).T)
        _dual_blocks.visit_block(
            block,
            visit.orders,
            alpha,
            scores,
            changes,
            self.extremes,
            self.gains,
        )
        self._after_visit(part, block, scores, changes)
        self.rows.update(visit.rows, changes, self.weights)

    def _after_visit(
        self, part: slice, block: _dual_blocks.Block, scores: np.ndarray, changes: np.ndarray
    ) -> None:
        _dual_blocks.shrink(block, self.alpha[part], scores, self.bounds, self.shrunk[part])

    def end_pass(self) -> None:
        """Decide which problems are solved, and from which gradient on samples are shrunk."""
        solved = self._solved(self.gains)
        self.running &= ~(solved & self.whole) & (self.n_iter < self.max_iter)
        self.shrunk[:, solved] = False
        self.bounds = np.where(solved | (self.extremes[0] <= 0), np.inf, self.extremes[0])
        self.whole = np.logical_not(self.shrunk.any(axis=0))
        self._begin_pass()

    def _solved(self, falls: np.ndarray) -> np.ndarray:
        """Count a pass that lowered the objectives; return which problems it finds solved."""
        self.n_iter[self.running] += 1
        self.fallen += self.gains
        fall = falls / np.maximum(self.fallen, np.finfo(float).tiny)
        now = np.minimum(self.extremes[0] - self.extremes[1], FALL * np.sqrt(fall))
        self.violation[self.running] = now[self.running]
        return np.asarray(now <= self.tol)

    def result(self) -> Solved:
        """Return what was learned."""
        return Solved(self.weights, self.n_iter, self.violation)


class ExtrapolatedGroup(Group):
    """Machines whose passes are extrapolated; those that are solved leave it.

    ``rows.line(now, before)`` returns the first two derivatives of half the squared length of
    weights (…, lanes) at ``now``, in the direction that leads there from ``before``.
    """

    rows: Any

    def __init__(self, *args: Any):
        super().__init__(*args)
        lanes = len(self.running)
        self.places = np.arange(lanes)  # in the group, of the machines that have not left
        self.all = Solved(np.empty_like(self.weights), self.n_iter.copy(), self.violation.copy())
        self.before = [np.zeros_like(self.alpha), np.zeros_like(self.weights)]  # a pass ago
        self.momentum = np.ones(lanes)
        self.back = np.zeros(lanes)  # positive where a pass leads back
        self.rise = np.zeros(lanes)  # of the objective, by extrapolation

    def _after_visit(
        self, part: slice, block: _dual_blocks.Block, scores: np.ndarray, changes: np.ndarray
    ) -> None:
        before = self.before[0][part]
        _dual_blocks.add_opposed(block.signs, changes, self.alpha[part], before, self.back)

    def end_pass(self) -> None:
        """Decide which problems are solved, and extrapolate the others."""
        self.fallen -= self.rise
        solved = self._solved(self.gains + np.maximum(-self.rise, 0))
        self.running &= ~solved & (self.n_iter < self.max_iter)
        if not self.running.any():
            return
        if self._n_needed() < len(self.running):
            self._leave()
        self._extrapolate()
        self._begin_pass()

    def _extrapolate(self) -> None:
        momentum = np.where(self.back > 0, 1.0, self.momentum)
        self.momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        factors = np.where(self.running, (momentum - 1) / self.momentum, 0.0)
        slopes, curvatures = self.rows.line(self.weights, self.before[1])
        diagonal = self.samples.problem.diagonal
        _dual_blocks.add_line(self.alpha, self.before[0], diagonal, slopes, curvatures)
        self.rise = factors * (slopes + factors * curvatures / 2)
        for now, before in zip((self.alpha, self.weights), self.before):
            _dual_blocks.extrapolate(now, before, factors.astype(now.dtype))
        self.back = np.zeros(len(factors))

    def _n_needed(self) -> int:
        """Return the machines that are not solved, in eights."""
        return -(-int(self.running.sum()) // LANES) * LANES

    def _leave(self) -> None:
        """Go on with the machines that are not solved, filled up with some that are."""
        self._note()
        kept = np.sort(np.argsort(~self.running, kind="stable")[: self._n_needed()])
        self.machines = Machines(self.machines.positive[kept], self.machines.excluded[kept])
        for name in ("places", "n_iter", "violation", "running", "fallen", "momentum", "back"):
            setattr(self, name, getattr(self, name)[kept])
        for name in ("alpha", "weights", "shrunk"):
            setattr(self, name, np.ascontiguousarray(getattr(self, name)[:, kept]))
        self.before = [np.ascontiguousarray(one[:, kept]) for one in self.before]

    def _note(self) -> None:
        self.all.weights[:, self.places] = self.weights
        self.all.n_iter[self.places] = self.n_iter
        self.all.violation[self.places] = self.violation

    def result(self) -> Solved:
        """Return what was learned, by machines that left before, too."""
        self._note()
        return self.all
