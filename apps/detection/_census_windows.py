"""Loops over census codes: the counts of windows, one by one.

Code (y, x) is that of pixel (y + 1, x + 1): the inner pixels of a super-block that begins at pixel
(y, x) have the codes of rows y…y + 21 and columns x…x + 15.
"""

import numpy as np

from visualwords.compiled import njit

ROWS, COLUMNS = 22, 16  # codes of a super-block
STEP_Y, STEP_X = 12, 9  # from one super-block to the next


@njit()
def count_box(codes, y, x, counts):
    """counts[c] = number of codes c in the 22 × 16 codes from (y, x); two arrays take turns."""
    u, byte, one = np.uint64, np.uint64(255), np.uint16(1)
    counts[:] = 0
    for r in range(ROWS):
        words = codes[y + r, x : x + COLUMNS].view(np.uint64)
        for w in words:
            for s in range(u(0), u(64), u(16)):
                counts[0, (w >> s) & byte] += one
                counts[1, (w >> (s + u(8))) & byte] += one


@njit()
def count_windows(codes, rows, columns, n_down, n_across, vectors):
    """vectors[n, s, c] = count of code c in super-block s of the census window at rows, columns.

    vectors : (m, n_down × n_across, 256) uint16
    """
    counts = np.empty((2, 256), np.uint16)
    for n in range(rows.size):
        for s in range(n_down * n_across):
            y = rows[n] + s // n_across * STEP_Y
            count_box(codes, y, columns[n] + s % n_across * STEP_X, counts)
            for c in range(256):
                vectors[n, s, c] = counts[0, c] + counts[1, c]
