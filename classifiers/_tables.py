"""Loops over the tables T of additive models: building them from coefficients, and looking up.

The tables of all outputs lie in one array ``values`` (cells, outputs); feature j owns the rows
``offsets[j] … offsets[j + 1] - 1``, one for each level from 0 to the highest that training saw.
"""

import numpy as np

from visualwords.compiled import njit


@njit()
def highest_levels(x, top):
    """top[j] = max_i x[i, j]; x : (n, d) unsigned."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            top[j] = max(top[j], x[i, j])


@njit()
def sum_by_level(x, rows, coefficients, offsets, first, last, values):
    """values[offsets[j] + k] = sum of c_i over x_ij = k, for features first … last - 1."""
    for r in range(rows.size):
        i = rows[r]
        for j in range(first, last):
            cell = offsets[j] + x[i, j]
            for c in range(coefficients.shape[1]):
                values[cell, c] += coefficients[r, c]


@njit()
def tables_from_sums(offsets, first, last, values):
    """Turn sums by level into T_jk = sum_i c_i min(x_ij, k)  [Wu10, Eq. 6 and 9], in place."""
    for j in range(first, last):
        for c in range(values.shape[1]):
            for k in range(offsets[j + 1] - 2, offsets[j] - 1, -1):  # w_jk: all levels >= k
                values[k, c] += values[k + 1, c]
            values[offsets[j], c] = 0.0
            for k in range(offsets[j] + 1, offsets[j + 1]):
                values[k, c] += values[k - 1, c]


@njit()
def look_up(x, offsets, values, out):
    """out[i] = sum_j T[j, min(x_ij, top_j)]  [Wu10, Eq. 6]."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            cell = min(offsets[j] + np.int64(x[i, j]), offsets[j + 1] - 1)
            for c in range(values.shape[1]):
                out[i, c] += values[cell, c]
