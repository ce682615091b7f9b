"""Blocks of gradients for extractors and the detector, and their loops: gradients, cells counted or
blocks interpolated, blocks normalised. Needs no scikit-learn.
"""

import math
from functools import lru_cache

import cv2
import numpy as np

from visualwords.compiled import njit


def split_planes(rgb: np.ndarray) -> np.ndarray:
    """The channels of an image (h, w, 3) one after the other, (3, h, w)."""
    return np.stack(cv2.split(rgb))


def interpolated_blocks(planes: np.ndarray, cell: int, size: int, n: int) -> np.ndarray:
    """The normalised blocks of an image.

    Parameters
    ----------
    planes : (channels, h, w) uint8
        Gradients are those of the channel where they are strongest.
    cell, size, n : int
        Pixels of a cell's side, cells of a block's side, and angles.

    Returns
    -------
    (ny, nx, size² × n) float32
        Without rows or columns where the image is smaller than a block.

    Examples
    --------
    >>> interpolated_blocks(np.zeros((1, 24, 16), np.uint8), 8, 2, 9).shape
    (2, 1, 36)
    """
    ny, nx = (max(0, length // cell - size + 1) for length in planes.shape[1:])
    blocks = np.empty((ny, nx, size * size * n), np.float32)
    if blocks.size:
        lengthen = np.array([0.0, 0.1 * blocks.shape[2], 1e-3], np.float32)  # as in OpenCV 4
        weights = _share_cell(cell, size)
        # one slot for every cell of every block that a pixel may count for, also outside
        rows, columns = ((m - 1) // cell * size + weights.shape[1] for m in planes.shape[1:])
        slots = np.zeros((rows, n, columns), np.float32)
        interpolate_blocks(planes, n, size, weights, slots)
        before = (size - 1) * size
        cells = slots[before:, :, before:].transpose(0, 2, 1)
        normalize_blocks(cells, size, size, np.float32(1), lengthen, blocks)
    return blocks


@lru_cache(maxsize=8)
def _share_cell(cell: int, size: int) -> np.ndarray:
    """Weights of a cell's pixels along one axis for all slots that they count for, (cell, lanes).

    Blocks that begin ``size`` - 1 cells before, …, and at this cell have ``size`` slots each, one
    for each of their cells. The weight is linear in the distance to the cell's centre times a
    Gaussian around the block's centre, σ = a quarter of the block, both as in OpenCV. Slots are
    filled up to a multiple of four.
    """
    side = cell * size
    inside = np.arange(side)
    gauss = np.exp(-((inside - side / 2) ** 2) / (2 * (side / 4) ** 2))
    apart = np.abs((inside[:, None] + 0.5) / cell - 0.5 - np.arange(size))
    by_pixel = gauss[:, None] * np.maximum(0, 1 - apart)
    by_block = by_pixel.reshape(size, cell, size)[::-1]  # the block that begins first comes first
    weights = np.zeros((cell, -(-(size**2) // 4) * 4), np.float32)
    weights[:, : size**2] = by_block.transpose(1, 0, 2).reshape(cell, size**2)
    weights.flags.writeable = False
    return weights


# Loops


@njit()
def gradient_row(planes, y, dx, dy, square):
    """Central differences of one row, of the plane where the gradient is strongest.

    planes : (c, h, w) uint8
    dx, dy, square : (w,) float32, to the right, downwards, length²
    Across the border there is no difference.
    """
    channels, height, _ = planes.shape
    inside = 0 < y < height - 1
    for c in range(channels):
        above = planes[c, y - 1 if inside else y]
        below = planes[c, y + 1 if inside else y]
        difference_row(above, planes[c, y], below, c == 0, dx, dy, square)


@njit()
def difference_row(above, row, below, fresh, dx, dy, square):
    """Take the differences of one plane where they are longer, or everywhere if ``fresh``."""
    f, last = np.float32, row.size - 1
    for x in range(1, last):
        right, down = f(row[x + 1]) - f(row[x - 1]), f(below[x]) - f(above[x])
        length = right * right + down * down
        longer = fresh or length > square[x]
        dx[x] = right if longer else dx[x]
        dy[x] = down if longer else dy[x]
        square[x] = length if longer else square[x]
    for x in (0, last):
        down = f(below[x]) - f(above[x])
        if fresh or down * down > square[x]:
            dx[x], dy[x], square[x] = 0, down, down * down


@njit()
def number_angles(dx, dy, cosines, sines, bins):
    """bins[x] = ⌊angle / (180° / n)⌋ of the line along (dx, dy): n − 1 tests of half planes.

    The gradients are turned into the upper half plane in place; cosines, sines : (n,) of k 180°/n
    """
    zero = np.float32(0)
    for x in range(dx.size):
        lower = (dy[x] < zero) | ((dy[x] == zero) & (dx[x] < zero))  # no branches: vectors
        sign = np.float32(-1) if lower else np.float32(1)
        dx[x] *= sign
        dy[x] *= sign
        bins[x] = 0
    for k in range(1, cosines.size):
        c, s = cosines[k], sines[k]
        for x in range(dx.size):
            bins[x] = np.uint8(bins[x] + np.uint8(c * dy[x] >= s * dx[x]))


@njit()
def count_cells(planes, cell_size, cosines, sines, cells):
    """cells[i, j, k] = Σ lengths of the gradients of cell (i, j) with angle k; filled from zero.

    planes : (c, h, w) uint8      cells : (ny, nx, n) float32
    """
    width = planes.shape[2]
    dx = np.empty(width, np.float32)
    dy, square = np.empty_like(dx), np.empty_like(dx)
    bins = np.empty(width, np.uint8)
    ny, nx, n = cells.shape
    for y in range(ny * cell_size):
        gradient_row(planes, y, dx, dy, square)
        number_angles(dx, dy, cosines, sines, bins)
        for x in range(width):
            square[x] = math.sqrt(square[x])
        row = cells[y // cell_size].reshape(-1)
        for j in range(nx):
            start = np.uint64(j * n)
            for i in range(np.uint64(j * cell_size), np.uint64((j + 1) * cell_size)):
                row[start + np.uint64(bins[i])] += square[i]


@njit()
def share_angles(dx, dy, square, n, low, first, second):
    """Share lengths linearly between the angles ``low`` and ``low + 1`` (mod n).

    Angle k has its centre at (k + 1/2) 180°/n. The arc tangent is the polynomial of _sift.py.
    """
    f = np.float32
    for x in range(dx.size):
        ax, ay = abs(dx[x]), abs(dy[x])
        r = min(ax, ay) / max(ax, ay, f(1e-20))
        s = r * r
        a = s * (f(-0.1485248) + s * (f(0.067257) + s * f(-0.0149867)))
        a = r * (f(1.2732139) + s * (f(-0.4235501) + s * (f(0.2465887) + a)))
        a = f(2) - a if ay > ax else a
        a = f(4) - a if dx[x] * dy[x] < f(0) else a
        t = a * (f(n) / f(4)) + f(0.5)
        k = np.int32(t)  # one more than the angle, as it may be the last one of the half turn
        length = math.sqrt(square[x])
        second[x] = length * (t - f(k))
        first[x] = length - second[x]
        low[x] = np.uint8(k - 1 if k > 0 else n - 1)


@njit()
def interpolate_blocks(planes, n, size, weights, blocks):
    """blocks[slot of y, k, slot of x] += weights of row and column × shared lengths; from zero.

    A pixel in cell i counts for the ``size``² slots from i size on: slot b size + c is cell c of
    block b - size + 1, so blocks that begin before the image come first.

    weights : (cell size, lanes) float32, of the slots of each pixel of a cell
    blocks : (slots of rows, n, slots of columns) float32
    """
    width, cell = planes.shape[2], weights.shape[0]
    lines = np.empty((5, width), np.float32)
    dx, dy, square, first, second = lines[0], lines[1], lines[2], lines[3], lines[4]
    low = np.empty(width, np.uint8)
    # slots of neighbouring cells overlap: they get different parts, whose sum counts, as processors
    # wait where a vector overlaps one that was just stored
    parts = np.empty((size, blocks[0].size), np.float32)
    cells = np.arange((width + cell - 1) // cell)
    starts = (cells * size + cells % size * parts.shape[1]).astype(np.uint64)
    sums = parts[0]
    for y in range(planes.shape[1]):
        gradient_row(planes, y, dx, dy, square)
        share_angles(dx, dy, square, n, low, first, second)
        parts[:] = 0
        spread_row(low, first, second, n, starts, weights, parts)
        for part in parts[1:]:
            for i in range(sums.size):
                sums[i] += part[i]
        for t in range(size * size):
            weight, row = weights[y % cell, t], blocks[y // cell * size + t].reshape(-1)
            if weight:
                for i in range(row.size):
                    row[i] += weight * sums[i]


@njit()
def spread_row(low, first, second, n, starts, weights, parts):
    """Add the two shares of each pixel of a row to all slots that it counts for.

    starts : (cells,) first slot of each, in its part      parts : (size, n × slots)
    Pixels of different cells take turns, as additions to the same slots wait for each other.
    """
    u = np.uint64
    cell, lanes = u(weights.shape[0]), u(weights.shape[1])
    flat, sums, n_slots = weights.reshape(-1), parts.reshape(-1), u(parts.shape[1] // n)
    for r in range(cell):
        for k in range((u(low.size) - r + cell - u(1)) // cell):
            x, start = k * cell + r, starts[k]
            lower = u(low[x])
            upper = lower + u(1) if lower + u(1) < u(n) else u(0)
            for t in range(lanes):
                sums[start + lower * n_slots + t] += flat[r * lanes + t] * first[x]
            for t in range(lanes):
                sums[start + upper * n_slots + t] += flat[r * lanes + t] * second[x]


@njit(fastmath={"reassoc", "nsz"})
def normalize_blocks(cells, size, stride, scale, epsilons, blocks):
    """L2-Hys: divide by the length, cut at 0.2, divide by the length again.

    cells : (rows, columns, n) float32, block (i, j) has size × size from (i stride, j stride)
    epsilons : (3,) float32, lengths are √(Σ v² + e0) + e1, then √(Σ v² + e0) + e2
    blocks : (ny, nx, size² n) float32, filled
    """
    e0, e1, e2 = epsilons
    for i in range(blocks.shape[0]):
        for j in range(blocks.shape[1]):
            block, n = blocks[i, j], cells.shape[2]
            for a in range(size):
                for b in range(size):
                    source = cells[i * stride + a, j * stride + b]
                    for k in range(n):
                        block[(a * size + b) * n + k] = source[k] * scale
            total = np.float32(0)
            for k in range(block.size):
                total += block[k] * block[k]
            factor = np.float32(1) / (math.sqrt(total + e0) + e1)
            total = np.float32(0)
            for k in range(block.size):
                block[k] = min(block[k] * factor, np.float32(0.2))
                total += block[k] * block[k]
            factor = np.float32(1) / (math.sqrt(total + e0) + e2)
            for k in range(block.size):
                block[k] *= factor
