"""The straight line above a table that is lowest at the table's mean level."""

import numpy as np

from visualwords.compiled import njit


@njit()
def bound_tables(starts, cells, means, highest, slopes, heights):
    """slopes[j] · level + heights[j] >= table j at every level 0…highest, tight at means[j].

    The lowest line above a set of points at a given place is the side of their convex hull there:
    of all lines through one point on the left and one on the right, the highest.
    """
    for j in range(means.size):
        table = cells[starts[j] : starts[j + 1]]
        top = table.size - 1
        below = min(int(max(means[j], np.float32(0))), highest - 1)
        # between two levels: at a level the side on its left and the one on its right are equal
        mean = below + min(max(means[j] - below, 0.05), 0.95)
        best = np.float64(-np.inf)
        for left in range(below + 1):
            low = np.float64(table[min(left, top)])
            for right in range(below + 1, highest + 1):
                if right > top + 1 and right != highest:
                    continue
                slope = (np.float64(table[min(right, top)]) - low) / (right - left)
                if low + slope * (mean - left) > best:
                    best, slopes[j] = low + slope * (mean - left), slope
        heights[j] = -np.inf
        for level in range(highest + 1):
            above = np.float64(table[min(level, top)]) - np.float64(slopes[j]) * level
            heights[j] = max(heights[j], above)
