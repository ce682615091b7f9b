"""Loops that turn feature values into (column, level) pairs."""

import numpy as np

from visualwords.compiled import njit


@njit()
def level_of(share, top, root):
    """Nearest level of a number in [0, 1], clipped to that; levels may be even in the root."""
    share = share if share < np.float32(1) else np.float32(1)
    share = share if share > np.float32(0) else np.float32(0)
    if root:
        share = np.sqrt(share)
    return np.int32(share * top + np.float32(0.5))


@njit()
def level_pairs(column_in, values, place, factor, top, root, columns, levels):
    """Pairs of the stored entries of a sparse matrix; place : new column of every old one."""
    for q in range(values.size):
        columns[q] = place[np.uint32(column_in[q])]
    if factor.size == 1:  # a loop of its own, which LLVM turns into vector instructions
        scale = factor[0]
        for q in range(values.size):
            levels[q] = level_of(values[q] * scale, top, root)
    else:
        for q in range(values.size):
            levels[q] = level_of(values[q] * factor[np.uint32(column_in[q])], top, root)


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
                levels[q] = level_of((x[i, j] - low) * scale, top, root)
                q += 1


@njit()
def row_sums(levels, bounds, by_level, out):
    """out[i] = sum over the row's levels of by_level[level], in sums that do not wait."""
    four = np.uint64(4)
    for i in range(out.size):
        a = b = c = d = 0.0
        q, end = np.uint64(bounds[i]), np.uint64(bounds[i + 1])
        while q + four <= end:
            a += by_level[levels[q]]
            b += by_level[levels[q + np.uint64(1)]]
            c += by_level[levels[q + np.uint64(2)]]
            d += by_level[levels[q + np.uint64(3)]]
            q += four
        while q < end:
            a += by_level[levels[q]]
            q += np.uint64(1)
        out[i] = (a + b) + (c + d)
