"""Loops of colour histograms and colour statistics."""

import numpy as np

from visualwords.compiled import njit


@njit()
def count_colors(image, bins, bounds):
    """counts[k, (i b1 + j) b2 + l] = pixels of window k with levels i, j, l of the channels.

    image : (h, w, 3) uint8, C order      bins : (3,) uint32 b0, b1, b2, each 1..256
    bounds : (m, 4) int64 x0, y0, x1, y1 in pixels, inside the image, the end exclusive
    returns (m, b0 b1 b2) uint32
    """
    height, width, _ = image.shape
    flat = image.reshape(height, 3 * width)
    channels = np.empty((3, width), np.uint8)
    color = np.empty(width, np.uint32)
    n_bins = np.int64(bins[0]) * np.int64(bins[1]) * np.int64(bins[2])
    counts = np.zeros((bounds.shape[0], n_bins), np.uint32)
    parts = np.empty((3, n_bins), np.uint32)
    for k in range(bounds.shape[0]):
        x0, y0, x1, y1 = bounds[k]
        parts[:] = 0
        for y in range(y0, y1):
            number_colors(flat[y, 3 * x0 : 3 * x1], bins, channels, color[: x1 - x0])
            count_indices(color[: x1 - x0], counts[k], parts)
        for i in range(n_bins):
            counts[k, i] += parts[0, i] + parts[1, i] + parts[2, i]
    return counts


@njit()
def number_colors(row, bins, channels, color):
    """color[x] = (i b1 + j) b2 + l where i = floor(b0 red / 256), and so on.

    The channels are taken apart first: both loops then run on vectors.
    """
    b0, b1, b2 = bins[0], bins[1], bins[2]
    red, green, blue = channels[0], channels[1], channels[2]
    eight = np.uint32(8)
    for x in range(color.size):
        red[x] = row[3 * x]
        green[x] = row[3 * x + 1]
        blue[x] = row[3 * x + 2]
    for x in range(color.size):
        i = (red[x] * b0) >> eight
        j = (green[x] * b1) >> eight
        color[x] = (i * b1 + j) * b2 + ((blue[x] * b2) >> eight)


@njit()
def count_indices(indices, counts, parts):
    """counts[i] += how often i occurs, spread over four arrays.

    Neighbouring pixels are often equal; adding to one address in a row would wait for memory.
    """
    one = np.uint32(1)
    n = np.uint64(indices.size)
    i = np.uint64(0)
    while i + np.uint64(3) < n:
        counts[np.uint64(indices[i])] += one
        parts[0, np.uint64(indices[i + np.uint64(1)])] += one
        parts[1, np.uint64(indices[i + np.uint64(2)])] += one
        parts[2, np.uint64(indices[i + np.uint64(3)])] += one
        i += np.uint64(4)
    while i < n:
        counts[np.uint64(indices[i])] += one
        i += np.uint64(1)


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
