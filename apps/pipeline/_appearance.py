"""Loops of an image's statistics: its colours, and its edges at one scale."""

import math

import numpy as np

from visualwords.compiled import njit


@njit(fastmath={"reassoc", "nsz"})
def measure_colors(image, dark, bright, grey, sums):
    """Fill the grey image; add up what means, spreads and shares of its colours are made of.

    image : (h, w, 3) uint8 RGB      dark, bright : float32 limits of grey
    grey : (h, w) float32
    sums : (8,) float64: sum and sum of squares of grey, red − green and blue − (red + green) / 2;
    number of pixels below ``dark`` and above ``bright``
    """
    g1 = g2 = a1 = a2 = b1 = b2 = np.float64(0)
    below = above = 0
    f = np.float32
    for y in range(image.shape[0]):
        row, line = image[y], grey[y]
        for x in range(row.shape[0]):
            red, green, blue = f(row[x, 0]), f(row[x, 1]), f(row[x, 2])
            value = f(0.299) * red + f(0.587) * green + f(0.114) * blue
            line[x] = value
            first, second = red - green, blue - (red + green) / f(2)
            g1 += np.float64(value)
            g2 += np.float64(value) * np.float64(value)
            a1 += np.float64(first)
            a2 += np.float64(first * first)
            b1 += np.float64(second)
            b2 += np.float64(second * second)
            below += value < dark
            above += value > bright
    sums[0], sums[1], sums[2], sums[3] = g1, g2, a1, a2
    sums[4], sums[5], sums[6], sums[7] = b1, b2, below, above


@njit(fastmath={"reassoc", "nsz"})
def measure_edges(grey, flat, sums):
    """Add up what the statistics of gradients are made of, at all pixels with four neighbours.

    grey : (h, w) float32, at least 3 × 3      flat : float32, a smaller gradient is no edge
    sums : (6,) float64: of the gradient's size and its square, its two parts' magnitudes and the
    Laplacian's; number of flat pixels
    """
    size1 = size2 = across1 = down1 = curved = 0.0
    n_flat = 0
    for y in range(1, grey.shape[0] - 1):
        above, row, below = grey[y - 1], grey[y], grey[y + 1]
        for x in range(1, grey.shape[1] - 1):
            across, down = row[x + 1] - row[x - 1], below[x] - above[x]
            size = math.sqrt(across * across + down * down)
            around = row[x - 1] + row[x + 1] + above[x] + below[x]
            size1 += size
            size2 += np.float64(size) * np.float64(size)
            across1 += abs(across)
            down1 += abs(down)
            curved += abs(np.float32(4) * row[x] - around)
            n_flat += size < flat
    sums[0], sums[1], sums[2], sums[3] = size1, size2, across1, down1
    sums[4], sums[5] = curved, n_flat
