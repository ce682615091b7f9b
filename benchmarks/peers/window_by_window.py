"""The look-ups of one window after the other: what scoring all windows at once is compared with."""

import numpy as np

from visualwords.compiled import njit


@njit()
def look_up(counts, starts, tops, cells, scores):
    """scores[n] = Σ_k cells[starts[k] + min(counts[n, k], tops[k])]."""
    u = np.uint64
    for n in range(scores.size):
        even, odd, row = np.float32(0), np.float32(0), counts[n]
        for k in range(u(0), u(row.size), u(2)):
            m = k + u(1)
            even += cells[u(starts[k]) + u(min(row[k], tops[k]))]
            odd += cells[u(starts[m]) + u(min(row[m], tops[m]))]
        scores[n] = even + odd
