"""Dual coordinate descent on the table T: Algorithm 2 of [Wu10]."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.level_codes import LevelCodes
from visualwords.classifiers.solvers import _dual_table
from visualwords.classifiers.solvers.problem import DualProblem

_FINEST_SINGLE = 1e-3  # tolerances below this need tables of double precision
_MOST_REST = 0.2  # share of codes above the front up to which it is taken
_FRONT_WIDTH = 64  # features from which on it is


@dataclass(frozen=True)
class Samples:
    """Samples as the loops want them; their documentation says what the arrays are."""

    codes: np.ndarray
    indices: np.ndarray
    pointers: np.ndarray
    offsets: np.ndarray
    heights: np.ndarray
    counts: np.ndarray
    rises: np.ndarray

    def arrays(self) -> tuple[np.ndarray, ...]:
        """All arrays, in order."""
        return tuple(getattr(self, field.name) for field in fields(self))


def arrange_samples(data: LevelCodes) -> Samples:
    """Choose the layout of the tables: with a front where most codes are small, or without."""
    codes, offsets, heights = data.codes, data.offsets, data.heights
    nothing = np.empty((0, 0), np.uint8), np.empty((_dual_table.FRONT, 0), np.float32)
    if sparse.issparse(codes):
        pointers = codes.indptr.astype(np.int64)
        return Samples(codes.data, codes.indices, pointers, offsets, heights, *nothing)
    n, d = codes.shape
    width = d - d % _dual_table.LANES if d >= _FRONT_WIDTH else 0
    pointers = np.zeros(n + 1, np.int64)
    if width:
        _dual_table.count_rest(codes, width, pointers)
    if not width or pointers.sum() > _MOST_REST * codes.size:
        pointers = np.arange(n + 1, dtype=np.int64) * d
        empty = np.empty(0, np.int32)
        return Samples(codes.reshape(-1), empty, pointers, offsets, heights, *nothing)
    return _with_front(data, width, np.cumsum(pointers))


def _with_front(data: LevelCodes, width: int, pointers: np.ndarray) -> Samples:
    """Samples whose first codes lie in the front, and the rest in a list."""
    codes, offsets, heights = data.codes, data.offsets, data.heights
    front = _dual_table.FRONT
    rest, indices = np.empty(pointers[-1], codes.dtype), np.empty(pointers[-1], np.int32)
    _dual_table.collect_rest(codes, width, pointers, rest, indices)
    steps = offsets[:width] + np.arange(front + 1)[:, None]  # every feature has eight cells or more
    rises = np.diff(heights[steps], axis=0)
    covered = np.where(np.arange(codes.shape[1]) < width, front, 0)
    sizes = np.diff(offsets)
    cell = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
    moved = np.minimum(cell + np.repeat(covered, sizes), np.repeat(sizes - 1, sizes))
    first = np.repeat(offsets[:-1], sizes)
    above = heights[first + moved] - heights[first + np.repeat(covered, sizes)]
    counts = codes
    if codes.dtype != np.uint8:
        counts = np.empty(codes.shape, np.uint8)
        np.minimum(codes, 255, out=counts, casting="unsafe")  # without a copy of the wider type
    return Samples(rest, indices, pointers, offsets, above, counts, rises)


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

    Returns
    -------
    alpha : (n,) float64
    n_iter : int
    violation : float
        Difference of the projected gradients in the last pass.
    """
    arrays = samples.arrays()
    y = np.ascontiguousarray(y, np.float64)
    alpha = np.zeros(y.size) if start is None else np.array(start, np.float64)
    number: Any = np.float32 if tol >= _FINEST_SINGLE else np.float64
    state = np.zeros(samples.offsets[-1], number), np.zeros(samples.rises.shape, number)
    _dual_table.fill_tables(problem.rows, alpha * y, *arrays, *state)
    fixed = (problem.diagonal, problem.curvature, problem.upper)
    rng = np.random.default_rng(seed)
    everything = np.array([np.inf, -np.inf])
    active, bounds = problem.rows, everything
    n_iter, violation = 0, np.inf
    while n_iter < max_iter:
        n_iter += 1
        order = active.copy() if seed is None else rng.permutation(active)
        kept, largest, smallest = _dual_table.epoch(
            *arrays, y, *fixed, order, bounds, alpha, *state
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
    return alpha, n_iter, violation
