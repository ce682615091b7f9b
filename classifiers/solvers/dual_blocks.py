"""Dual coordinate descent in blocks of rows: the way when samples are many, in memory or on disk.

A block of rows is read, its scores by all machines are computed at once, the dual is minimised
over the block's α with the products of its rows among each other ([Yu10]), and the weights are
brought up to date. Every pass reads the rows once, whatever the number of classes and folds, and
nothing has the size of the samples squared.

Blocks begin at another row in every pass. Where they were the same in all passes, 3,000 histograms
of words needed 51 passes of the order that is random altogether needs 15 of; moving ones need 18.
Products are therefore kept as a band: of every row with the rows that follow it.

Where single scores can be left out (bytes), samples are shrunk as in LIBLINEAR: one with α = 0 and
a gradient above the largest projected one of the pass before is not scored by that machine until
the others are solved. Then all are visited again.

[Yu10] H.-F. Yu, C.-J. Hsieh, K.-W. Chang and C.-J. Lin, "Large Linear Classification When Data
Cannot Fit in Memory", KDD 2010.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import methodcaller
from typing import Any, Protocol

import numpy as np

from visualwords.classifiers.solvers import _dual_blocks
from visualwords.classifiers.solvers.dual_gram import FINEST_SINGLE, DualProblem
from visualwords.threads import map_in_threads
from visualwords.workers import map_on_workers, n_workers

INNER = 3  # passes over a block while it is in memory
GROUPS_AT_A_TIME = 8  # of machines: what each needs is n × 32 numbers of α, and its weights
FALL = 10.0  # times the root of the share by which a pass lowers the objective is a violation
WIDTHS = 16, 32  # of a group of machines: products of fixed shapes give the same bits everywhere


class BlockRows(Protocol):
    """Samples in an order, of which neighbours form blocks, and weights in a form that suits them.

    Attributes
    ----------
    size : int
        Most rows of a block.
    skips : bool
        Whether a score that is not wanted takes no time, so that shrinking is worth it.
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

        Examples
        --------
        >>> Machines.of(3, [-1, 0]).positive.tolist(), Machines.of(3, [-1, 0]).excluded.tolist()
        ([0, 1, 2, 0, 1, 2], [-1, -1, -1, 0, 0, 0])
        """
        positive = np.array([1]) if n_classes == 2 else np.arange(n_classes)
        return cls(np.tile(positive, len(folds)), np.repeat(np.asarray(folds), positive.size))

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
class AllSolved:
    """All machines after training.

    Attributes
    ----------
    weights : those of the machines that exclude no fold, one after the other
    n_iter : int
    violation : float
    held_out : (n, n_outputs) float64
        Scores of the samples of every excluded fold, in the order of the blocks.
    """

    weights: np.ndarray
    n_iter: int
    violation: float
    held_out: np.ndarray


def solve_in_pieces(
    kind: Callable[..., BlockRows],
    reference: Any,
    layout: tuple[Any, ...],
    samples: Samples,
    machines: Machines,
    **settings: Any,
) -> AllSolved:
    """Solve many machines: a few groups at a time, and each worker some of them.

    A group's result does not depend on what else is solved beside it, so that any number of
    workers gives the same bits. Workers need the rows, or see the file that has them, and send
    back weights and held-out scores.

    Parameters
    ----------
    kind : function of ``reference`` and ``layout`` that gives the `BlockRows`
    reference : Any
        The rows, or what `visualwords.workers.within_reach` gave for them.
    layout : tuple
    samples, machines :
        As in `solve_dual_blocks`.
    settings : dict
        The rest of its parameters.
    """
    groups = machines.groups()
    count = max(1, min(GROUPS_AT_A_TIME, -(-len(groups) // n_workers())))
    pieces = [(groups[k : k + count],) for k in range(0, len(groups), count)]
    shared = [kind, reference, layout, samples, settings]
    solved = [
        one for some in map_on_workers(_solve_some, pieces, shared=shared, n_jobs=1) for one in some
    ]
    n_outputs = len(np.unique(machines.positive))
    held_out = np.zeros((len(samples.codes), n_outputs))
    for group, (_, _, _, scores) in zip(groups, solved):
        for positive, excluded, found in zip(group.positive, group.excluded, scores):
            if excluded >= 0:
                held_out[samples.folds == excluded, positive if n_outputs > 1 else 0] = found
    return AllSolved(
        np.concatenate([weights for weights, *_ in solved]),
        max(n_iter for _, n_iter, *_ in solved),
        max(violation for _, _, violation, _ in solved),
        held_out[:, 0] if n_outputs == 1 else held_out,
    )


def _solve_some(
    kind: Callable[..., BlockRows],
    known: Any,
    layout: tuple[Any, ...],
    samples: Samples,
    settings: dict[str, Any],
    groups: list[Machines],
) -> list[tuple[np.ndarray, int, float, list[np.ndarray]]]:
    """Solve some groups; return weights without a fold, passes, violation and held-out scores."""
    rows = kind(known, *layout)
    solved = solve_dual_blocks(rows, samples, groups, **settings)
    held_out = _held_out(rows, samples, groups, [one.weights for one in solved])
    return [
        (
            rows.lanes_of(one.weights, np.flatnonzero(group.excluded < 0)),
            int(one.n_iter.max()),
            float(one.violation[: len(group.positive)].max()),
            scores,
        )
        for group, one, scores in zip(groups, solved, held_out)
    ]


def _held_out(
    rows: BlockRows, samples: Samples, groups: list[Machines], weights: list[np.ndarray]
) -> list[list[np.ndarray]]:
    """Return every machine's scores of the samples of the fold that it excludes, in order."""
    found: list[list[list[np.ndarray]]] = [[[] for _ in group.positive] for group in groups]
    if all((group.excluded < 0).all() for group in groups):
        return [[np.zeros(0)] * len(group.positive) for group in groups]
    for start, end in _blocks(len(samples.codes), rows.size, rows.size):
        block = rows.load(start, end, weights[0].dtype)
        folds = samples.folds[start:end]
        for group, learned, scores in zip(groups, weights, found):
            here = rows.scores(block, learned, folds[:, None] == group.padded().excluded)
            for lane, fold in enumerate(group.excluded):
                scores[lane].append(here[folds == fold, lane])
    return [[np.concatenate(lane) for lane in scores] for scores in found]


def solve_dual_blocks(
    rows: BlockRows,
    samples: Samples,
    groups: Sequence[Machines],
    *,
    tol: float,
    max_iter: int,
    seed: int | None,
    n_jobs: int | None = None,
) -> list[Solved]:
    """Solve several SVMs without bias that share samples and costs.

    Parameters
    ----------
    rows : BlockRows
    samples : Samples
    groups : sequence of Machines, from ``Machines.groups``
        Each is solved independently of the others, which only read the same blocks.
    tol : float
        A problem stops once the largest and the smallest projected gradient of a pass differ by
        at most this (LIBLINEAR's rule), or once a pass lowers the dual objective by less than
        (tol / 10)² of it: the more samples there are, the longer some of them violate the first.
    max_iter : int
        Passes over the samples.
    seed : int or None
        Seed of the order of blocks, and of samples in a block; None is the order given.
    n_jobs : int or None
        Threads, over groups; the result does not depend on it.

    Returns
    -------
    list of Solved, one for each group
    """
    dtype = np.float32 if tol >= FINEST_SINGLE else np.float64
    states = [_Group(rows, samples, group, dtype, tol, max_iter) for group in groups]
    rng = np.random.default_rng(seed)
    n = len(samples.codes)
    while running := [state for state in states if state.running.any()]:
        first = rows.size if seed is None else int(rng.integers(1, rows.size + 1))
        blocks = _blocks(n, rows.size, first)
        for number in range(len(blocks)) if seed is None else rng.permutation(len(blocks)):
            start, end = blocks[number]
            plain = np.tile(np.arange(end - start), (INNER, 1))
            orders = plain if seed is None else rng.permuted(plain, axis=1)
            some = rows.load(start, end, dtype)
            visit = _Visit(start, end, some, rows.gram(start, end), orders)
            map_in_threads(methodcaller("visit", visit), running, n_jobs)
        for state in running:
            state.end_pass()
    return [Solved(state.weights, state.n_iter, state.violation) for state in states]


def _blocks(n: int, size: int, first: int) -> list[tuple[int, int]]:
    """Return start and end of blocks of neighbours; the first has another size.

    Examples
    --------
    >>> _blocks(10, 4, 3)
    [(0, 3), (3, 7), (7, 10)]
    """
    bounds = [0, *range(first, n, size), n]
    return list(pairwise(bounds))


@dataclass(frozen=True)
class _Visit:
    """A block that was read, and the orders to visit its samples in."""

    start: int
    end: int
    rows: Any
    gram: np.ndarray
    orders: np.ndarray


class _Group:
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

    def visit(self, visit: _Visit) -> None:
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
        block = _dual_blocks.Block(
            visit.gram, signs, problem.diagonal[part], problem.upper[part], problem.curvature[part]
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
        if self.rows.skips:
            _dual_blocks.shrink(block, alpha, scores, self.bounds, self.shrunk[part])
        self.rows.update(visit.rows, changes, self.weights)

    def end_pass(self) -> None:
        """Decide which problems are solved, and from which gradient on samples are shrunk."""
        self.n_iter[self.running] += 1
        self.fallen += self.gains
        fall = self.gains / np.maximum(self.fallen, np.finfo(float).tiny)
        now = np.minimum(self.extremes[0] - self.extremes[1], FALL * np.sqrt(fall))
        self.violation[self.running] = now[self.running]
        solved = now <= self.tol
        self.running &= ~(solved & self.whole) & (self.n_iter < self.max_iter)
        self.shrunk[:, solved] = False
        self.bounds = np.where(solved | (self.extremes[0] <= 0), np.inf, self.extremes[0])
        self.whole = np.logical_not(self.shrunk.any(axis=0))
        self._begin_pass()
