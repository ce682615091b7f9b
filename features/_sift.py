"""Loops of dense SIFT: votes of pixels, cells on a lattice, descriptors of patches.

Cells are sums of votes under a two-dimensional triangle. A triangle of half width b is the second
difference, with stride b, of the votes summed up twice: T(c) = E(c + b) − 2 E(c) + E(c − b), where
E(c) = Σ_{j<c} Σ_{i≤j} v(i). Whatever b is, a pixel costs two additions an axis. Votes are integers,
so sums are exact, may wrap around, and are 0 where the image is flat.
"""

import math

import numpy as np

from visualwords.compiled import njit


@njit()
def vote(image, low, first, second):
    """Each pixel's gradient as votes for the directions ``low`` and ``low + 1`` (mod 8).

    image : (h, w) uint8      low : (h, w) uint8      first, second : (h, w) uint32
    Votes are the magnitude in 1/1024 grey level a pixel, shared linearly by angle. Pixels of the
    border have no gradient; the arrays are zero there and stay so.
    """
    for y in range(1, image.shape[0] - 1):
        vote_row(image[y - 1], image[y], image[y + 1], low[y], first[y], second[y])


@njit()
def vote_row(above, row, below, low, first, second):
    """One row of votes; angles in units of 45°, counter-clockwise from the right."""
    f, i32 = np.float32, np.int32
    for x in range(1, row.size - 1):
        dx = f(i32(row[x + 1]) - i32(row[x - 1]))
        dy = f(i32(above[x]) - i32(below[x]))
        ax, ay = abs(dx), abs(dy)
        r = min(ax, ay) / max(ax, ay, f(1))
        s = r * r
        # arctan(r) / 45° to 2.3e-6: least squares on 400 Chebyshev nodes of [0, 1]
        a = s * (f(-0.1485248) + s * (f(0.067257) + s * f(-0.0149867)))
        a = r * (f(1.2732139) + s * (f(-0.4235501) + s * (f(0.2465887) + a)))
        a = f(2) - a if ay > ax else a
        a = f(4) - a if dx < f(0) else a
        a = f(8) - a if dy < f(0) else a
        m = math.sqrt(dx * dx + dy * dy) * f(512)
        k = i32(a)
        upper = i32(m * (a - f(k)) + f(0.5))
        low[x] = np.uint8(k)
        first[x] = np.uint32(i32(m + f(0.5)) - upper)
        second[x] = np.uint32(upper)


@njit()
def pool_cells(low, first, second, plans, norms, extent, cells):
    """Triangle-weighted means of votes, 8 directions at each lattice point of every scale.

    plans : (n, 8) int64, for each scale b, g, x0, y0, ny, per, shift, offset: half width, lattice
    spacing (divides b), first lattice point, rows of points, points of a row that are b apart;
    ``cells[offset:]`` is filled row by row with b/g × per × 8 values × norms[scale], points b
    apart side by side, the last two of each run meaningless. Sums lose ``shift`` bits on the way.
    extent : rows of the ring, first and last row, width of padded rows, most points of a row
    """
    h, w = low.shape
    height, first_y, last_y, padded, points = extent
    ring = np.zeros((height, 8 * w), np.int32)  # E of the last rows
    total = np.zeros(8 * w, np.int32)
    padded_rows = np.zeros((plans.shape[0], 8 * padded), np.int32)
    sums = np.zeros(8 * points, np.int32)
    for y in range(first_y, last_y + 1):
        for s in range(plans.shape[0]):
            b, g, x0, y0, ny, per, shift, offset = plans[s]
            p, rest = divmod(y - b - y0, g)
            if rest == 0 and 0 <= p < ny:
                left = 8 * max(0, x0 - b)
                row = padded_rows[s, 8 * max(0, b - x0) :][: 8 * w - left]
                subtract_twice(
                    ring[y % height, left:],
                    ring[(y - b) % height, left:],
                    ring[(y - 2 * b) % height, left:],
                    shift,
                    row,
                )
                n = 8 * (b // g) * per
                sum_twice(padded_rows[s], g, b // g, per, sums)
                subtract_sums(sums[:n], norms[s], cells[offset + n * p :][: n - 16])
        if 0 <= y < h:
            add_votes(low[y], first[y], second[y], total)
        add_rows(ring[y % height], total, ring[(y + 1) % height])


@njit()
def add_votes(low, first, second, total):
    """total[x, low] += first and total[x, low + 1] += second."""
    for x in range(np.uint64(low.size)):
        k = np.uint64(low[x])
        i = x * np.uint64(8)
        total[i + k] += np.int32(first[x])
        total[i + ((k + np.uint64(1)) & np.uint64(7))] += np.int32(second[x])


@njit()
def add_rows(a, b, out):
    """out = a + b."""
    for i in range(np.uint64(out.size)):
        out[i] = np.int32(a[i] + b[i])


@njit()
def subtract_twice(a, b, c, shift, out):
    """out = (a − 2 b + c) >> shift, in 32 bits."""
    for i in range(np.uint64(out.size)):
        out[i] = np.int32(a[i] - np.int32(2) * b[i] + c[i]) >> shift


@njit()
def subtract_sums(sums, norm, out):
    """out = norm × second difference of neighbouring points, in 32 bits until it is a float."""
    for i in range(np.uint64(out.size)):
        before, here, after = sums[i], sums[i + np.uint64(8)], sums[i + np.uint64(16)]
        out[i] = np.float32(np.int32(before - np.int32(2) * here + after)) * norm


@njit()
def sum_twice(row, g, runs, per, sums):
    """E(r g) of a row of 8 directions, for r < runs × per, at place (r mod runs) per + r / runs.

    Four directions at a time, so that all of them stay in registers.
    """
    i32, one, two, three = np.int32, np.uint64(1), np.uint64(2), np.uint64(3)
    for half in range(2):
        p0 = p1 = p2 = p3 = e0 = e1 = e2 = e3 = i32(0)
        i = np.uint64(4 * half)
        for q in range(per):
            for run in range(runs):
                k = np.uint64(8 * (run * per + q) + 4 * half)
                sums[k], sums[k + one], sums[k + two], sums[k + three] = e0, e1, e2, e3
                for _ in range(g):
                    p0, p1 = i32(p0 + row[i]), i32(p1 + row[i + one])
                    p2, p3 = i32(p2 + row[i + two]), i32(p3 + row[i + three])
                    e0, e1, e2, e3 = i32(e0 + p0), i32(e1 + p1), i32(e2 + p2), i32(e3 + p3)
                    i += np.uint64(8)


@njit(fastmath={"reassoc", "nsz"})
def square_norms(cells):
    """‖cell‖² of every cell; cells : (rows, 8 × columns) float32."""
    norms = np.empty((cells.shape[0], cells.shape[1] // 8), np.float32)
    for y in range(norms.shape[0]):
        row = cells[y]
        for x in range(norms.shape[1]):
            total = np.float32(0)
            for o in range(8):
                total += row[8 * x + o] * row[8 * x + o]
            norms[y, x] = total
    return norms


@njit(fastmath={"reassoc", "nsz"})
def scale_patch(norms, weights, y, stride, x, threshold):
    """1 / length of the weighted 4 × 4 cells of a patch, or 0 where it is not above a threshold."""
    square = np.float32(0)
    for i in range(4):
        row = norms[y + i * stride, x : x + 4]
        for j in range(4):
            weight = weights[32 * i + 8 * j]
            square += weight * weight * row[j]
    return np.float32(1) / math.sqrt(square) if square > threshold * threshold else np.float32(0)


@njit(fastmath={"reassoc", "nsz"})
def cut_patch(cells, weights, y, stride, x, scale, root, patch):
    """Fill ``patch`` with the scaled cells, cut at 0.2; return what brings them to length 1.

    With ``root``, what brings them to sum 1.
    """
    total = squares = np.float32(0)
    for i in range(4):
        source = cells[y + i * stride, 8 * x : 8 * x + 32]
        weight = weights[32 * i : 32 * i + 32]
        part = patch[32 * i : 32 * i + 32]
        for k in range(32):
            value = min(source[k] * weight[k] * scale, np.float32(0.2))
            part[k] = value
            total += value
            squares += value * value
    if total <= 0:
        return np.float32(0)
    return np.float32(1) / (total if root else math.sqrt(squares))


@njit(fastmath={"reassoc", "nsz"})
def describe_as_bytes(cells, weights, stride, step, columns, threshold, root, out):
    """Descriptors of all patches × 512, at most 255, row by row.

    cells : (rows, 8 × columns) float32 of pool_cells      weights : (128,) float32
    stride, step : rows of cells between the patch's cells, and between patches
    columns : (nx,) int64, column of each patch's first cell      out : (n, 128) uint8
    """
    norms = square_norms(cells)
    patches = np.empty((columns.size, 128), np.float32)
    for i in range(out.shape[0] // columns.size):
        for j in range(columns.size):
            y, x = i * step, columns[j]
            patch, row = patches[j], out[i * columns.size + j]
            scale = scale_patch(norms, weights, y, stride, x, threshold)
            scale = cut_patch(cells, weights, y, stride, x, scale, root, patch)
            if root:
                for k in range(128):
                    patch[k] = math.sqrt(patch[k] * scale)
                scale = np.float32(1)
            scale *= np.float32(512)
            for k in range(128):
                value = patch[k] * scale + np.float32(0.5)
                row[k] = np.uint8(np.int32(min(value, np.float32(255))))


@njit(fastmath={"reassoc", "nsz"})
def describe_as_floats(cells, weights, stride, step, columns, threshold, root, out):
    """The same descriptors, of length 1; out : (n, 128) float32."""
    norms = square_norms(cells)
    for i in range(out.shape[0] // columns.size):
        for j in range(columns.size):
            y, x = i * step, columns[j]
            patch = out[i * columns.size + j]
            scale = scale_patch(norms, weights, y, stride, x, threshold)
            scale = cut_patch(cells, weights, y, stride, x, scale, root, patch)
            for k in range(128):
                patch[k] = math.sqrt(patch[k] * scale) if root else patch[k] * scale
