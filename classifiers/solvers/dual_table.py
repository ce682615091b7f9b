"""Dual coordinate descent on the table T: Algorithm 2 of [Wu10]."""

import numpy as np

from visualwords.classifiers.solvers import _dual_table


def solve_dual_table(
    levels: np.ndarray,
    offsets: np.ndarray,
    y: np.ndarray,
    cost: np.ndarray,
    *,
    loss: str,
    tol: float,
    max_iter: int,
    seed: int | None,
) -> tuple[np.ndarray, int, float]:
    """Solve one HIK SVM without bias by dual coordinate descent.

    Parameters
    ----------
    levels : (n, d) uint8 or uint16
    offsets : (d + 1,) int64
        Where every feature's levels begin in the table.
    y : (n,) float
        ±1.
    cost : (n,) float64
        C of every sample; samples of cost 0 do not take part.
    loss : {"squared_hinge", "hinge"}
    tol : float
        Stop once the largest and the smallest projected gradient of a pass differ by at most this.
    max_iter : int
    seed : int or None
        Of the visiting order; None is the paper's cyclic order.

    Returns
    -------
    alpha : (n,) float64
    n_iter : int
    violation : float
        Difference of the projected gradients in the last pass.
    """
    squared = loss == "squared_hinge"
    members = np.flatnonzero(cost > 0)
    diagonal = np.zeros(cost.size)
    if squared:
        diagonal[members] = 0.5 / cost[members]
    upper = np.full(cost.size, np.inf) if squared else cost
    curvature = levels.sum(axis=1, dtype=np.float64) + diagonal
    curvature[curvature == 0] = 1e-12  # an all-zero row under the hinge: any step reaches its bound
    alpha = np.zeros(cost.size)
    table = np.zeros(offsets[-1], np.float32)
    rng = np.random.default_rng(seed)
    n_iter, violation = 0, np.inf
    while n_iter < max_iter and violation > tol:
        n_iter += 1
        order = members if seed is None else rng.permutation(members)
        largest, smallest = _dual_table.epoch(
            levels, offsets, y, diagonal, curvature, upper, order, alpha, table
        )
        violation = largest - smallest
    return alpha, n_iter, violation
