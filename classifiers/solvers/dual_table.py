"""Dual coordinate descent on the table T: Algorithm 2 of [Wu10]."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numba
import numpy as np
from scipy import sparse

from visualwords.classifiers.solvers import _dual_table, _table_vectors
from visualwords.classifiers.solvers._dual_table import Board, Samples
from visualwords.classifiers.solvers.problem import DualProblem
from visualwords.classifiers.tables.level_codes import LevelCodes
from visualwords.threads import helping, in_threads

_FINEST_SINGLE = 1e-3  # tolerances below this need tables of double precision
_MOST_REST = 0.2  # share of codes above the front up to which it is taken
_FRONT_WIDTH = 64  # features from which on it is
_BLOCK_WIDTH = 1024  # features that are worth a thread's while
_MOST_BLOCKS = 4
_ROWS_AT_A_TIME = 256
_PATIENCE = 10_000  # looks at the board until a helper lets others use its processor


def arrange_samples(data: LevelCodes, n_jobs: int | None = None) -> Samples:
    """Choose the layout of the tables: with a front where most codes are small, or without."""
    codes, offsets, heights = data.codes, data.offsets, data.heights
    n, d = codes.shape
    nothing = np.empty((0, 0), np.uint8), np.empty(0, np.float32)
    if sparse.issparse(codes):
        pointers = codes.indptr.astype(np.int64)
        cuts, edges = np.stack([pointers[:-1], pointers[1:]], axis=1), np.array([0, d])
        return Samples(codes.data, codes.indices, cuts, edges, offsets, heights, *nothing)
    edges, rises = _block_edges(d), _even_rises(data)
    if rises is not None:
        cuts = np.zeros((n, edges.size), np.int64)

        def count(first: int, end: int) -> None:
            _dual_table.count_rest(first, end, codes, edges, front_width(d), cuts)

        in_threads(count, n, _ROWS_AT_A_TIME, n_jobs)
        if cuts.sum() <= _MOST_REST * codes.size:
            ends = np.cumsum(cuts[:, 1:]).reshape(n, -1)
            cuts[:, 1:] = ends
            cuts[1:, 0] = ends[:-1, -1]
            return _with_front(data, rises, cuts, edges, n_jobs)
    cuts, empty = np.arange(n)[:, None] * d + edges, np.empty(0, np.int32)
    return Samples(codes.reshape(-1), empty, cuts, edges, offsets, heights, *nothing)


def front_width(d: int) -> int:
    """Return how many features have a front, if there is one."""
    return d - d % _table_vectors.FRONT_LANES


def _even_rises(data: LevelCodes) -> np.ndarray | None:
    """How far apart the first levels of all features are; None: they differ, or are too few."""
    width = front_width(data.codes.shape[1])
    if width < _FRONT_WIDTH:
        return None
    steps = data.offsets[:width] + np.arange(_table_vectors.FRONT + 1)[:, None]
    rises = np.diff(data.heights[steps], axis=0)  # every feature has eight cells or more
    largest = rises.max(axis=1)
    is_even = (rises == largest[:, None]) | (rises == 0)  # zero: a level that never occurs
    return largest if is_even.all() else None


def _block_edges(d: int) -> np.ndarray:
    """First features of the blocks, and d; they do not depend on the number of threads."""
    n_blocks = min(max(d // _BLOCK_WIDTH, 1), _MOST_BLOCKS)
    lanes = _table_vectors.FRONT_LANES
    return np.append(np.arange(n_blocks) * (d // n_blocks // lanes * lanes), d)


def _with_front(
    data: LevelCodes, rises: np.ndarray, cuts: np.ndarray, edges: np.ndarray, n_jobs: int | None
) -> Samples:
    """Samples whose first codes lie in the front, and the rest in a list."""
    codes, offsets, heights = data.codes, data.offsets, data.heights
    width, n_rest = front_width(codes.shape[1]), int(cuts[-1, -1])
    rest, indices = np.empty(n_rest, codes.dtype), np.empty(n_rest, np.int32)
    counts = codes if codes.dtype == np.uint8 else np.empty(codes.shape, np.uint8)

    def arrange(first: int, end: int) -> None:
        _dual_table.collect_rest(first, end, codes, width, cuts, rest, indices)
        if counts is not codes:
            np.minimum(codes[first:end], 255, out=counts[first:end], casting="unsafe")

    in_threads(arrange, len(codes), _ROWS_AT_A_TIME, n_jobs)
    covered = np.where(np.arange(codes.shape[1]) < width, _table_vectors.FRONT, 0)
    sizes = np.diff(offsets)
    cell = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
    moved = np.minimum(cell + np.repeat(covered, sizes), np.repeat(sizes - 1, sizes))
    first = np.repeat(offsets[:-1], sizes)
    above = heights[first + moved] - heights[first + np.repeat(covered, sizes)]
    return Samples(rest, indices, cuts, edges, offsets, above, counts, rises)


def solve_dual_table(
    samples: Samples,
    y: np.ndarray,
    problem: DualProblem,
    *,
    tol: float,
    max_iter: int,
    seed: int | None,
    shrinking: bool = True,
    start: np.ndarray | None = None,
    n_threads: int = 1,
) -> tuple[np.ndarray, int, float]:
    """Solve one HIK SVM without bias by dual coordinate descent.

    Parameters
    ----------
    samples : Samples
        All n of them, from :func:`arrange_samples`.
    y : (n,)
        ±1.
    problem : DualProblem
    tol : float
        Stop once the largest and the smallest projected gradient of a pass differ by at most this.
    max_iter : int
        Passes over the samples.
    seed : int or None
        Of the visiting order; None is the paper's cyclic order.
    shrinking : bool, default=True
        Leave out samples that will probably stay at their bounds, and look at all of them again
        before stopping.
    start : (n,), optional
        First α, inside the box.
    n_threads : int
        Threads; the result does not depend on it.

    Returns
    -------
    alpha : (n,) float64
    n_iter : int
    violation : float
        Difference of the projected gradients in the last pass.
    """
    y = np.ascontiguousarray(y, np.float64)
    alpha = np.zeros(y.size) if start is None else np.array(start, np.float64)
    number: Any = np.float32 if tol >= _FINEST_SINGLE else np.float64
    width = front_width(samples.counts.shape[1])
    state = np.zeros(samples.offsets[-1], number), np.zeros(samples.rises.size * width, number)
    _dual_table.fill_tables(problem.rows, alpha * y, *samples, *state)
    with _helpers(samples, state, n_threads - 1) as board:
        n_iter, violation = _descend(
            samples, y, problem, alpha, state, board, tol, max_iter, seed, shrinking
        )
    return alpha, n_iter, violation


def _descend(
    samples: Samples,
    y: np.ndarray,
    problem: DualProblem,
    alpha: np.ndarray,
    state: tuple[np.ndarray, np.ndarray],
    board: Board,
    tol: float,
    max_iter: int,
    seed: int | None,
    shrinking: bool,
) -> tuple[int, float]:
    """Make passes until the projected gradients are small."""
    fixed = (problem.diagonal, problem.curvature, problem.upper)
    rng = np.random.default_rng(seed)
    everything = np.array([np.inf, -np.inf])
    active, bounds = problem.rows, everything
    n_iter, violation = 0, np.inf
    while n_iter < max_iter:
        n_iter += 1
        order = active.copy() if seed is None else rng.permutation(active)
        kept, largest, smallest = _dual_table.epoch(
            *samples, y, *fixed, order, bounds, alpha, *state, *board
        )
        violation = float(largest - smallest)
        complete = kept == problem.rows.size
        active = order[:kept]
        if violation > tol:
            if shrinking:
                limits = largest if largest > 0 else np.inf, smallest if smallest < 0 else -np.inf
                bounds = np.array(limits)
        elif complete:
            break
        else:
            active, bounds = problem.rows, everything
    return n_iter, violation


@contextmanager
def _helpers(
    samples: Samples, state: tuple[np.ndarray, np.ndarray], n_helpers: int
) -> Iterator[Board]:
    """Give a board to which some threads look for blocks to do."""
    n_blocks = samples.edges.size - 1
    numbers, blocks = _cache_lines(1), _cache_lines(n_blocks)
    board = Board(numbers, numbers.view(np.float64), blocks, blocks.view(np.float64))
    n_helpers = min(n_helpers, n_blocks - 1)
    if numba.config.DISABLE_JIT:  # plain Python has nothing atomic
        n_helpers = 0
    first, *others = np.array_split(np.arange(n_blocks), n_helpers + 1)
    numbers[_dual_table.OWN] = first.size
    if not others:
        yield board
        return

    def help_out(mine: np.ndarray) -> None:
        some = mine[0], mine[-1] + 1
        while not _dual_table.help_out(*some, *samples, *state, *board, _PATIENCE):
            time.sleep(0)

    with helping([partial(help_out, mine) for mine in others]):
        try:
            yield board
        finally:
            numbers[_dual_table.TURN] = -1


def _cache_lines(n: int) -> np.ndarray:
    """Return eight zeros for each of n lines of the processor's cache."""
    line = _dual_table.LINE
    zeros = np.zeros((n + 1) * line, np.int64)
    skipped = -(zeros.ctypes.data // zeros.itemsize) % line
    return zeros[skipped : skipped + n * line]
