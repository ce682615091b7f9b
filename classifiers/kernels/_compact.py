"""Compiled loops of the compactly supported kernels: from inner products to kernel values.

The functions take a block of inner products p[i, j] = <x_i, y_j> from BLAS. Their cancellation
in ‖x‖² + ‖y‖² − 2<x, y> would be felt at the kernels' cusp u = 0, so a distance that is short
against the norms is summed again from the differences.

table : (N + 1, 4) float64, cubics of equal cells in u up to its N-th edge ``end``, or in √(1−u)
where ``end`` is 0; the last cell is the constant that holds from there on.
"""

import math

import numpy as np

from visualwords.compiled import njit

RECOMPUTE_BELOW = 2.5e-3  # d·r against ‖x‖² + ‖y‖²: keeps the error of u near 1e-13


@njit()
def dense_distances(p, x, y, nx, ny, radius):
    """Overwrite the inner products p by ‖x_i − y_j‖.

    p : (n, m)     x, y : (n, d), (m, d)     nx, ny : squared norms
    """
    for i in range(p.shape[0]):
        _distances(p, i, x, y, nx, ny, radius)


@njit()
def _distances(p, i, x, y, nx, ny, radius):
    """Overwrite row i of the inner products by ‖x_i − y_j‖."""
    for j in range(p.shape[1]):
        p[i, j] = math.sqrt(max(nx[i] + ny[j] - 2.0 * p[i, j], 0.0))
    for j in range(p.shape[1]):
        squares = nx[i] + ny[j]
        if p[i, j] * radius > RECOMPUTE_BELOW * squares:
            continue
        if p[i, j] * p[i, j] > 4.0 * radius * radius + 1e-6 * squares:
            continue  # far outside the support
        squared = 0.0
        for k in range(x.shape[1]):
            squared += (x[i, k] - y[j, k]) * (x[i, k] - y[j, k])
        p[i, j] = math.sqrt(squared)


@njit()
def _value(distance, half_width, table, end):
    """The cubic of the cell of u = distance · half_width (that is 1/2r)."""
    last = table.shape[0] - 1
    u = distance * half_width
    if end > 0.0:
        position = min(u / end, 1.0) * last
    else:
        position = math.sqrt(max(1.0 - u, 0.0)) * last
    cell = int(position)
    t = position - cell
    curved = table[cell, 2] + t * table[cell, 3]
    return table[cell, 0] + t * (table[cell, 1] + t * curved)


@njit()
def sparse_distances(x_starts, x_columns, x, y_starts, y_columns, y, width):
    """‖x_i − y_j‖ of all rows of two CSR matrices with sorted columns, (n, m) float64.

    x_starts, x_columns, x : the first matrix     y_… : the second     width : columns of both
    """
    n, m = x_starts.size - 1, y_starts.size - 1
    distances = np.empty((n, m))
    dense = np.zeros(width)
    for i in range(n):
        own = 0.0
        for e in range(x_starts[i], x_starts[i + 1]):
            dense[x_columns[e]] = x[e]
            own += x[e] * x[e]
        for j in range(m):
            # Σ over y's columns of (x−y)² − x², and then x² of all columns
            other, more = 0.0, 0.0
            for e in range(y_starts[j], y_starts[j + 1]):
                other += y[e] * y[e]
                more += y[e] * (y[e] - 2.0 * dense[y_columns[e]])
            squared = own + more
            if squared < RECOMPUTE_BELOW * (own + other):
                a, b = (x_starts[i], x_starts[i + 1]), (y_starts[j], y_starts[j + 1])
                squared = _merged(a, x_columns, x, b, y_columns, y)
            distances[i, j] = math.sqrt(max(squared, 0.0))
        for e in range(x_starts[i], x_starts[i + 1]):
            dense[x_columns[e]] = 0.0
    return distances


@njit()
def _merged(a, x_columns, x, b, y_columns, y):
    """‖x − y‖² of two sparse rows at a[0]:a[1] and b[0]:b[1], from their differences."""
    i, j, squared = a[0], b[0], 0.0
    while i < a[1] or j < b[1]:
        if j == b[1] or (i < a[1] and x_columns[i] < y_columns[j]):
            difference = x[i]
            i += 1
        elif i == a[1] or y_columns[j] < x_columns[i]:
            difference = y[j]
            j += 1
        else:
            difference = x[i] - y[j]
            i += 1
            j += 1
        squared += difference * difference
    return squared


@njit()
def fill_dense(p, radius, table, end, sigma):
    """Overwrite the distances p by Φ(d/2r), times exp(−d/sigma) if sigma > 0."""
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            laplace = math.exp(-p[i, j] / sigma) if sigma > 0.0 else 1.0
            p[i, j] = laplace * _value(p[i, j], 0.5 / radius, table, end)


@njit()
def fill_sparse(p, radius, table, end, sigma, first, columns, counts):
    """Move the non-zero kernel values of the distances p to its front, row after row; count them.

    columns : (p.size,) their columns, written     counts : (n,) how many in each row, written
    first : row i begins at column ``first + i``; −n for all columns
    """
    values = p.reshape(p.size)
    support = 2.0 * radius * (end if end > 0.0 else 1.0)
    filled = 0
    for i in range(p.shape[0]):
        before = filled
        for j in range(max(0, first + i), p.shape[1]):
            distance = p[i, j]
            if distance < support:
                laplace = math.exp(-distance / sigma) if sigma > 0.0 else 1.0
                columns[filled] = j
                values[filled] = laplace * _value(distance, 0.5 / radius, table, end)
                filled += 1  # never passes the entry being read
        counts[i] = filled - before
    return filled
