"""The loop that finds the bins of new points among those seen in training."""

import numpy as np

from visualwords.compiled import njit


@njit()
def find_children(codes, bins, child_starts, child_codes):
    """bins[k] becomes the child of bins[k] whose code is codes[k]; -1 if there is none.

    child_codes : (n,) uint64, ascending inside child_starts[b] … child_starts[b + 1] - 1
    """
    for k in range(codes.size):
        if bins[k] < 0:
            continue
        low, end = child_starts[bins[k]], child_starts[bins[k] + 1]
        high = end
        while low < high:
            middle = (low + high) // 2
            if child_codes[middle] < codes[k]:
                low = middle + 1
            else:
                high = middle
        bins[k] = low if low < end and child_codes[low] == codes[k] else np.int64(-1)
