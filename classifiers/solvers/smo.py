"""Kernel SVM by decomposition: blocks of the dual are solved exactly, rows come on demand.

References
----------
.. [Fan05] R.-E. Fan, P.-H. Chen, C.-J. Lin, "Working Set Selection Using Second Order
   Information for Training SVM", JMLR 2005.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from visualwords.classifiers.solvers._smo import minimise

STEPS_PER_SAMPLE = 100  # of the inner loop, before other samples are looked at
SMALL, TIGHT = 300, 1e-10  # so few samples are solved to the optimum, whatever ``tol``


class Solution(NamedTuple):
    """Where the solver stopped."""

    coefficients: np.ndarray
    """β = y α, shape (n,)."""
    intercept: float
    n_iter: int
    """Blocks that were solved."""
    violation: float
    """max v − min v of the optimality condition; at most ``tol`` if it converged."""


def solve(
    rows: Callable[[np.ndarray], Any],
    y: np.ndarray,
    cost: np.ndarray,
    *,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    block_size: int = 2048,
) -> Solution:
    """Minimise ½ βᵀKβ − yᵀβ over Σβ = 0 and β between 0 and y·cost.

    Parameters
    ----------
    rows : function of indices → K[indices] as array or CSR, shape (len(indices), n)
        Called with at most ``block_size`` ascending indices.
    y : (n,) of ±1
    cost : (n,) ≥ 0
        C of every sample.
    tol : float
        Allowed violation of the optimality condition, as in LIBSVM. Up to 300 samples are solved
        to 1e-10 if ``max_iter`` allows: weighted and repeated samples then give one model.
    max_iter : int
        Most blocks to solve.
    block_size : int
        Samples optimised together; a problem that fits is solved in one block.

    Returns
    -------
    Solution

    Examples
    --------
    >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> K = x @ x.T
    >>> found = solve(lambda i: K[i], np.array([-1.0, -1, 1, 1]), np.full(4, 10.0))
    >>> found.coefficients.round(3).tolist()
    [0.0, -0.5, 0.5, 0.0]
    """
    lower, upper = np.minimum(y * cost, 0.0), np.maximum(y * cost, 0.0)
    beta, v = np.zeros(y.size), y.astype(np.float64)
    block = np.empty(0, dtype=np.intp)
    goal = min(tol, TIGHT) if y.size <= SMALL else tol
    for n_iter in range(max_iter):  # noqa: B007 - reported
        violation = _violation(v, beta, lower, upper)
        if violation <= goal:
            break
        block = _choose_block(v, beta, lower, upper, block, block_size)
        part = rows(block)
        square = part[:, block].toarray() if sparse.issparse(part) else part[:, block]
        inner, v_block = beta[block], v[block]
        near = goal / 2 if block.size == y.size else max(0.1 * violation, goal / 2)
        box = (lower[block], upper[block])
        steps = STEPS_PER_SAMPLE * max(block.size, 100)
        minimise(
            square.astype(np.float64, order="C", copy=False), v_block, inner, *box, near, steps
        )
        change = inner - beta[block]
        moved = np.flatnonzero(change)
        if not moved.size:
            break
        beta[block] = inner
        v -= part[moved].T @ change[moved].astype(part.dtype)
    else:
        n_iter, violation = max_iter, _violation(v, beta, lower, upper)
    return Solution(beta, _intercept(v, beta, lower, upper), n_iter, violation)


def _violation(v: np.ndarray, beta: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """max of v over those that can grow minus min over those that can shrink; optimum: ≤ 0."""
    highest = np.max(v, where=beta < upper, initial=-np.inf)
    lowest = np.min(v, where=beta > lower, initial=np.inf)
    return float(highest - lowest)


def _choose_block(
    v: np.ndarray,
    beta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    previous: np.ndarray,
    size: int,
) -> np.ndarray:
    """The worst violators on both sides, and the freest of the previous block; ascending."""
    if v.size <= size:
        return np.arange(v.size)
    quarter = size // 4
    grow = np.argsort(np.where(beta < upper, -v, np.inf), kind="stable")[:quarter]
    shrink = np.argsort(np.where(beta > lower, v, np.inf), kind="stable")[:quarter]
    chosen = np.union1d(grow, shrink)
    rest = np.setdiff1d(previous, chosen)
    free = (beta[rest] > lower[rest]) & (beta[rest] < upper[rest])
    kept = rest[np.argsort(~free, kind="stable")][: size - chosen.size]
    return np.union1d(chosen, kept)


def _intercept(v: np.ndarray, beta: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """b: v of samples on the margin, or the middle of what the others allow."""
    free = (beta > lower) & (beta < upper)
    if free.any():
        return float(v[free].mean())
    highest = np.max(v, where=beta < upper, initial=-np.inf)
    lowest = np.min(v, where=beta > lower, initial=np.inf)
    sides = [side for side in (highest, lowest) if np.isfinite(side)]
    return float(np.mean(sides)) if sides else 0.0
