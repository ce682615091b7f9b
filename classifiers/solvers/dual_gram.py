"""Dual coordinate descent on the kernel matrix, the way when samples are few; and the dual problem.

The problem ([Wu10], Eq. 11) is the one that all coordinate descent solvers here share.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from visualwords.classifiers.solvers import _dual_gram
from visualwords.parallel import map_in_threads, n_threads

FINEST_SINGLE = 1e-3  # tolerances below this need scores of double precision
FEWEST_LANES = 4  # problems from which on several are advanced together
_GAP = 0.025, 1e-4  # duality gap, relative: this share of the tolerance, and the finest asked for


@dataclass(frozen=True)
class DualProblem:
    """min ½ αᵀ(Q + D)α − eᵀα, L ≤ α ≤ U, over some of the samples, each with its own cost.

    Attributes
    ----------
    rows : (m,) int64
        The samples used in training. Other arrays have an element for every sample; those of
        unused samples are never read.
    diagonal : (n,) float64
        D_ii: 1/(2C_i) for the squared hinge and the squared error, 0 for the hinge.
    lower : (n,) float64
        L_i: 0; −∞ for the squared error, of which only `dual_blocks` takes notice.
    upper : (n,) float64
        U_i: C_i for the hinge, else infinite.
    curvature : (n,) float64
        Q_ii + D_ii.
    """

    rows: np.ndarray
    diagonal: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    curvature: np.ndarray


def dual_problem(rows: np.ndarray, cost: np.ndarray, norms: np.ndarray, loss: str) -> DualProblem:
    """Return the dual problem.

    Parameters
    ----------
    rows : (m,) int
        The samples used in training.
    cost : (m,)
        Their C_i > 0.
    norms : (n,)
        Q_ii = B(x_i)ᵀB(x_i) of all samples.
    loss : {"squared_hinge", "hinge", "squared_error"}
        The squared error (1 − y f)² is the squared hinge without a bound: α may be negative.
    """
    n = norms.size
    diagonal, lower, upper = np.zeros(n), np.zeros(n), np.full(n, np.inf)
    if loss == "hinge":
        upper[rows] = cost
    else:
        diagonal[rows] = 0.5 / cost
    if loss == "squared_error":
        lower[rows] = -np.inf
    curvature = norms + diagonal
    curvature[curvature == 0] = 1e-12  # an all-zero row under the hinge: any step reaches U
    return DualProblem(rows, diagonal, lower, upper, curvature)


def solve_dual_gram(
    gram: np.ndarray,
    y: np.ndarray,
    problem: DualProblem,
    *,
    tol: float,
    max_iter: int,
    seed: int | None,
    start: np.ndarray | None = None,
    n_jobs: int | None = None,
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
        at most this, and either its duality gap is at most a fortieth of it, relative (but not
        below 1e-4), or half as many passes again have not led there: passes over the matrix are
        cheap next to making it.
    max_iter : int
        Passes over the samples.
    seed : int or None
        Seed of the visiting order; None is the cyclic order.
    start : (n_problems, n), optional
        First α, inside the box.
    n_jobs : int or None
        Threads, over groups of problems; the result does not depend on it.

    Returns
    -------
    alpha : (n_problems, n) float64
    n_iter : (n_problems,) int
    violation : (n_problems,) float64
        Difference of the projected gradients in the last pass; in passes for the sake of the gap
        alone, which come after it has been small enough, the smallest.
    """
    y = np.ascontiguousarray(y, np.float64)
    first = np.zeros(y.shape) if start is None else np.array(start, np.float64)
    n, threads = y.shape[0], n_threads(n_jobs)
    if n < FEWEST_LANES:
        solve: Any = _solve_one_by_one
        n_parts = min(n, threads)
    else:
        solve = _solve_together
        n_parts = min(threads, n // FEWEST_LANES)
    solved = map_in_threads(
        lambda part: solve(gram, y[part], problem, first[part], tol, max_iter, seed),
        np.array_split(np.arange(n), n_parts),
        n_jobs,
    )
    alpha, n_iter, violation = (np.concatenate(column) for column in zip(*solved))
    return alpha, n_iter, violation


def _first_scores(gram: np.ndarray, coefficients: np.ndarray, tol: float) -> np.ndarray:
    """gram @ coefficients, (n_problems, n), in the precision that the tolerance needs."""
    scores = np.zeros(coefficients.shape, np.float32 if tol >= FINEST_SINGLE else np.float64)
    if coefficients.any():
        scores[:] = coefficients @ gram
    return scores


def _allowed(tol: float) -> float:
    return max(_GAP[0] * tol, _GAP[1])


def _gaps(alpha: np.ndarray, y: np.ndarray, scores: np.ndarray, problem: DualProblem) -> np.ndarray:
    """Primal less dual objective of the problems (n, problems), relative to the dual."""
    gaps = np.empty(y.shape[1])
    fixed = problem.rows, y, problem.diagonal, problem.upper
    _dual_gram.duality_gaps(*fixed, alpha, scores, gaps)
    return gaps


def _solve_one_by_one(
    gram: np.ndarray,
    y: np.ndarray,
    problem: DualProblem,
    alpha: np.ndarray,
    tol: float,
    max_iter: int,
    seed: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solve each problem alone."""
    scores = _first_scores(gram, alpha * y, tol)
    n_iter, violation = np.zeros(len(y), np.int64), np.full(len(y), np.inf)
    fixed = problem.diagonal, problem.curvature, problem.upper
    for p in range(len(y)):
        rng = np.random.default_rng(seed)
        last = max_iter
        while n_iter[p] < last:
            order = problem.rows if seed is None else rng.permutation(problem.rows)
            found = _dual_gram.epoch(gram, order, y[p], *fixed, alpha[p], scores[p])
            n_iter[p] += 1
            now = found[0] - found[1]
            violation[p] = min(violation[p], now) if last < max_iter else now
            if now <= tol:
                last = min(last, n_iter[p] + n_iter[p] // 2)
                one = slice(p, p + 1)
                if _gaps(alpha[one].T, y[one].T, scores[one].T, problem)[0] <= _allowed(tol):
                    break
    return alpha, n_iter, violation


def _solve_together(
    gram: np.ndarray,
    y: np.ndarray,
    problem: DualProblem,
    alpha: np.ndarray,
    tol: float,
    max_iter: int,
    seed: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solve problems as the lanes of vectors."""
    size, lanes = len(y), _dual_gram.LANES
    scores = _to_lanes(_first_scores(gram, alpha * y, tol))
    signs, alpha = _to_lanes(y), _to_lanes(alpha)
    n_groups = len(signs)
    n_iter, violation = np.zeros(n_groups * lanes, np.int64), np.full(n_groups * lanes, np.inf)
    who, last = np.arange(n_groups * lanes), np.full(n_groups * lanes, max_iter)
    running = who < size
    extremes = np.empty((n_groups, 2, lanes))
    fixed = problem.diagonal, problem.curvature, problem.upper
    rng = np.random.default_rng(seed)
    while running.any():
        order = problem.rows if seed is None else rng.permutation(problem.rows)
        live = running.reshape(n_groups, lanes)
        _dual_gram.epoch_of_lanes(
            gram, order, signs, *fixed, alpha, scores, live.astype(np.float64), extremes
        )
        n_iter[running] += 1
        now = (extremes[:, 0] - extremes[:, 1]).ravel()
        least = np.where(last < max_iter, np.minimum(violation, now), now)
        violation[running] = least[running]
        near = running & (now <= tol)
        last[near] = np.minimum(last, n_iter + n_iter // 2)[near]
        for g in np.flatnonzero(near.reshape(n_groups, lanes).any(axis=1)):
            group = slice(g * lanes, (g + 1) * lanes)
            gaps = _gaps(alpha[g], signs[g], scores[g], problem)
            running[group] &= ~near[group] | (gaps > _allowed(tol))
        running &= n_iter < last
        if running.sum() <= lanes * (live.any(axis=1).sum() - 1):  # fewer groups will do
            moved = np.argsort(~running, kind="stable")
            signs, alpha, scores = (
                _to_lanes(_from_lanes(a)[moved]) for a in (signs, alpha, scores)
            )
            who, n_iter, violation = who[moved], n_iter[moved], violation[moved]
            last, running = last[moved], running[moved]
    back = np.argsort(who)[:size]
    return _from_lanes(alpha)[back], n_iter[back], violation[back]


def _to_lanes(array: np.ndarray) -> np.ndarray:
    """Problems (k, n) as groups of lanes (groups, n, LANES), filled up with zeros."""
    lanes = _dual_gram.LANES
    padded = np.zeros((-(-len(array) // lanes) * lanes, array.shape[1]), array.dtype)
    padded[: len(array)] = array
    return np.ascontiguousarray(np.swapaxes(padded.reshape(-1, lanes, array.shape[1]), 1, 2))


def _from_lanes(array: np.ndarray) -> np.ndarray:
    """Groups of lanes as problems (groups × LANES, n)."""
    return np.swapaxes(array, 1, 2).reshape(-1, array.shape[1])
