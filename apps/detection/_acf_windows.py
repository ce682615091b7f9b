"""Loops over windows of cells: trees everywhere, with early rejection, and one by one."""

import numpy as np

from visualwords.compiled import njit


@njit()
def sum_trees(cells, starts, offsets, values, leaves, least, scores):
    """scores[n] = Σ over trees of the leaf that the window at starts[n] reaches.

    A window is rejected, with the sum so far, as soon as that falls below ``least``.

    cells : (n_cells × channels,) uint8      starts : (m,) int64, of windows in it
    offsets : (t, 3) int64, from a window's start to the bytes that the tree's nodes compare
    values : (t, 3) uint8, highest of the left side      leaves : (t, 4) float32
    """
    for n in range(starts.size):
        window = cells[starts[n] :]
        total = np.float32(0)
        for t in range(offsets.shape[0]):
            if window[offsets[t, 0]] <= values[t, 0]:
                total += leaves[t, 1 if window[offsets[t, 1]] > values[t, 1] else 0]
            else:
                total += leaves[t, 3 if window[offsets[t, 2]] > values[t, 2] else 2]
            if total < least:
                break
        scores[n] = total


@njit()
def lowest_sums(rows, features, values, leaves, lowest):
    """lowest[n] = the lowest of the partial sums that `sum_trees` meets in row n."""
    for n in range(rows.shape[0]):
        row, total, low = rows[n], np.float32(0), np.float32(np.inf)
        for t in range(features.shape[0]):
            if row[features[t, 0]] <= values[t, 0]:
                total += leaves[t, 1 if row[features[t, 1]] > values[t, 1] else 0]
            else:
                total += leaves[t, 3 if row[features[t, 2]] > values[t, 2] else 2]
            low = min(low, total)
        lowest[n] = low
