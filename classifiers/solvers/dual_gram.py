"""Dual coordinate descent on the kernel matrix: the way when samples are few."""

import numpy as np

from visualwords.classifiers.solvers import _dual_gram
from visualwords.classifiers.solvers.problem import DualProblem


def solve_dual_gram(
    gram: np.ndarray,
    y: np.ndarray,
    problem: DualProblem,
    *,
    tol: float,
    max_iter: int,
    seed: int | None,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solve several SVMs without bias that share samples, costs and Gram matrix.

    Parameters
    ----------
    gram : (n, n) float32
    y : (n_problems, n)
        ±1.
    problem : DualProblem
    tol : float
        A problem stops once the largest and the smallest projected gradient of a pass differ by
        at most this.
    max_iter : int
        Passes over the samples.
    seed : int or None
        Of the visiting order; None is the cyclic order.
    start : (n_problems, n), optional
        First α, inside the box.

    Returns
    -------
    alpha : (n_problems, n) float64
    n_iter : (n_problems,) int
    violation : (n_problems,) float64
        Difference of the projected gradients in the last pass.
    """
    y = np.ascontiguousarray(y, np.float64)
    alpha = np.zeros(y.shape) if start is None else np.array(start, np.float64)
    scores = (alpha * y) @ gram if alpha.any() else np.zeros(y.shape)
    n_iter = np.zeros(y.shape[0], np.int64)
    violation = np.full(y.shape[0], np.inf)
    extremes = np.empty((y.shape[0], 2))
    fixed = (problem.diagonal, problem.curvature, problem.upper)
    rng = np.random.default_rng(seed)
    running = np.arange(y.shape[0])
    while running.size:
        order = problem.rows if seed is None else rng.permutation(problem.rows)
        _dual_gram.epoch(gram, order, y, *fixed, alpha, scores, running, extremes)
        n_iter[running] += 1
        violation[running] = extremes[running, 0] - extremes[running, 1]
        running = np.flatnonzero((violation > tol) & (n_iter < max_iter))
    return alpha, n_iter, violation
