"""Compiled loop of levels whose edges differ from column to column."""

import numpy as np

from visualwords.compiled import njit

_COLUMNS = 8  # their edges stay in the caches while all rows pass


@njit()
def quantize_columns(x, edges, out):
    """out[i, j] = how many of the ascending edges[j] are <= x[i, j], by bisection."""
    for left in range(0, x.shape[1], _COLUMNS):
        for i in range(x.shape[0]):
            for j in range(np.uint64(left), np.uint64(min(left + _COLUMNS, x.shape[1]))):
                first, end = np.uint64(0), np.uint64(edges.shape[1])
                while first < end:
                    middle = (first + end) >> np.uint64(1)
                    if edges[j, middle] <= x[i, j]:
                        first = middle + np.uint64(1)
                    else:
                        end = middle
                out[i, j] = first
