"""Loops of quantisation: levels of values, and values near a quantile."""

import numpy as np

from visualwords.compiled import njit


@njit()
def quantize(values, lowest, scale, top, out):
    """out = floor((v − lowest) scale), clipped to 0 … top  [Wu10, Eq. 13]; values finite."""
    for k in range(np.uint64(values.size)):
        level = (np.float64(values[k]) - lowest) * scale
        out[k] = np.int32(min(max(level, 0.0), top))


@njit()
def bucket_of(value, low, scale, n_buckets):
    """Which of the buckets, even between the edges, a value is in; ascending with the value."""
    place = (value - low) * scale
    return np.uint64(min(max(place, 0.0), n_buckets - 1.0))


@njit()
def fill_buckets(edges, low, scale, buckets):
    """buckets[j, b] = how many of the ascending, finite edges[j] are in buckets below b."""
    n_buckets = buckets.shape[1] - 1
    for j in range(edges.shape[0]):
        k = 0
        for b in range(n_buckets + 1):
            while k < edges.shape[1] and bucket_of(edges[j, k], low[j], scale[j], n_buckets) < b:
                k += 1
            buckets[j, b] = k


@njit()
def quantize_columns(x, edges, low, scale, buckets, first, last, out):
    """out[i, j] = how many of the ascending edges[j] are <= x[i, j], columns first … last - 1.

    A value's bucket bounds its level from below and above; few or no edges lie between.
    """
    n_buckets = np.float64(buckets.shape[1] - 1)
    for i in range(x.shape[0]):
        for j in range(np.uint64(first), np.uint64(last)):
            value = np.float64(x[i, j])
            b = bucket_of(value, low[j], scale[j], n_buckets)
            k, end = np.uint64(buckets[j, b]), np.uint64(buckets[j, b + np.uint64(1)])
            if k < end and edges[j, end - np.uint64(1)] <= value:
                k = end  # so it is with one edge, and with many equal ones
            while k < end and edges[j, k] <= value:
                k += np.uint64(1)
                middle = (k + end) >> np.uint64(1)
                if edges[j, middle] <= value:
                    k = middle
                else:
                    end = middle
            out[i, j] = k


@njit()
def collect_between(values, low, high, out):
    """Write the values in low … high to ``out``; return how many are below, and how many these are.

    out : (n,) float64, as many as values
    """
    reached, found = 0, 0
    for k in range(np.uint64(values.size)):
        value = np.float64(values[k])
        if value >= low:  # few do where the quantile is high, as the default is
            reached += 1
            out[found] = value
            found += value <= high
    return values.size - reached, found


@njit()
def count_fractions(values):
    """How many values are not whole numbers."""
    count = 0
    for k in range(np.uint64(values.size)):
        count += values[k] != np.floor(values[k])
    return count
