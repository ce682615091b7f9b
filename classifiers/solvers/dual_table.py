"""Dual coordinate descent on the table T: Algorithm 2 of [Wu10]."""

import numpy as np
from scipy import sparse

from visualwords.classifiers.level_codes import LevelCodes
from visualwords.classifiers.solvers import _dual_table
from visualwords.classifiers.solvers.problem import DualProblem

_FINEST_SINGLE = 1e-3  # tolerances below this need a table of double precision


def solve_dual_table(
    data: LevelCodes,
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
    data : LevelCodes
        All n samples.
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
    samples = (*_flat_rows(data.codes), data.offsets, data.heights)
    y = np.ascontiguousarray(y, np.float64)
    alpha = np.zeros(y.size) if start is None else np.array(start, np.float64)
    table = np.zeros(data.offsets[-1], np.float32 if tol >= _FINEST_SINGLE else np.float64)
    _dual_table.fill_table(*samples, problem.rows, alpha * y, table)
    fixed = (problem.diagonal, problem.curvature, problem.upper)
    rng = np.random.default_rng(seed)
    everything = np.array([np.inf, -np.inf])
    active, bounds = problem.rows, everything
    n_iter, violation = 0, np.inf
    while n_iter < max_iter:
        n_iter += 1
        order = active.copy() if seed is None else rng.permutation(active)
        kept, largest, smallest = _dual_table.epoch(
            *samples, y, *fixed, order, bounds, alpha, table
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


def _flat_rows(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes, features and row pointers of a matrix, as the loops want them."""
    if sparse.issparse(codes):
        return codes.data, codes.indices, codes.indptr.astype(np.int64)
    n, d = codes.shape
    return codes.reshape(-1), np.empty(0, np.int32), np.arange(n + 1, dtype=np.int64) * d
