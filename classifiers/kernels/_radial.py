"""Compiled loops of kernels of the distance: from inner products to distances, to kernel values."""

import math

from visualwords.compiled import njit

RECOMPUTE_BELOW = 2.5e-3  # ‖x − y‖² against ‖x‖² + ‖y‖²: keeps its relative error near 1e-13


@njit()
def to_distances(p, x, y, of_x, of_y):
    """Overwrite inner products p[i, j] by ‖x_i − y_j‖.

    ‖x‖² + ‖y‖² − 2<x, y> loses the digits of a short distance, which is summed again.

    p : (n, m) float64     x, y : (n, d), (m, d)     of_x, of_y : squared norms
    """
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            p[i, j] = of_x[i] + of_y[j] - 2.0 * p[i, j]
        for j in range(p.shape[1]):
            if p[i, j] < RECOMPUTE_BELOW * (of_x[i] + of_y[j]):
                p[i, j] = 0.0
                for k in range(x.shape[1]):
                    p[i, j] += (x[i, k] - y[j, k]) * (x[i, k] - y[j, k])
        for j in range(p.shape[1]):
            p[i, j] = math.sqrt(p[i, j])


@njit()
def ball_values(p, radius, table, end, sigma):
    """Overwrite the distances p by Φ(d/2r), times exp(−d/sigma) if sigma > 0.

    table : (N + 1, 4) float64, cubics of equal cells in u = d/2r up to its N-th edge ``end``, or
    in √(1−u) where ``end`` is 0; the last cell is the constant that holds from there on
    """
    last = table.shape[0] - 1
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            u = p[i, j] * (0.5 / radius)
            if end > 0.0:
                position = min(u / end, 1.0) * last
            else:
                position = math.sqrt(max(1.0 - u, 0.0)) * last
            cell = int(position)
            t = position - cell
            value = table[cell, 2] + t * table[cell, 3]
            value = table[cell, 0] + t * (table[cell, 1] + t * value)
            p[i, j] = math.exp(-p[i, j] / sigma) * value if sigma > 0.0 else value
