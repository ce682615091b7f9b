"""Loops of quantisation: levels of values, and counts that lead to a percentile."""

import numpy as np

from visualwords.compiled import njit


@njit()
def quantize(values, lowest, scale, top, out):
    """out = floor((v − lowest) scale), clipped to 0 … top  [Wu10, Eq. 13]; values finite."""
    for k in range(np.uint64(values.size)):
        level = (np.float64(values[k]) - lowest) * scale
        out[k] = np.int32(min(max(level, 0.0), top))


@njit()
def quantize_columns(x, edges, out):
    """out[i, j] = how many of the ascending edges[j] are <= x[i, j], by bisection."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            low, high = 0, edges.shape[1]
            while low < high:
                middle = (low + high) // 2
                if edges[j, middle] <= x[i, j]:
                    low = middle + 1
                else:
                    high = middle
            out[i, j] = low


@njit()
def count_bins(values, lowest, scale, counts):
    """counts[k % 4, b] += 1 for every value, b = floor((v − lowest) scale).

    Four rows of counts: equal neighbours then do not wait for each other.
    """
    for k in range(np.uint64(values.size)):
        b = np.uint64((np.float64(values[k]) - lowest) * scale)
        counts[k & np.uint64(3), b] += 1


@njit()
def collect_bin(values, lowest, scale, wanted, out, found):
    """Append the values of one bin to out[:found]; return how many there are then."""
    for k in range(np.uint64(values.size)):
        value = np.float64(values[k])
        if np.uint64((value - lowest) * scale) == wanted:
            out[found] = value
            found += 1
    return found
