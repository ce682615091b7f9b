"""Passes of Algorithms 2 and 3 of [Yang12] over the samples, as printed."""

import numpy as np

from visualwords.compiled import njit


@njit()
def step(gradient, alpha, curvature, cost):
    """Line 7, and the projected gradient."""
    projected = gradient
    if alpha <= 0:
        projected = min(gradient, np.float32(0))
    elif alpha >= cost:
        projected = max(gradient, np.float32(0))
    if projected != 0:
        alpha = min(max(alpha - gradient / curvature, np.float32(0)), cost)
    return alpha, projected


@njit()
def pass_with_tables(index, value, bounds, order, y, Q, cost, T1, T2, alpha, a):
    """Lines 4 to 9 of Algorithm 3, degree 2."""
    b = np.float32(T1.size - 1)
    largest, smallest = -np.inf, np.inf
    for i in order:
        g = np.float32(0)
        for q in range(bounds[i], bounds[i + 1]):
            j, t = index[q], T1[int(b * value[q])]
            g += a[j, 0] + a[j, 1] * t + a[j, 2] * t * t
        new, projected = step(y[i] * g - np.float32(1), alpha[i], Q[i], cost)
        largest, smallest = max(largest, projected), min(smallest, projected)
        if new != alpha[i]:
            delta = (new - alpha[i]) * y[i]
            alpha[i] = new
            for q in range(bounds[i], bounds[i + 1]):
                j, h = index[q], int(b * value[q])
                for k in range(3):
                    a[j, k] += delta * T2[h, k]
    return largest, smallest


@njit()
def pass_precomputed(index, logs, mean1, mean2, bounds, order, y, Q, cost, c0, inverse, alpha, a):
    """Lines 4 to 9 of Algorithm 2, degree 2, with M_p(c_0, x) taken as c_0 (Sec. 5)."""
    largest, smallest = -np.inf, np.inf
    for i in order:
        g = np.float32(0)
        for q in range(bounds[i], bounds[i + 1]):
            j, t = index[q], logs[q]
            g += a[j, 0] + a[j, 1] * t + a[j, 2] * t * t
        new, projected = step(y[i] * g - np.float32(1), alpha[i], Q[i], cost)
        largest, smallest = max(largest, projected), min(smallest, projected)
        if new != alpha[i]:
            delta = (new - alpha[i]) * y[i]
            alpha[i] = new
            for q in range(bounds[i], bounds[i + 1]):
                j = index[q]
                for k in range(3):
                    a[j, k] += delta * (
                        inverse[k, 0] * c0 + inverse[k, 1] * mean1[q] + inverse[k, 2] * mean2[q]
                    )
    return largest, smallest


@njit()
def pass_mapped(index, level, bounds, order, y, Q, cost, table, alpha, a):
    """A pass of LIBLINEAR's algorithm on mapped features that are looked up, not stored."""
    largest, smallest = -np.inf, np.inf
    for i in order:
        g = np.float32(0)
        for q in range(bounds[i], bounds[i + 1]):
            j, h = index[q], level[q]
            for k in range(3):
                g += a[j, k] * table[h, k]
        new, projected = step(y[i] * g - np.float32(1), alpha[i], Q[i], cost)
        largest, smallest = max(largest, projected), min(smallest, projected)
        if new != alpha[i]:
            delta = (new - alpha[i]) * y[i]
            alpha[i] = new
            for q in range(bounds[i], bounds[i + 1]):
                j, h = index[q], level[q]
                for k in range(3):
                    a[j, k] += delta * table[h, k]
    return largest, smallest
