"""Loops of the colour statistics."""

import numpy as np

from visualwords.compiled import njit


@njit()
def sum_colors(image):
    """sums[y, x, c] = Σ v and sums[y, x, 3 + c] = Σ v² of plane c above and left of (y, x).

    image : (h, w, 3) uint8, C order
    returns (h + 1, w + 1, 6) uint32, modulo 2³²: differences are right where they are smaller
    """
    height, width, _ = image.shape
    sums = np.zeros((height + 1, width + 1, 6), np.uint32)
    row = np.empty(6, np.uint32)
    for y in range(height):
        row[:] = 0
        for x in range(width):
            for c in range(3):
                value = np.uint32(image[y, x, c])
                row[c] += value
                row[3 + c] += value * value
            for c in range(6):
                sums[y + 1, x + 1, c] = sums[y, x + 1, c] + row[c]
    return sums


@njit()
def describe_cells(sums, bin_size, columns, rows, out):
    """out[k, cell, :] = means and twice the standard deviations of the planes, rounded.

    sums : what `sum_colors` returns      bin_size : width b of a cell
    columns, rows : int64, the left and upper edges of patches; k goes row by row
    out : (len(rows) len(columns), 16, 6) uint8
    """
    area = np.int64(bin_size * bin_size)
    k = 0
    for top in rows:
        for left in columns:
            for i in range(4):
                above, below = sums[top + i * bin_size], sums[top + (i + 1) * bin_size]
                for j in range(4):
                    x0, x1 = left + j * bin_size, left + (j + 1) * bin_size
                    for c in range(3):
                        total = np.int64(
                            np.uint32(below[x1, c] - below[x0, c] - above[x1, c] + above[x0, c])
                        )
                        d = c + 3
                        squares = np.int64(
                            np.uint32(below[x1, d] - below[x0, d] - above[x1, d] + above[x0, d])
                        )
                        out[k, 4 * i + j, c] = (2 * total + area) // (2 * area)
                        spread = 2.0 * np.sqrt(float(area * squares - total * total))
                        out[k, 4 * i + j, d] = np.uint8(spread / area + 0.5)
            k += 1
