"""Loops that turn feature values into (column, level) pairs."""

import numpy as np

from visualwords.compiled import njit

MULTIPLE = 4  # pairs that the solver treats at a time


@njit()
def level_of(share, top, root):
    """Nearest level of a number in [0, 1], clipped to that; levels may be even in the root."""
    share = share if share < np.float32(1) else np.float32(1)
    share = share if share > np.float32(0) else np.float32(0)
    if root:
        share = np.sqrt(share)
    return np.int32(share * top + np.float32(0.5))


@njit()
def limits_of_bits(bits):
    """Smallest and largest of some unsigned numbers; numbers >= 0 are ordered as their bits are."""
    low, high = bits[0], bits[0]
    for k in range(bits.size):
        low, high = min(low, bits[k]), max(high, bits[k])
    return low, high


@njit()
def rounding_errors(shares, top):
    """Sums of the rounding errors of numbers in [0, 1], for levels even in them and in the root."""
    even = rooted = 0.0
    for k in range(shares.size):
        even += abs(np.rint(shares[k] * top) / top - shares[k])
        rooted += abs((np.rint(np.sqrt(shares[k]) * top) / top) ** 2 - shares[k])
    return even, rooted


@njit()
def count_levels(shares, top, root, counts):
    """Add how many of some numbers in [0, 1] have each level."""
    for k in range(shares.size):
        share = np.sqrt(shares[k]) if root else shares[k]
        counts[np.int64(np.rint(share * top))] += 1


@njit()
def fill_up(end, mask, none, columns, levels):
    """Pairs (none, 0) from the end of a row to the next multiple of mask + 1, a power of two."""
    for q in range(end, (end + mask) & ~mask):
        columns[q] = none
        levels[q] = 0


@njit()
def sparse_pairs(indices, values, bounds, starts, mask, none, factor, top, root, columns, levels):
    """Pairs of the stored entries of a sparse matrix; row i goes to ``starts[i]`` and beyond.

    mask, none : as in ``fill_up``
    """
    single, every = factor.size == 1, factor[0]
    for i in range(starts.size):
        first, to = np.uint64(bounds[i]), np.uint64(starts[i])
        length = np.uint64(bounds[i + 1]) - first
        for k in range(length):
            columns[to + k] = indices[first + k]
        if single:  # a loop of its own, which LLVM turns into vector instructions
            for k in range(length):
                levels[to + k] = level_of(values[first + k] * every, top, root)
        else:
            for k in range(length):
                scale = factor[np.uint32(indices[first + k])]
                levels[to + k] = level_of(values[first + k] * scale, top, root)
        fill_up(np.int64(to + length), mask, none, columns, levels)


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
def entries_of(row, shift, places, values):
    """Columns and values of the entries that differ from the shift; returns how many.

    Without a branch, which could not be foreseen.
    """
    count = np.uint64(0)
    if shift.size == 1:
        low = shift[0]
        for j in range(np.uint64(row.size)):
            places[count], values[count] = j, row[j]
            count += np.uint64(row[j] != low)
    else:
        for j in range(np.uint64(row.size)):
            places[count], values[count] = j, row[j]
            count += np.uint64(row[j] != shift[j])
    return count


@njit()
def dense_pairs(x, starts, mask, none, shift, factor, top, root, columns, levels):
    """Pairs of the entries of a dense matrix that differ from the shift; else as above."""
    single, low, scale = shift.size == factor.size == 1, shift[0], factor[0]
    places, values = np.empty(x.shape[1] + 1, np.uint32), np.empty(x.shape[1] + 1, np.float32)
    for i in range(x.shape[0]):
        to, length = np.uint64(starts[i]), entries_of(x[i], shift, places, values)
        for k in range(length):
            columns[to + k] = places[k]
        if single:
            for k in range(length):
                levels[to + k] = level_of((values[k] - low) * scale, top, root)
        else:
            for k in range(length):
                low = shift[places[k] if shift.size > 1 else 0]
                share = (values[k] - low) * factor[places[k] if factor.size > 1 else 0]
                levels[to + k] = level_of(share, top, root)
        fill_up(np.int64(to + length), mask, none, columns, levels)


@njit()
def arrange_by_length(lengths, longest, order, starts, bounds):
    """Counting sort of the rows by their length in units of MULTIPLE, the shortest first.

    longest : of the lengths           order : (n,) row that comes next
    starts : (n,) where each row begins     bounds : (n + 1,) where the sorted rows begin and end
    """
    counts = np.zeros((longest + MULTIPLE - 1) // MULTIPLE + 2, np.int64)
    for i in range(lengths.size):
        counts[np.uint64(lengths[i] + MULTIPLE - 1) // np.uint64(MULTIPLE) + np.uint64(1)] += 1
    counts = np.cumsum(counts)  # rows that are shorter
    for i in range(lengths.size):
        group = np.uint64(lengths[i] + MULTIPLE - 1) // np.uint64(MULTIPLE)
        order[np.uint64(counts[group])] = i
        counts[group] += 1
    bounds[0] = 0
    for k in range(order.size):
        row = np.uint64(order[k])
        starts[row] = bounds[k]
        bounds[k + 1] = bounds[k] + (lengths[row] + MULTIPLE - 1) // MULTIPLE * MULTIPLE


@njit()
def move_columns(columns, place):
    """Give every pair the new place of its column."""
    for q in range(columns.size):
        columns[q] = place[columns[q]]


@njit()
def level_sums(levels, bounds, by_level, out):
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
