"""Loops that turn feature values into (column, level) pairs."""

import numpy as np

from visualwords.compiled import njit


@njit()
def level_of(share, scale):
    """Nearest level of a number in [0, 1], clipped to that; levels may be even in the root."""
    share = share if share < np.float32(1) else np.float32(1)
    share = share if share > np.float32(0) else np.float32(0)
    if scale.root:
        share = np.sqrt(share)
    return np.int32(share * np.float32(scale.top) + np.float32(0.5))


@njit()
def fill_levels(columns, values, scale, levels):
    """Levels of some entries, by the columns that they are of."""
    if scale.shift.size == scale.factor.size == 1:  # which LLVM turns into vector instructions
        shift, factor = scale.shift[0], scale.factor[0]
        for k in range(np.uint64(values.size)):
            levels[k] = level_of((values[k] - shift) * factor, scale)
    else:
        for k in range(np.uint64(values.size)):
            j = np.uint64(columns[k])
            shift = scale.shift[j if scale.shift.size > 1 else np.uint64(0)]
            factor = scale.factor[j if scale.factor.size > 1 else np.uint64(0)]
            levels[k] = level_of((values[k] - shift) * factor, scale)


@njit()
def sparse_pairs(indices, values, scale, columns, levels):
    """Pairs of the stored entries of a sparse matrix."""
    for k in range(np.uint64(values.size)):
        columns[k] = indices[k]
    fill_levels(columns, values, scale, levels)


@njit()
def dense_pairs(x, scale, columns, levels):
    """Pairs of the entries of a dense matrix that differ from the shift, which is level 0.

    columns, levels : with room for one pair more, since there is no branch that could be foreseen
    """
    values, start = np.empty(x.shape[1] + 1, np.float32), np.uint64(0)
    single, first = scale.shift.size == 1, scale.shift[0]
    for i in range(x.shape[0]):
        row, here, count = x[i], columns[start:], np.uint64(0)
        for j in range(np.uint64(row.size)):
            here[count], values[count] = j, row[j]
            count += np.uint64(row[j] != (first if single else scale.shift[j]))
        fill_levels(here[:count], values[:count], scale, levels[start:])
        start += count


@njit()
def level_sums(levels, bounds, by_level, out):
    """out[i] = sum over the levels of row i of by_level[level]."""
    for i in range(out.size):
        total = 0.0
        for q in range(np.uint64(bounds[i]), np.uint64(bounds[i + 1])):
            total += by_level[levels[q]]
        out[i] = total
