"""Kernel k-means with histogram intersection: counts → tables → sums of look-ups.

Arrays of words have the layout (dimension, level, word): a look-up gives one number for each word.
"""

import numpy as np

from visualwords.compiled import njit

ROWS = 128  # descriptors whose levels are in the nearest cache while their dimensions are counted


@njit()
def sum_tables(levels, start, tables, sums):
    """sums[p, k] += sum_j tables[j, levels[start + p, j], k], modulo 2^16.

    levels : (n, d) uint8      tables : (d, n_levels, k) uint16      sums : (m, k) uint16

    Rows are found by offsets into flat arrays: views of eight rows would cost as much as adding.
    """
    one, d, k = np.uint64(1), np.uint64(levels.shape[1]), np.uint64(sums.shape[1])
    flat, total, size = tables.reshape(-1), sums.reshape(-1), np.uint64(tables.shape[1]) * k
    for j in range(np.uint64(0), d - d % np.uint64(8), np.uint64(8)):  # 8 tables stay in the cache
        for p in range(np.uint64(sums.shape[0])):
            x, table, row = levels[start + p], j * size, p * k
            a = table + np.uint64(x[j]) * k
            b = table + size + np.uint64(x[j + one]) * k
            c = table + np.uint64(2) * size + np.uint64(x[j + np.uint64(2)]) * k
            e = table + np.uint64(3) * size + np.uint64(x[j + np.uint64(3)]) * k
            f = table + np.uint64(4) * size + np.uint64(x[j + np.uint64(4)]) * k
            g = table + np.uint64(5) * size + np.uint64(x[j + np.uint64(5)]) * k
            h = table + np.uint64(6) * size + np.uint64(x[j + np.uint64(6)]) * k
            i = table + np.uint64(7) * size + np.uint64(x[j + np.uint64(7)]) * k
            for w in range(k):
                both = (flat[a + w] + flat[b + w]) + (flat[c + w] + flat[e + w])
                other = (flat[f + w] + flat[g + w]) + (flat[h + w] + flat[i + w])
                total[row + w] += both + other
    for j in range(d - d % np.uint64(8), d):
        for p in range(np.uint64(sums.shape[0])):
            a, row = j * size + np.uint64(levels[start + p, j]) * k, p * k
            for w in range(k):
                total[row + w] += flat[a + w]


@njit()
def best_columns(sums, label, best):
    """label[p] = argmax_k sums[p, k], the first of equals; best[p] is its sum.

    sums : (m, k) uint16, k <= 2^16; the largest of numbers that end with the place is found once
    label : (m,) int32      best : (m,) uint16
    """
    for p in range(sums.shape[0]):
        row = sums[p]
        top, last, half = np.uint32(0), np.uint32(row.size - 1), np.uint32(16)
        for k in range(np.uint32(row.size)):
            top = max(top, np.uint32((np.uint32(row[k]) << half) | (last - np.uint32(k))))
        label[p] = np.int32(last - (top & np.uint32(65535)))
        best[p] = np.uint16(top >> half)


@njit()
def add_counts(levels, rows, label, step, counts):
    """counts[j, v, k] += step for each of the rows of word k with level v in dimension j.

    levels : (n, d) uint8      rows : (m,) int64, those of a word one after the other
    label : (n,) int32         step : int32      counts : (d, n_levels, k) int32

    Counts of a word are far apart: where it has many rows, a small array counts them first.
    """
    d, n_levels = np.uint64(counts.shape[0]), np.uint64(counts.shape[1])
    own, start = np.zeros(d * n_levels, np.int32), 0
    while start < rows.size:
        stop, word = start + 1, np.uint32(label[rows[start]])
        while stop < rows.size and label[rows[stop]] == label[rows[start]]:
            stop += 1
        if stop - start < ROWS:
            for i in rows[start:stop]:
                for j in range(d):
                    counts[j, levels[i, j], word] += step
        else:
            for first in range(start, stop, ROWS):
                for j in range(d):
                    for r in range(first, min(first + ROWS, stop)):
                        own[j * n_levels + np.uint64(levels[np.uint64(rows[r]), j])] += np.int32(1)
            for j in range(d):
                for v in range(n_levels):
                    if own[j * n_levels + v]:
                        counts[j, v, word] += step * own[j * n_levels + v]
            own[:] = 0
        start = stop


@njit()
def mean_tables(counts, sizes, tables):
    """tables[j, v, k] = mean over the members h of word k of min(h_j, v); returns ||m_k||^2.

    With s(v) = share of members with h_j >= v, the table is sum_{u <= v} s(u), and
    ||m_k||^2 = sum_j sum_v s(v)^2.

    counts : (d, n_levels, k) int32      sizes : (k,) float64      tables : float32
    """
    d, n_levels, n_words = counts.shape
    squares, above = np.zeros(n_words, np.float64), np.empty(n_words, np.float64)
    share = 1 / np.maximum(sizes, 1)
    for j in range(d):
        above[:] = sizes
        tables[j, 0] = 0
        for v in range(1, n_levels):
            for k in range(n_words):
                above[k] -= counts[j, v - 1, k]
                s = above[k] * share[k]
                squares[k] += s * s
                tables[j, v, k] = tables[j, v - 1, k] + s
    return squares


@njit()
def rounded(tables, scale):
    """Tables times a factor, rounded to the nearest whole number, uint16."""
    result = np.empty(tables.shape, np.uint16)
    flat, out = tables.reshape(-1), result.reshape(-1)
    for i in range(np.uint64(flat.size)):
        out[i] = np.uint16(np.rint(flat[i] * scale))
    return result


@njit()
def medians(counts, sizes):
    """Lower median of the levels of each word's members in each dimension, (k, d) uint8."""
    d, n_levels, n_words = counts.shape
    result = np.zeros((n_words, d), np.uint8)
    for j in range(d):
        below = np.zeros(n_words, np.int64)
        for v in range(n_levels):
            for k in range(n_words):
                before = below[k]
                below[k] += counts[j, v, k]
                if 2 * before < sizes[k] <= 2 * below[k]:
                    result[k, j] = v
    return result


@njit()
def city_block_distances(levels, rows, columns):
    """distance[r, p] = sum_j |levels[rows[r], j] - columns[j, p]|, float32.

    levels : (n, d) uint8      columns : (d, m) uint8, the others: vectors run along them

    256 differences of bytes add up to 16 bits.
    """
    d, m = columns.shape
    distances, sums = np.zeros((rows.size, m), np.float32), np.empty(m, np.uint16)
    for r in range(rows.size):
        for start in range(0, d, 256):
            for p in range(m):
                sums[p] = 0
            for j in range(start, min(start + 256, d)):
                a, others = levels[rows[r], j], columns[j]
                for p in range(m):
                    b = others[p]
                    difference = np.uint8((a if a > b else b) - (a if a < b else b))
                    sums[p] = np.uint16(sums[p] + np.uint16(difference))
            for p in range(m):
                distances[r, p] += sums[p]
    return distances
