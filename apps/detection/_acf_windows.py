"""Loops over windows of cells: trees everywhere, with early rejection, and one by one."""

import numpy as np

from visualwords.compiled import njit


@njit()
def sum_trees(cells, starts, offsets, values, leaves, least, scores):
    """scores[n] = Σ over trees of the leaf that the window at starts[n] reaches.

    After every so many trees the sum is compared with the next of the thresholds ``least``; where
    it is lower, the window is rejected with a score of −∞.

    cells : (n_cells × channels,) uint8      starts : (m,) int64, of windows in it
    offsets : (t, 2^depth − 1) int64, from a window's start to the bytes that a tree's nodes
    compare, the children of node k being 2k + 1 and 2k + 2
    values : like offsets, uint8, highest of the left side      leaves : (t, 2^depth) float32
    least : (k,) float32, k equal parts of the trees, the last one may be shorter
    """
    u = np.uint64
    n_trees, n_nodes = u(offsets.shape[0]), u(offsets.shape[1])
    step = -(-offsets.shape[0] // least.size)
    for n in range(starts.size):
        start, total = u(starts[n]), np.float32(0)
        scores[n] = -np.inf
        for part in range(least.size):
            for t in range(u(part * step), min(u((part + 1) * step), n_trees)):
                k = u(0)
                while k < n_nodes:
                    k = k + k + u(1) + u(cells[start + u(offsets[t, k])] > values[t, k])
                total += leaves[t, k - n_nodes]
            if total < least[part]:
                break
        else:
            scores[n] = total


@njit()
def partial_sums(rows, features, values, leaves, sums):
    """sums[n, k] = row n's sum of the first k + 1 parts of the trees, as `sum_trees` has them."""
    step = -(-features.shape[0] // sums.shape[1])
    for n in range(rows.shape[0]):
        row, total = rows[n], np.float32(0)
        for t in range(features.shape[0]):
            k = np.int64(0)
            while k < features.shape[1]:
                k = 2 * k + 1 + np.int64(row[features[t, k]] > values[t, k])
            total += leaves[t, k - features.shape[1]]
            sums[n, t // step :] = total
