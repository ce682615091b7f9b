"""The compiled inner loop of the kernel SVM: sequential minimal optimisation of a block.

With β = y α the dual is: minimise ½ βᵀKβ − yᵀβ subject to Σβ = 0 and l <= β <= u, where [l, u]
is [0, C] for y = 1 and [−C, 0] for y = −1. v = y − Kβ is minus its gradient.
"""

import math

import numpy as np

from visualwords.compiled import njit


@njit()
def _steepest_pair(gram, diagonal, v, beta, lower, upper):
    """i with the largest v that can grow, j that promises most with it, and max v − min v.

    Second-order choice of [Fan, Chen, Lin: Working Set Selection, JMLR 2005], WSS 2.
    """
    i, highest, lowest = -1, -math.inf, math.inf
    for k in range(v.size):
        if beta[k] < upper[k] and v[k] > highest:
            i, highest = k, v[k]
        if beta[k] > lower[k] and v[k] < lowest:
            lowest = v[k]
    j, gain = -1, 0.0
    if i >= 0:
        for k in range(v.size):
            rise = highest - v[k]
            if beta[k] > lower[k] and rise > 0.0:
                bend = max(diagonal[i] + diagonal[k] - 2.0 * gram[i, k], 1e-12)
                if rise * rise > gain * bend:
                    j, gain = k, rise * rise / bend
    return i, j, highest - lowest


@njit()
def minimise(gram, v, beta, lower, upper, tol, max_iter):
    """Move β (and v) to the optimum of one block; return the number of steps and max v − min v.

    gram : (n, n) float64     v, beta : (n,) float64, changed     lower, upper : (n,) float64
    """
    violation = math.inf
    diagonal = np.diag(gram).copy()
    for step in range(max_iter):
        i, j, violation = _steepest_pair(gram, diagonal, v, beta, lower, upper)
        if j < 0 or violation <= tol:
            return step, violation
        bend = max(diagonal[i] + diagonal[j] - 2.0 * gram[i, j], 1e-12)
        size = (v[i] - v[j]) / bend
        room_i, room_j = upper[i] - beta[i], beta[j] - lower[j]
        size = min(size, min(room_i, room_j))
        # Bounds are reached exactly, so that they are recognised.
        beta[i] = upper[i] if size == room_i else beta[i] + size
        beta[j] = lower[j] if size == room_j else beta[j] - size
        for k in range(v.size):
            v[k] -= size * (gram[i, k] - gram[j, k])
    return max_iter, violation
