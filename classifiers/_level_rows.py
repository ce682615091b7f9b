"""Loops that turn feature values into (column, level) pairs."""

import numpy as np

from visualwords.compiled import njit


@njit()
def level_of(value, shift, factor, top, root):
    """Nearest level of (value - shift) * factor in [0, 1]; levels may be even in the root."""
    share = min(max((value - shift) * factor, np.float32(0)), np.float32(1))
    if root:
        share = np.sqrt(share)
    return np.uint32(share * top + np.float32(0.5))


@njit()
def level_pairs(column_in, values, place, factor, top, root, columns, levels):
    """Pairs of the stored entries of a sparse matrix; place : new column of every old one."""
    single = factor.size == 1
    for q in range(values.size):
        j = np.uint64(column_in[q])
        columns[q] = place[j]
        levels[q] = level_of(
            values[q], np.float32(0), factor[0] if single else factor[j], top, root
        )


@njit()
def count_dense(x, shift, counts):
    """Number of entries of each row that differ from the shift, which is level 0."""
    single = shift.size == 1
    for i in range(x.shape[0]):
        total = 0
        for j in range(x.shape[1]):
            total += x[i, j] != (shift[0] if single else shift[j])
        counts[i] = total


@njit()
def dense_pairs(x, place, shift, factor, top, root, columns, levels):
    """Pairs of the entries of a dense matrix that differ from the shift."""
    single_shift, single_factor = shift.size == 1, factor.size == 1
    q = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            low = shift[0] if single_shift else shift[j]
            if x[i, j] != low:
                scale = factor[0] if single_factor else factor[j]
                columns[q] = place[j]
                levels[q] = level_of(x[i, j], low, scale, top, root)
                q += 1


@njit()
def row_sums(levels, bounds, by_level, out):
    """out[i] = sum over the row's levels of by_level[level]."""
    for i in range(out.size):
        total = 0.0
        for q in range(bounds[i], bounds[i + 1]):
            total += by_level[levels[q]]
        out[i] = total
