"""Dual coordinate descent in blocks of rows: the way when samples are many, in memory or on disk.

First the solver, for rows and weights of any form (`BlockRows`); then the HIK SVM by it, whose
scores are looked up in tables, and whose products inside a block are exact sums of minima.

A block of rows is read, its scores by all machines are computed at once, the dual is minimised
over the block's α with the products of its rows among each other ([Yu10]), and the weights are
brought up to date. Every pass reads the rows once, whatever the number of classes and folds, and
nothing has the size of the samples squared.

Blocks begin at another row in every pass. Where they were the same in all passes, 3,000 histograms
of words needed 51 passes of the order that is random altogether needs 15 of; moving ones need 18.
Products are therefore kept as a band: of every row with the rows that follow it.

Samples are shrunk as in LIBLINEAR: one with α = 0 and a gradient above the largest projected one of
the pass before is not scored by that machine until the others are solved. Then all are visited
again.

[Yu10] H.-F. Yu, C.-J. Hsieh, K.-W. Chang and C.-J. Lin, "Large Linear Classification When Data
Cannot Fit in Memory", KDD 2010.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from operator import methodcaller
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from visualwords.classifiers.row_file import AnyRows, RowFile
from visualwords.classifiers.solvers import _dual_blocks as loops
from visualwords.classifiers.solvers.problems import (
    FINEST_SINGLE,
    DualProblem,
    LevelProblem,
    Solved,
    dual_problem,
)
from visualwords.classifiers.tables.level_tables import CellLists, TableLayout
from visualwords.compiled import as_compiled
from visualwords.parallel import map_in_threads, map_on_workers, n_workers, within_reach

INNER = 3  # passes over a block while it is in memory
FALL = 10.0  # times the root of the share by which a pass lowers the objective is a violation
LANES = 32  # machines of a group
GROUPS_AT_A_TIME = 8  # of machines: what each needs is n × 32 numbers of α, and weights
LEVELS_OF_A_BLOCK = 512  # rows
FEWEST_PROBLEMS = 4  # fewer do not fill vectors


class BlockRows(Protocol):
    """Samples in an order, of which neighbours form blocks, and weights in a form that suits them.

    Attributes
    ----------
    band : (n, size) float32 array or RowFile
        Products of every row with itself and the rows that follow; a block has at most ``size``.
    factor : float
        Of the products.
    """

    band: AnyRows
    factor: float

    def load(self, start: int, end: int) -> Any:
        """Neighbouring rows, in the form that the other methods take."""

    def new_weights(self, lanes: int, dtype: type[np.floating]) -> np.ndarray:
        """Weights of no training: zeros."""

    def scores(self, rows: Any, weights: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """The scores of a block's rows, (b, lanes); some number where ``wanted`` is 0."""

    def update(self, rows: Any, coefficients: np.ndarray, weights: np.ndarray) -> None:
        """Add the rows of a block times their coefficients, (b, lanes), to the weights."""

    def lanes_of(self, weights: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """The weights of some machines, one after the other along the first axis."""


class BlockSamples(NamedTuple):
    """What all machines share, in the order of the blocks.

    Attributes
    ----------
    codes, folds : (n,) int
        Class and fold of every sample; a negative fold is none.
    problem : DualProblem
    """

    codes: np.ndarray
    folds: np.ndarray
    problem: DualProblem

    def part(self, start: int, end: int) -> "BlockSamples":
        """Neighbouring samples."""
        some = slice(start, end)
        problem = DualProblem(*(array[some] for array in self.problem))
        return BlockSamples(self.codes[some], self.folds[some], problem)


class Machines(NamedTuple):
    """One-vs-rest problems: the positive class of each, and the fold that takes no part, or −1."""

    positive: np.ndarray
    excluded: np.ndarray

    @classmethod
    def of(cls, positive: np.ndarray, folds: np.ndarray) -> "Machines":
        """Some classes, each with all samples and without each of the folds ≥ 0.

        Those of a class are neighbours: they need about the same samples and passes.

        Examples
        --------
        >>> machines = Machines.of(np.array([0, 1, 2]), np.array([0, -1, 0]))
        >>> machines.positive.tolist(), machines.excluded.tolist()
        ([0, 0, 1, 1, 2, 2], [-1, 0, -1, 0, -1, 0])
        """
        excluded = np.unique(np.append(folds[folds >= 0], -1))
        return cls(np.repeat(positive, excluded.size), np.tile(excluded, positive.size))

    def groups(self) -> "list[Machines]":
        """Divide the machines into groups that pass through the rows together."""
        starts = range(0, len(self.positive), LANES)
        return [Machines(*(array[s : s + LANES] for array in self)) for s in starts]


class BlockSolution(NamedTuple):
    """What machines learned.

    Attributes
    ----------
    weights : those of the machines that exclude no fold, one after the other
    held_out : (n, n_outputs) float64, or (n,) for one output
        Scores of every fold's samples by the machines that exclude it, in the order of the blocks.
    """

    weights: np.ndarray
    held_out: np.ndarray


def solve_dual_blocks(
    rows_of: Callable[..., BlockRows],
    reference: Any,
    layout: tuple[Any, ...],
    samples: BlockSamples,
    machines: Machines,
    *,
    tol: float,
    max_iter: int,
    seed: int | None,
    n_jobs: int | None = None,
) -> tuple[BlockSolution, int, float]:
    """Solve several SVMs without bias that share samples and costs.

    A few groups of machines at a time, and each worker some of them. A machine's result does not
    depend on what else is solved beside it, so that any number of workers gives the same bits.

    Parameters
    ----------
    rows_of : function of ``reference`` and ``layout`` that gives the `BlockRows`
    reference : Any
        The rows, or what `visualwords.parallel.within_reach` gave for them.
    layout : tuple
    samples : BlockSamples
    machines : Machines
    tol : float
        A machine stops once the largest and the smallest projected gradient of a pass differ by
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
    solution : BlockSolution
    n_iter : int
    violation : float
    """
    samples = samples._replace(folds=np.where(samples.folds < 0, -2, samples.folds))
    groups = machines.groups()
    count = max(1, min(GROUPS_AT_A_TIME, -(-len(groups) // n_workers())))
    pieces = [(groups[k : k + count],) for k in range(0, len(groups), count)]
    schedule = tol, max_iter, seed, n_jobs
    shared = [rows_of, reference, layout, samples, schedule]
    solved = [
        one for some in map_on_workers(_solve_some, pieces, shared=shared, n_jobs=1) for one in some
    ]
    outputs = np.unique(machines.positive)
    held_out = np.zeros((len(samples.codes), outputs.size))
    for group, (_, scores, _, _) in zip(groups, solved):
        for positive, fold, found in zip(*group, scores):
            if fold >= 0:
                held_out[samples.folds == fold, np.searchsorted(outputs, positive)] = found
    weights = np.concatenate([weights for weights, *_ in solved])
    solution = BlockSolution(weights, held_out[:, 0] if outputs.size == 1 else held_out)
    return solution, max(one[2] for one in solved), max(one[3] for one in solved)


def _solve_some(
    rows_of: Callable[..., BlockRows],
    reference: Any,
    layout: tuple[Any, ...],
    samples: BlockSamples,
    schedule: tuple[float, int, int | None, int | None],
    groups: list[Machines],
) -> list[tuple[np.ndarray, list[np.ndarray], int, float]]:
    """Solve some groups; return weights without a fold, held-out scores, passes and violation."""
    rows, (tol, max_iter, seed, n_jobs) = rows_of(reference, *layout), schedule
    dtype = np.float32 if tol >= FINEST_SINGLE else np.float64
    states = [_Group(rows, samples, group, dtype) for group in groups]
    rng, n, size = np.random.default_rng(seed), len(samples.codes), rows.band.shape[1]
    while running := [state for state in states if state.running.any()]:
        first = size if seed is None else int(rng.integers(1, size + 1))
        blocks = _blocks(n, size, first)
        for number in range(len(blocks)) if seed is None else rng.permutation(len(blocks)):
            start, end = blocks[number]
            plain = np.tile(np.arange(end - start), (INNER, 1))
            orders = plain if seed is None else rng.permuted(plain, axis=1)
            gram = np.empty((end - start, end - start), np.float32)
            loops.fill_gram(rows.band[start:end], np.float32(rows.factor), gram)
            visit = methodcaller("visit", start, end, rows.load(start, end), gram, orders)
            map_in_threads(visit, running, n_jobs)
        for state in running:
            state.end_pass(tol, max_iter)
    for start, end in _blocks(n, size, size):
        if any((group.excluded >= 0).any() for group in groups):
            block = rows.load(start, end)
            for state in states:
                state.hold_out(block, samples.folds[start:end])
    return [state.result() for state in states]


class _Group:
    """How far a group of machines is."""

    def __init__(
        self, rows: BlockRows, samples: BlockSamples, machines: Machines, dtype: type[np.floating]
    ):
        self.rows, self.samples, self.machines = rows, samples, machines
        n, lanes = len(samples.codes), len(machines.positive)
        self.weights = rows.new_weights(lanes, dtype)
        self.alpha = np.zeros((n, lanes), dtype)
        self.n_iter = np.zeros(lanes, np.int64)
        self.violation = np.full(lanes, np.inf)
        self.running = np.ones(lanes, np.bool_)
        self.fallen = np.zeros(lanes)
        self.shrunk = np.zeros((n, lanes), np.bool_)
        self.bounds = np.full(lanes, np.inf)  # of gradients, above which samples are shrunk
        self.scores: list[list[np.ndarray]] = [[] for _ in range(lanes)]  # held out
        self._begin_pass()

    def _begin_pass(self) -> None:
        self.extremes = np.array([[-np.inf], [np.inf]]) * np.ones(self.running.size)
        self.gains = np.zeros(self.running.size)
        self.is_whole = np.logical_not(self.shrunk.any(axis=0))  # nothing is shrunk in this pass

    def visit(self, start: int, end: int, block: Any, gram: np.ndarray, orders: np.ndarray) -> None:
        """Minimise over the α of a block, and bring the weights up to date."""
        part, some = slice(start, end), self.samples.part(start, end)
        alpha = self.alpha[part]
        wanted = np.empty_like(alpha)
        loops.fill_signs(some, self.machines, self.running, self.shrunk[part], wanted)
        scores = self.rows.scores(block, self.weights, wanted)
        scores, signs, own = (array.T.copy() for array in (scores, wanted, alpha))
        loops.visit_block(gram, some.problem, signs, orders, own, scores, self.extremes, self.gains)
        loops.shrink(some.problem, signs, own, scores, self.bounds, self.shrunk[part])
        self.rows.update(block, (own.T - alpha) * wanted, self.weights)
        self.alpha[part] = own.T

    def end_pass(self, tol: float, max_iter: int) -> None:
        """Decide which machines are solved, and from which gradient on samples are shrunk."""
        self.n_iter[self.running] += 1
        self.fallen += self.gains
        fall = self.gains / np.maximum(self.fallen, np.finfo(float).tiny)
        now = np.minimum(self.extremes[0] - self.extremes[1], FALL * np.sqrt(fall))
        self.violation[self.running] = now[self.running]
        solved = now <= tol
        self.running &= ~(solved & self.is_whole) & (self.n_iter < max_iter)
        self.shrunk[:, solved] = False
        self.bounds = np.where(solved | (self.extremes[0] <= 0), np.inf, self.extremes[0])
        self._begin_pass()

    def hold_out(self, block: Any, folds: np.ndarray) -> None:
        """Keep the scores of the samples of every machine's fold."""
        scores = self.rows.scores(block, self.weights, folds[:, None] == self.machines.excluded)
        for lane, fold in enumerate(self.machines.excluded):
            self.scores[lane].append(scores[folds == fold, lane])

    def result(self) -> tuple[np.ndarray, list[np.ndarray], int, float]:
        """Weights without a fold, held-out scores, passes and violation."""
        whole = np.flatnonzero(self.machines.excluded < 0)
        weights = self.rows.lanes_of(self.weights, whole)
        held_out = [np.concatenate(some) if some else np.zeros(0) for some in self.scores]
        return weights, held_out, int(self.n_iter.max()), float(self.violation.max())


def _blocks(n: int, size: int, first: int) -> list[tuple[int, int]]:
    """Start and end of blocks of neighbours; the first has another size.

    Examples
    --------
    >>> _blocks(10, 4, 3)
    [(0, 3), (3, 7), (7, 10)]
    """
    return list(pairwise([0, *range(first, n, size), n]))


def band_pieces(n: int, width: int) -> list[tuple[int, int, int]]:
    """The rows of a piece of the band, and the end of those that it needs.

    Examples
    --------
    >>> band_pieces(10, 4)
    [(0, 4, 8), (4, 8, 10), (8, 10, 10)]
    """
    return [(s, min(s + width, n), min(s + 2 * width, n)) for s in range(0, n, width)]


def cut_band(products: np.ndarray, width: int) -> np.ndarray:
    """Each row's products with itself and the rows after it, (b, width) float32.

    ``products`` (b, c) are those of neighbouring rows with themselves and the rows that follow.
    """
    padded = np.zeros((len(products), len(products) + width), np.float32)
    padded[:, : products.shape[1]] = products
    row = np.arange(len(products))[:, None]
    return padded[row, row + np.arange(width)]


def keep_band(
    parts: Iterable[np.ndarray], shape: tuple[int, int], file: RowFile | None
) -> tuple[AnyRows, np.ndarray]:
    """A band in memory or in a file, and the products of all rows with themselves."""
    band = np.empty(shape if file is None else (0, 0), np.float32)
    norms, start = np.empty(shape[0]), 0
    for part in parts:
        norms[start : start + len(part)] = part[:, 0]
        if file is None:
            band[start : start + len(part)] = part
        else:
            file.append(part)
        start += len(part)
    return band if file is None else file, norms


def blocks_are_faster(n: int, d: int, n_problems: int, n_folds: int, tol: float) -> bool:
    """Whether to train dense samples in blocks of rows, and not on Gram matrices.

    In units of time measured with 3,000 histograms of 4,200 words: a Gram matrix takes
    n² (d/64 + 2 p) for p problems, and each fold about 0.64 of that again; blocks take, in 20
    passes, 0.75 n (120 d + (6,000 + 1.2 d) l) for all l problems of all folds together.

    Examples
    --------
    >>> blocks_are_faster(2000, 4200, 10, 5, 0.1), blocks_are_faster(5000, 4200, 10, 5, 0.1)
    (False, True)
    """
    if n_problems < FEWEST_PROBLEMS or tol < FINEST_SINGLE:
        return False
    on_gram = n * (1 + 0.64 * n_folds) * (d / 64 + 2 * n_problems)
    return on_gram > 0.75 * (120 * d + (6000 + 1.2 * d) * n_problems * (1 + n_folds))


def solve_blocks(problem: LevelProblem) -> Solved:
    """Solve HIK SVMs in blocks of rows; see `LevelProblem`."""
    solution, n_iter, violation = solve_with_folds(problem, np.full(problem.rows.size, -1))
    return solution.weights, n_iter, violation


def solve_with_folds(problem: LevelProblem, folds: np.ndarray) -> tuple[BlockSolution, int, float]:
    """Solve HIK SVMs with all samples, and without each of some folds.

    Parameters
    ----------
    problem : LevelProblem
        Of dense levels of one byte, or of a `RowFile` of them, whose rows are in random order and
        taken as they are; what training needs is kept beside it.
    folds : (m,) int
        Of the rows that take part; −1 is none.

    Returns
    -------
    solution : BlockSolution
        Weights are the tables of all samples, as in `LevelProblem`.
    n_iter : int
    violation : float
    """
    levels = problem.levels
    if sparse.issparse(levels) or levels.dtype != np.uint8:
        raise ValueError("solver='blocks' needs dense samples, of at most 256 levels")
    from visualwords.classifiers.kernels.minmax import level_gram  # kernels load much else

    n = problem.rows.size
    in_file = isinstance(levels, RowFile)
    ordered: Any = levels if in_file else levels[problem.rows]

    def parts() -> Iterator[np.ndarray]:
        for start, end, last in band_pieces(n, LEVELS_OF_A_BLOCK):
            some = ordered[start:last]
            products = level_gram(some[: end - start], some, n_jobs=problem.n_jobs)
            yield cut_band(products, LEVELS_OF_A_BLOCK)

    file = RowFile(f"{levels.path}-products") if in_file else None
    band, norms = keep_band(parts(), (n, LEVELS_OF_A_BLOCK), file)
    dual = dual_problem(problem.cost, norms, problem.loss)
    with within_reach([ordered]) as [reference]:
        solution, n_iter, violation = solve_dual_blocks(
            LevelBlocks,
            reference,
            (band, problem.layout),
            BlockSamples(problem.codes, folds, dual),
            Machines.of(problem.positive, folds),
            **problem.schedule,
            n_jobs=problem.n_jobs,
        )
    weights = np.ascontiguousarray(solution.weights.T, np.float32)
    return solution._replace(weights=weights), n_iter, violation


class LevelBlocks:
    """Rows of levels in blocks; weights are tables, (cells, lanes).

    Parameters
    ----------
    levels : (n, d) uint8 array or RowFile
        In the order of the blocks.
    band : (n, size) float32 array or RowFile
        Products of every row with the rows that follow it.
    layout : TableLayout
    """

    factor = 1.0

    def __init__(self, levels: Any, band: Any, layout: TableLayout):
        self.levels, self.band, self.layout = levels, band, layout
        self.heights = layout.cell_heights()

    def load(self, start: int, end: int) -> CellLists:
        """The cells of neighbouring rows."""
        rows = as_compiled(np.ascontiguousarray(self.levels[start:end]))
        return CellLists.of(rows, np.arange(end - start), self.layout)

    def new_weights(self, lanes: int, dtype: type[np.floating]) -> np.ndarray:
        """Tables of zeros."""
        return np.zeros((self.layout.offsets[-1], lanes), dtype)

    def scores(self, rows: CellLists, weights: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """The sums of look-ups, wanted or not."""
        out = np.zeros(wanted.shape)
        rows.add_scores(weights, out)
        return out.astype(weights.dtype, copy=False)

    def update(self, rows: CellLists, coefficients: np.ndarray, weights: np.ndarray) -> None:
        """Add the tables of a block's rows."""
        rows.add_tables(coefficients, self.layout.offsets, self.heights, weights)

    def lanes_of(self, weights: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """The tables of some machines, (k, cells)."""
        return weights[:, lanes].T
