"""Loops over pixels and cells of aggregated channel features."""

import numpy as np

from visualwords.compiled import njit


@njit()
def strongest_gradients(red, green, blue, y, gradients):
    """Central differences of row y, of the colour where they are longest.

    red, green, blue : (h, w) uint8; rows beyond the border repeat it
    gradients : (3, w) float32: along x, along y, and length, written; first and last column are 0
    """
    height, width = red.shape
    above, below = max(y - 1, 0), min(y + 1, height - 1)
    r0, r1, r2 = red[above], red[y], red[below]
    g0, g1, g2 = green[above], green[y], green[below]
    b0, b1, b2 = blue[above], blue[y], blue[below]
    along_x, along_y, length = gradients[0], gradients[1], gradients[2]
    gradients[:, 0] = gradients[:, width - 1] = 0
    i16, i32, f32, one = np.int16, np.int32, np.float32, np.uint64(1)
    for x in range(one, np.uint64(max(width - 1, 1))):
        dx, dy = i16(r1[x + one]) - i16(r1[x - one]), i16(r2[x]) - i16(r0[x])
        best = i32(dx) * i32(dx) + i32(dy) * i32(dy)
        gx, gy = i16(g1[x + one]) - i16(g1[x - one]), i16(g2[x]) - i16(g0[x])
        square = i32(gx) * i32(gx) + i32(gy) * i32(gy)
        dx, dy = gx if square > best else dx, gy if square > best else dy
        best = square if square > best else best
        gx, gy = i16(b1[x + one]) - i16(b1[x - one]), i16(b2[x]) - i16(b0[x])
        square = i32(gx) * i32(gx) + i32(gy) * i32(gy)
        dx, dy = gx if square > best else dx, gy if square > best else dy
        best = square if square > best else best
        along_x[x], along_y[x], length[x] = f32(dx), f32(dy), f32(np.sqrt(f32(best)))


@njit()
def sum_gradients(red, green, blue, size, directions, widest, sums):
    """Sum lengths of gradients, and their parts along directions, over cells.

    A gradient of length m at an angle δ to a direction counts m · max(0, |cos δ| − widest) there.

    red, green, blue : (h, w) uint8
    directions : (k, 2) float32, cosine and sine
    sums : (1 + k, h // size, w // size) float32: lengths, then one plane a direction
    """
    _, rows, columns = sums.shape
    width = np.uint64(red.shape[1])
    gradients = np.empty((3, width), np.float32)
    dx, dy, length = gradients[0], gradients[1], gradients[2]
    part = np.empty((sums.shape[0], width), np.float32)
    zero = np.float32(0)
    for i in range(rows):
        part[:] = 0
        for y in range(i * size, (i + 1) * size):
            strongest_gradients(red, green, blue, y, gradients)
            whole = part[0]
            for x in range(width):
                whole[x] += length[x]
            for k in range(directions.shape[0]):
                own, c, s = part[k + 1], directions[k, 0], directions[k, 1]
                for x in range(width):
                    along = abs(dx[x] * c + dy[x] * s) - widest * length[x]
                    own[x] += along if along > zero else zero
        for k in range(sums.shape[0]):
            line, own = sums[k, i], part[k]
            for j in range(columns):
                total = zero
                for x in range(j * size, (j + 1) * size):
                    total += own[x]
                line[j] = total


@njit()
def smooth(plane, out):
    """out = plane filtered by [1 2 1] / 4 along both axes, borders repeated; (rows, columns)."""
    rows, columns = plane.shape
    quarter = np.float32(0.25)
    line = np.empty(columns, np.float32)
    for i in range(rows):
        up, middle, down = plane[max(i - 1, 0)], plane[i], plane[min(i + 1, rows - 1)]
        for j in range(columns):
            line[j] = (up[j] + middle[j] + middle[j] + down[j]) * quarter
        for j in range(columns):
            left, right = line[max(j - 1, 0)], line[min(j + 1, columns - 1)]
            out[i, j] = (left + line[j] + line[j] + right) * quarter


@njit()
def normalize_and_quantize(sums, epsilon, steps, cells):
    """Divide by the local mean length and write smoothed levels.

    sums : (1 + k, rows, columns) float32; overwritten
    steps : (1 + k,) float32, levels of a unit
    cells : (rows, columns, c) uint8; the last 1 + k channels are written
    """
    n, rows, columns = sums.shape
    local, smoothed = np.empty((rows, columns), np.float32), np.empty((rows, columns), np.float32)
    smooth(sums[0], local)
    first = cells.shape[2] - n
    half, top = np.float32(0.5), np.float32(255)
    for i in range(rows):
        for j in range(columns):
            local[i, j] = np.float32(1) / (local[i, j] + epsilon)
    for k in range(n):
        plane = sums[k]
        for i in range(rows):
            for j in range(columns):
                plane[i, j] *= local[i, j] * steps[k]
        smooth(plane, smoothed)
        for i in range(rows):
            for j in range(columns):
                cells[i, j, first + k] = np.uint8(min(smoothed[i, j] + half, top))
