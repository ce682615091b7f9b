"""Loops of the colour histogram."""

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
