"""Dual coordinate descent on the table T: Algorithm 2 of [Wu10]."""

from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.solvers import _dual_table
from visualwords.classifiers.solvers._dual_table import Problem, Samples
from visualwords.classifiers.solvers.dual_gram import DualProblem
from visualwords.classifiers.tables.level_codes import LevelCodes

_FINEST_SINGLE = 1e-3  # tolerances below this need tables of double precision


def arrange_samples(data: LevelCodes) -> Samples:
    """Return the record of arrays that the loops take; dense codes are not copied."""
    codes, layout = data.codes, (data.offsets, data.heights)
    if sparse.issparse(codes):
        return Samples(codes.data, codes.indices, codes.indptr.astype(np.int64), *layout)
    n, d = codes.shape
    return Samples(codes.reshape(-1), np.empty(0, np.int32), d * np.arange(n + 1), *layout)


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
        Seed of the visiting order; None is the paper's cyclic order.
    shrinking : bool, default=True
        Leave out samples that will probably stay at their bounds, and visit all of them again
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
    y = np.ascontiguousarray(y, np.float64)
    alpha = np.zeros(y.size) if start is None else np.array(start, np.float64)
    number: Any = np.float32 if tol >= _FINEST_SINGLE else np.float64
    lost = np.zeros(samples.offsets[-1], number)
    _dual_table.fill_table(problem.rows, alpha * y, samples, lost)
    fixed = Problem(y, problem.diagonal, problem.curvature, problem.upper)
    rng = np.random.default_rng(seed)
    everything = np.array([np.inf, -np.inf])
    active, bounds = problem.rows, everything
    n_iter, violation = 0, np.inf
    while n_iter < max_iter:
        n_iter += 1
        order = active.copy() if seed is None else rng.permutation(active)
        kept, largest, smallest = _dual_table.epoch(samples, fixed, order, bounds, alpha, lost)
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
