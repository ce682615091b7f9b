"""Loops of the census transform and its histograms, which the detector needs, too."""

import numpy as np

from visualwords.compiled import njit


@njit()
def census_transform(image):
    """code[y, x] = bits of (centre >= neighbour), the first of the 8 neighbours highest.

    image : (h, w) uint8, C order      returns (h - 2, w - 2) uint8, the codes of inner pixels
    """
    height, width = image.shape
    code = np.empty((max(height - 2, 0), max(width - 2, 0)), np.uint8)
    for y in range(code.shape[0]):
        census_row(image[y], image[y + 1], image[y + 2], code[y])
    return code


@njit()
def census_row(above, middle, below, code):
    """One row of codes; neighbours from the top left to the bottom right."""
    for x in range(code.size):
        center = middle[x + 1]
        bits = np.uint8(128 if center >= above[x] else 0)
        bits |= np.uint8(64 if center >= above[x + 1] else 0)
        bits |= np.uint8(32 if center >= above[x + 2] else 0)
        bits |= np.uint8(16 if center >= middle[x] else 0)
        bits |= np.uint8(8 if center >= middle[x + 2] else 0)
        bits |= np.uint8(4 if center >= below[x] else 0)
        bits |= np.uint8(2 if center >= below[x + 1] else 0)
        bits |= np.uint8(1 if center >= below[x + 2] else 0)
        code[x] = bits


@njit()
def count_codes(code, bounds, counts):
    """counts[k, c] = number of codes c in window k.

    code : (h, w) uint8      bounds : (m, 4) int64 x0, y0, x1, y1 inside it, the end exclusive
    counts : (m, 256) uint32, all zero, filled here
    """
    flat = code.reshape(-1)
    width = code.shape[1]
    parts = np.empty((8, 256), np.uint32)
    for k in range(bounds.shape[0]):
        x0, y0, x1, y1 = bounds[k]
        parts[:] = 0
        if x1 - x0 == width:
            count_run(flat[y0 * width : y1 * width], parts)
        else:
            for y in range(y0, y1):
                count_run(flat[y * width + x0 : y * width + x1], parts)
        for part in parts:
            for c in range(256):
                counts[k, c] += part[c]


@njit()
def count_run(codes, parts):
    """Count codes, read 8 at a time and spread over 8 arrays.

    Neighbouring codes are often equal; adding to one address in a row would wait for memory.
    """
    u, one, byte = np.uint64, np.uint32(1), np.uint64(255)
    words = codes[: codes.size // 8 * 8].view(np.uint64)
    for i in range(u(words.size)):
        word = words[i]
        parts[0, word & byte] += one
        parts[1, (word >> u(8)) & byte] += one
        parts[2, (word >> u(16)) & byte] += one
        parts[3, (word >> u(24)) & byte] += one
        parts[4, (word >> u(32)) & byte] += one
        parts[5, (word >> u(40)) & byte] += one
        parts[6, (word >> u(48)) & byte] += one
        parts[7, word >> u(56)] += one
    for i in range(8 * words.size, codes.size):
        parts[0, codes[i]] += one


@njit()
def count_codes_of_patches(code, bounds, counts):
    """The same for small windows, where a counter of one byte or two is enough.

    counts : (m, 256) uint8 or uint16, all zero, filled here
    """
    for k in range(bounds.shape[0]):
        x0, y0, x1, y1 = bounds[k]
        one = counts[k]
        for y in range(y0, y1):
            row = code[y, x0:x1]
            for x in range(row.size):
                one[np.uint64(row[x])] += 1
