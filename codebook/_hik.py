"""Kernel k-means with histogram intersection: counts → tables → sums of look-ups.

Arrays of words have the layout (dimension, level, word): a look-up gives one number for each word.
"""

import numpy as np

from visualwords.compiled import njit


@njit()
def sum_tables(levels, start, tables, sums):
    """sums[p, k] += sum_j tables[j, levels[start + p, j], k], modulo 2^16.

    levels : (n, d) uint8      tables : (d, n_levels, k) uint16      sums : (m, k) uint16
    """
    n, d, k = sums.shape[0], levels.shape[1], sums.shape[1]
    for j in range(0, d - d % 8, 8):  # the tables of 8 dimensions stay in the cache
        for p in range(n):
            x = levels[start + p]
            a, b = tables[j, x[j]], tables[j + 1, x[j + 1]]
            c, e = tables[j + 2, x[j + 2]], tables[j + 3, x[j + 3]]
            f, g = tables[j + 4, x[j + 4]], tables[j + 5, x[j + 5]]
            h, i = tables[j + 6, x[j + 6]], tables[j + 7, x[j + 7]]
            total = sums[p]
            for w in range(k):
                both = (a[w] + b[w]) + (c[w] + e[w])
                total[w] += both + ((f[w] + g[w]) + (h[w] + i[w]))
    for j in range(d - d % 8, d):
        for p in range(n):
            row, total = tables[j, levels[start + p, j]], sums[p]
            for w in range(k):
                total[w] += row[w]


@njit()
def best_columns(sums, numbers, label):
    """label[p] = argmax_k sums[p, k], the first of equals.

    sums : (m, k) uint16      numbers : 0, 1, … k - 1 as uint16, which keeps vectors narrow
    """
    for p in range(sums.shape[0]):
        row = sums[p]
        top, last = row[0], np.uint16(row.size - 1)
        for k in range(row.size):
            top = max(top, row[k])
        first = last
        for k in range(row.size):
            first = min(first, numbers[k] if row[k] == top else last)
        label[p] = first


@njit()
def count_levels(levels, label, counts):
    """counts[j, v, k] += 1 for each descriptor of word k with level v in dimension j.

    levels : (n, d) uint8      label : (n,) int32      counts : (d, n_levels, k) int32
    """
    for p in range(levels.shape[0]):
        word = np.uint32(label[p])
        for j in range(levels.shape[1]):
            counts[j, levels[p, j], word] += np.int32(1)


@njit()
def mean_tables(counts, sizes, tables):
    """tables[j, v, k] = mean over the members h of word k of min(h_j, v); returns ||m_k||^2.

    With s(v) = share of members with h_j >= v, the table is sum_{u <= v} s(u), and
    ||m_k||^2 = sum_j sum_v s(v)^2.

    counts : (d, n_levels, k) int32, changed      sizes : (k,) float64      tables : float32
    """
    d, n_levels, n_words = counts.shape
    squares = np.zeros(n_words, np.float64)
    share = 1 / np.maximum(sizes, 1)
    for j in range(d):
        for v in range(n_levels - 2, 0, -1):
            counts[j, v] += counts[j, v + 1]
        tables[j, 0] = 0
        for v in range(1, n_levels):
            for k in range(n_words):
                s = counts[j, v, k] * share[k]
                squares[k] += s * s
                tables[j, v, k] = tables[j, v - 1, k] + s
    return squares


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
def city_block_distances(levels, rows, others):
    """distance[r, p] = sum_j |levels[rows[r], j] - others[p, j]|, float32."""
    distances = np.empty((rows.size, others.shape[0]), np.float32)
    for r in range(rows.size):
        x = levels[rows[r]]
        for p in range(others.shape[0]):
            total = np.int32(0)
            for j in range(x.size):
                total += abs(np.int32(x[j]) - np.int32(others[p, j]))
            distances[r, p] = total
    return distances
