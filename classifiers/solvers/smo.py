"""Kernel SVM by sequential minimal optimisation on a Gram matrix in memory.

References
----------
.. [Fan05] R.-E. Fan, P.-H. Chen, C.-J. Lin, "Working Set Selection Using Second Order
   Information for Training SVM", JMLR 2005.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from visualwords.classifiers.solvers._smo import (
    Blocks,
    Point,
    Rows,
    minimise,
    minimise_sparse,
    subtract_rows,
)

SMALL, TIGHT = 300, 1e-10  # so few samples are solved to the optimum, whatever ``tol``
STEPS_BETWEEN_SHRINKING = 1000  # as in LIBSVM
WORTH_SHRINKING = 0.6  # share of the samples that may stay when rows are copied for them


class Solution(NamedTuple):
    """Where the solver stopped."""

    coefficients: np.ndarray
    """β = y α, shape (n,)."""
    intercept: float
    n_iter: int
    """Pairs that were moved."""
    violation: float
    """max v − min v of the optimality condition; at most ``tol`` if it converged."""
    objective: float
    """½ βᵀKβ − yᵀβ."""


def solve(
    gram: Any,
    y: np.ndarray,
    cost: np.ndarray,
    *,
    samples: np.ndarray | None = None,
    start: np.ndarray | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000_000,
) -> Solution:
    """Minimise ½ βᵀKβ − yᵀβ over Σβ = 0 and β between 0 and y·cost.

    Parameters
    ----------
    gram : (n, n) float32 or float64 array in C order, or CSR array, or Blocks of an (n, n) array
        Symmetric.
    y : (m,) of ±1
    cost : (m,) ≥ 0
        C of every sample.
    samples : (m,) int, optional
        Which rows and columns of ``gram`` the samples are; all by default.
    start : (m,), optional
        β to begin from, made feasible first; the optimum does not depend on it.
    tol : float
        Allowed violation of the optimality condition, as in LIBSVM. Up to 300 samples are solved
        to 1e-10 if ``max_iter`` allows: weighted and repeated samples then give one model.
    max_iter : int
        Most steps.

    Returns
    -------
    Solution

    Examples
    --------
    >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> found = solve(x @ x.T, np.array([-1.0, -1, 1, 1]), np.full(4, 10.0))
    >>> found.coefficients.round(3).tolist()
    [0.0, -0.5, 0.5, 0.0]
    """
    point = first_point(y, cost, start)
    goal = goal_for(y.size, tol)
    if sparse.issparse(gram):
        part = gram if samples is None else gram[samples][:, samples]
        n_iter, violation = _solve_sparse(sparse.csr_array(part), point, goal, max_iter)
    else:
        source = gram if isinstance(gram, Blocks) else whole(gram)
        columns = np.arange(y.size) if samples is None else np.asarray(samples, np.int64)
        n_iter, violation = _solve_dense(source, columns, point, goal, max_iter)
    return solution(y, point, n_iter, violation)


def whole(gram: np.ndarray) -> Blocks:
    """A matrix, or rows of one, as a single block."""
    nothing = np.empty((0, 0), gram.dtype)
    return Blocks(gram, nothing, nothing)


def goal_for(n: int, tol: float) -> float:
    """The violation at which to stop."""
    return min(tol, TIGHT) if n <= SMALL else tol


def first_point(y: np.ndarray, cost: np.ndarray, start: np.ndarray | None = None) -> Point:
    """Where to begin; v is y and lacks −Kβ as long as ``subtract_rows`` has not been called."""
    lower, upper = np.minimum(y * cost, 0.0), np.maximum(y * cost, 0.0)
    beta = np.zeros(y.size) if start is None else feasible(start, lower, upper)
    marks = np.zeros((2, y.size))
    return Point(y.astype(np.float64), beta, lower, upper, *marks)


def feasible(beta: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """β within its bounds and of sum 0: of the positive and negative parts the larger is scaled.

    Examples
    --------
    >>> feasible(np.array([3.0, 1.0, -1.0]), np.array([0, 0, -1.0]), np.array([1.0, 1, 0]))
    array([ 0.5,  0.5, -1. ])
    """
    beta = np.clip(beta, lower, upper)
    positive, negative = beta[beta > 0].sum(), -beta[beta < 0].sum()
    if positive > negative:
        beta[beta > 0] *= negative / positive
    elif negative > positive:
        beta[beta < 0] *= positive / negative
    return beta


def _solve_sparse(gram: Any, point: Point, goal: float, max_iter: int) -> tuple[int, float]:
    point.v[:] -= gram @ point.beta
    entries = (gram.indptr, gram.indices, gram.data)
    return minimise_sparse(*entries, gram.diagonal().astype(np.float64), point, goal, max_iter)


def _solve_dense(
    gram: Blocks, columns: np.ndarray, point: Point, goal: float, max_iter: int
) -> tuple[int, float]:
    """Steps on the samples that may still move; the others' v is brought up to date in between."""
    diagonal = _diagonal(gram, columns).astype(np.float64)
    moved = np.flatnonzero(point.beta)
    subtract_rows(gram, columns[moved], point.beta[moved], columns, point.v)
    members, n_iter, near = np.arange(columns.size), 0, 10 * goal
    while True:
        own = Point(*(values[members] for values in point))
        rows = rows_of(gram, columns[members], columns[members])
        complete = members.size == columns.size
        period = min(max(members.size, 100), STEPS_BETWEEN_SHRINKING)
        while True:
            steps = min(period, max_iter - n_iter)
            done, violation = minimise(
                rows, diagonal[members], own, goal if complete else near, steps
            )
            n_iter += done
            if done < steps or n_iter >= max_iter:
                break
            if may_move(own).sum() < WORTH_SHRINKING * members.size:
                break
            period *= 2  # samples that stay now are likely to stay
        changed = np.flatnonzero(own.beta != point.beta[members])
        if not complete:
            places, changes = columns[members[changed]], (own.beta - point.beta[members])[changed]
            subtract_rows(gram, places, changes, columns, point.v)
        for values, found in zip(point[:2], own[:2]):
            values[members] = found
        finished = done < steps
        if finished and not complete:
            violation = violation_of(point)
            near = goal
        if n_iter >= max_iter or (finished and (complete or violation <= goal)):
            return n_iter, violation
        members = np.flatnonzero(may_move(point))


def _diagonal(gram: Blocks, columns: np.ndarray) -> np.ndarray:
    """Some entries of the diagonal."""
    if not gram.cross.size:
        return gram.first[columns, columns]
    return np.concatenate([gram.first.diagonal(), gram.second.diagonal()])[columns]


def rows_of(source: Blocks, places: np.ndarray, columns: np.ndarray) -> Rows:
    """Rows of some samples: the source's own where those are all its columns, else copies."""
    as_they_are = columns.size == source.first.shape[1] and not source.cross.size
    m = 0 if as_they_are else columns.size
    copies = np.empty((m, m), source.first.dtype)  # takes memory only where it is written
    return Rows(source, places, columns, copies, np.zeros(columns.size, np.uint8))


def may_move(point: Point) -> np.ndarray:
    """Which samples are free, or could still form a pair that violates the condition."""
    highest, lowest = _sides(point)
    can_grow, can_shrink = point.beta < point.upper, point.beta > point.lower
    return (can_grow & (can_shrink | (point.v >= lowest))) | (can_shrink & (point.v <= highest))


def violation_of(point: Point) -> float:
    """max of v over those that can grow minus min over those that can shrink; optimum: ≤ 0."""
    highest, lowest = _sides(point)
    return highest - lowest


def _sides(point: Point) -> tuple[float, float]:
    highest = np.max(point.v, where=point.beta < point.upper, initial=-np.inf)
    lowest = np.min(point.v, where=point.beta > point.lower, initial=np.inf)
    return float(highest), float(lowest)


def solution(y: np.ndarray, point: Point, n_iter: int, violation: float) -> Solution:
    """What the solver found, with the intercept and the objective."""
    objective = -0.5 * float(point.beta @ (y + point.v))
    return Solution(point.beta, _intercept(point), n_iter, float(violation), objective)


def _intercept(point: Point) -> float:
    """b: v of samples on the margin, or the middle of what the others allow."""
    free = (point.beta > point.lower) & (point.beta < point.upper)
    if free.any():
        return float(point.v[free].mean())
    sides = [side for side in _sides(point) if np.isfinite(side)]
    return float(np.mean(sides)) if sides else 0.0
