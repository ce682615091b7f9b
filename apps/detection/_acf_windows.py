"""Loops over windows of cells: trees everywhere, with early rejection, and one by one."""

import numpy as np

from visualwords.compiled import njit


@njit()
def sum_trees(cells, starts, offsets, values, leaves, least, scores):
    """scores[n] = Σ over trees of the leaf that the window at starts[n] reaches.

    After every so many trees the sum is compared with the next of the thresholds ``least``; where
    it is lower, the window is rejected with a score of −∞.

    cells : (n_cells × channels,) uint8      starts : (m,) int64, of windows in it
    offsets : (t, 3) int64, from a window's start to the bytes that the tree's nodes compare
    values : (t, 3) uint8, highest of the left side      leaves : (t, 4) float32
    least : (k,) float32, k equal parts of the trees, the last one may be shorter
    """
    u = np.uint64
    n_trees = u(offsets.shape[0])
    step = -(-offsets.shape[0] // least.size)
    for n in range(starts.size):
        start, total = u(starts[n]), np.float32(0)
        scores[n] = -np.inf
        for part in range(least.size):
            for t in range(u(part * step), min(u((part + 1) * step), n_trees)):
                right = u(cells[start + u(offsets[t, 0])] > values[t, 0])
                child = right + u(1)
                second = cells[start + u(offsets[t, child])] > values[t, child]
                total += leaves[t, u(2) * right + u(second)]
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
            right = np.int64(row[features[t, 0]] > values[t, 0])
            second = np.int64(row[features[t, 1 + right]] > values[t, 1 + right])
            total += leaves[t, 2 * right + second]
            sums[n, t // step :] = total
