"""Loops of dual coordinate descent on the table T."""

import numpy as np

from visualwords.compiled import njit


@njit()
def projected_gradient(gradient, alpha, upper):
    """PG of [Wu10], Algorithm 1, line 5."""
    if alpha <= 0:
        return min(gradient, 0.0)
    if alpha >= upper:
        return max(gradient, 0.0)
    return gradient


@njit()
def score(x, offsets, table):
    """sum_j T[j, x_j]  [Wu10, Eq. 6]."""
    total = 0.0
    for j in range(x.size):
        total += table[offsets[j] + x[j]]
    return total


@njit()
def add(x, delta, offsets, table):
    """T_jk += delta min(x_j, k) for all levels that occur  [Wu10, Eq. 12]."""
    for j in range(x.size):
        start = offsets[j]
        for k in range(1, offsets[j + 1] - start):
            table[start + k] += np.float32(delta * min(np.int64(x[j]), k))


@njit()
def epoch(x, offsets, y, diagonal, curvature, upper, order, alpha, table):
    """Visit the samples of ``order`` once; return the largest and the smallest PG met."""
    largest, smallest = -np.inf, np.inf
    for i in order:
        gradient = y[i] * score(x[i], offsets, table) - 1.0 + diagonal[i] * alpha[i]
        projected = projected_gradient(gradient, alpha[i], upper[i])
        largest, smallest = max(largest, projected), min(smallest, projected)
        if projected != 0.0:
            old = alpha[i]
            alpha[i] = min(max(old - gradient / curvature[i], 0.0), upper[i])
            if alpha[i] != old:
                add(x[i], (alpha[i] - old) * y[i], offsets, table)
    return largest, smallest
