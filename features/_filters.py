"""Loops of dense filters: responses of pixels, cells on a lattice, descriptors of patches.

All sums are of whole numbers and exact, so that results do not depend on the processor.
"""

import math

import numpy as np

from visualwords.compiled import njit

# Triangle of half width 4: weights of the rows, or columns, around the middle of a cell.
_TRIANGLE = np.array([1, 2, 3, 4, 3, 2, 1], np.int32)
_REACH = 3  # rows on each side of the middle


@njit()
def filter_rows(padded, basis, out):
    """out[y, u, x] = Σ_t basis[u, t] padded[y, x + t].

    padded : (h, w + 4) uint8      basis : (n, 5) int32      out : (h, n, w) int32
    """
    for y in range(out.shape[0]):
        source = padded[y]
        for u in range(out.shape[1]):
            a, b, c, d, e = basis[u, 0], basis[u, 1], basis[u, 2], basis[u, 3], basis[u, 4]
            row = out[y, u]
            for x in range(np.uint64(row.size)):
                row[x] = (
                    a * np.int32(source[x])
                    + b * np.int32(source[x + np.uint64(1)])
                    + c * np.int32(source[x + np.uint64(2)])
                    + d * np.int32(source[x + np.uint64(3)])
                    + e * np.int32(source[x + np.uint64(4)])
                )


@njit()
def respond(rows, basis, pairs, out):
    """One row of responses: their magnitudes, or what is above 0 and, after all, what is below.

    rows : (5, n, w) int32, five rows of `filter_rows`      pairs : (k, 2) int64 of u, v
    out : (k, w) or (2 k, w) int32, 64 times the responses
    """
    half, bits, zero = np.int32(32), np.int32(6), np.int32(0)
    k = pairs.shape[0]
    for i in range(k):
        u, v = pairs[i]
        a, b, c, d, e = basis[v, 0], basis[v, 1], basis[v, 2], basis[v, 3], basis[v, 4]
        r0, r1, r2, r3, r4 = rows[0, u], rows[1, u], rows[2, u], rows[3, u], rows[4, u]
        row = out[i]
        for x in range(np.uint64(row.size)):
            value = a * r0[x] + b * r1[x] + c * r2[x] + d * r3[x] + e * r4[x]
            row[x] = np.int32(value + half) >> bits
        if out.shape[0] == k:
            for x in range(np.uint64(row.size)):
                row[x] = abs(row[x])
            continue
        below = out[k + i]
        for x in range(np.uint64(row.size)):
            below[x] = max(np.int32(-row[x]), zero)
            row[x] = max(row[x], zero)


@njit()
def sum_rows(ring, y, height, out):
    """out = Σ_i triangle[i] × responses of row y + i − 3, those outside the image being 0.

    ring : (7, maps, w) int32, row r of the image at r mod 7      out : (maps, w) int32
    """
    out[:] = 0
    for i in range(7):
        row = y + i - _REACH
        if 0 <= row < height:
            weight, source = _TRIANGLE[i], ring[row % 7]
            for m in range(out.shape[0]):
                target, values = out[m], source[m]
                for x in range(np.uint64(target.size)):
                    target[x] += weight * values[x]


@njit()
def sum_columns(sums, spacing, line, first, cells):
    """cells[j, first + m] = Σ_i triangle[i] sums[m, 2 + spacing j + i − 3], those outside being 0.

    line : (w + 6,) int32, zeros in its first and last three places      cells : (columns, maps)
    """
    one, two, three = np.int32(1), np.int32(2), np.int32(3)
    for m in range(sums.shape[0]):
        row = sums[m]
        line[_REACH : _REACH + row.size] = row
        for x in range(np.uint64(row.size)):
            row[x] = (
                line[x]
                + line[x + np.uint64(6)]
                + (line[x + np.uint64(1)] + line[x + np.uint64(5)]) * two
                + (line[x + np.uint64(2)] + line[x + np.uint64(4)]) * three
                + line[x + np.uint64(3)] * (three + one)
            )
        for j in range(cells.shape[0]):
            cells[j, first + m] = row[2 + spacing * j]


@njit()
def pool_responses(padded, basis, pairs, spacing, first, stop, cells):
    """Triangle-weighted sums of responses at the points 2 + spacing × (j, i) of a lattice.

    padded : (h + 4, w + 4) uint8, the image with two pixels more on each side
    basis : (n, 5) int32      pairs : (k, 2) int64
    first, stop : the k or 2 k maps of the cells that are filled
    cells : (rows, columns, maps) int32, 64 × 256 times the means: no response is above
    255 × 25 × 0.64² grey levels, so that they fit
    """
    height, width = padded.shape[0] - 4, padded.shape[1] - 4
    maps = stop - first
    filtered = np.empty((height + 4, basis.shape[0], width), np.int32)
    filter_rows(padded, basis, filtered)
    ring = np.zeros((7, maps, width), np.int32)
    sums = np.empty((maps, width), np.int32)
    line = np.zeros(width + 2 * _REACH, np.int32)
    done = 0
    for point in range(cells.shape[0]):
        y = 2 + spacing * point
        for row in range(done, min(height, y + _REACH + 1)):
            respond(filtered[row : row + 5], basis, pairs, ring[row % 7])
        done = max(done, min(height, y + _REACH + 1))
        sum_rows(ring, y, height, sums)
        sum_columns(sums, spacing, line, first, cells[point])


@njit()
def square_lengths(cells):
    """Σ_m cells[y, x, m]² in whole numbers; cells : (rows, columns, maps) int32."""
    found = np.empty(cells.shape[:2], np.int64)
    for y in range(cells.shape[0]):
        for x in range(cells.shape[1]):
            total = np.int64(0)
            for value in cells[y, x]:
                total += np.int64(value) * np.int64(value)
            found[y, x] = total
    return found


@njit()
def describe_patches(cells, stride, step, faint, columns, out):
    """out[k] = 255 √(v / (‖v‖ + faint)) of the 4 × 4 cells v of patch k, rounded.

    cells : (rows, columns, maps) int32 of `pool_responses`, C order
    stride, step : points of the lattice between two cells of a patch, and between two patches
    faint : float64, the length at which contrast begins to count
    columns : patches of a row      out : (n, 16 maps) uint8
    """
    squares, roots = square_lengths(cells), np.sqrt(cells.astype(np.float32))
    maps = cells.shape[2]
    for k in range(out.shape[0]):
        y, x = k // columns * step, k % columns * step
        total = np.int64(0)
        for i in range(4):
            for j in range(4):
                total += squares[y + i * stride, x + j * stride]
        scale = np.float32(255 / math.sqrt(math.sqrt(float(total)) + faint))
        for i in range(4):
            for j in range(4):
                source = roots[y + i * stride, x + j * stride]
                target = out[k, (4 * i + j) * maps : (4 * i + j + 1) * maps]
                for m in range(np.uint64(maps)):
                    target[m] = np.uint8(np.int32(source[m] * scale + np.float32(0.5)))
