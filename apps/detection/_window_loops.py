"""Loops of the detector: cells of channel features; trees, counts and look-ups of windows."""

import numpy as np

from visualwords.compiled import njit

SIDE = 4  # pixels of a side of a cell of channel features
ROWS, COLUMNS = 22, 16  # inner pixels of a census super-block, which have codes
STEP_Y, STEP_X = 12, 9  # from one super-block to the next


# Cells


@njit()
def smooth_row(pixels, y, width, sums, planes):
    """planes = row y filtered by [1 2 1] / 4 along both axes, rounded; borders are repeated.

    pixels : (h, 3 × at least width) uint8, rows of red, green, blue
    sums : (3 × width,) uint16, for use here; the smoothed row afterwards
    planes : (3, width) uint8
    """
    u16, three = np.uint16, np.uint64(3)
    n = np.uint64(3 * width)
    above, middle = pixels[max(y - 1, 0)], pixels[y]
    below = pixels[min(y + 1, pixels.shape[0] - 1)]
    wide = np.empty(3 * width + 6, np.uint16)  # a pixel more on each side
    for k in range(n):
        wide[k + three] = u16(u16(above[k]) + u16(middle[k]) + u16(middle[k]) + u16(below[k]))
    for k in range(three):
        wide[k], wide[n + three + k] = wide[k + three], wide[n + k]
    for k in range(n):
        both = u16(wide[k + three] + wide[k + three])  # numba adds in 64 bits where not told so
        sums[k] = u16(u16(wide[k] + both + wide[k + three + three] + u16(8)) >> u16(4))
    red, green, blue = planes[0], planes[1], planes[2]
    for x in range(np.uint64(width)):
        first = three * x
        red[x] = np.uint8(sums[first])
        green[x] = np.uint8(sums[first + np.uint64(1)])
        blue[x] = np.uint8(sums[first + np.uint64(2)])


@njit()
def strongest_gradients(above, middle, below, gradients):
    """Central differences of a row, of the colour where they are longest.

    above, middle, below : (3, w) uint8, red, green and blue of three rows
    gradients : (3, w) float32: along x, along y, and length, written; first and last column are 0
    """
    i16, f32, one = np.int16, np.float32, np.uint64(1)
    along_x, along_y, length = gradients[0], gradients[1], gradients[2]
    gradients[:] = 0
    for c in range(3):
        up, row, down = above[c], middle[c], below[c]
        for x in range(one, np.uint64(max(row.size - 1, 1))):
            dx = f32(i16(i16(row[x + one]) - i16(row[x - one])))
            dy = f32(i16(i16(down[x]) - i16(up[x])))
            square, best = dx * dx + dy * dy, length[x]
            along_x[x] = dx if square > best else along_x[x]
            along_y[x] = dy if square > best else along_y[x]
            length[x] = square if square > best else best
    for x in range(np.uint64(length.size)):
        length[x] = np.sqrt(length[x])


@njit()
def add_parts(gradients, cosines, sines, widest, parts):
    """Add lengths of gradients, and what exceeds ``widest`` of them along directions.

    gradients : (3, w) float32, as of `strongest_gradients`
    cosines, sines : (n / 2,) float32, of k 180°/n; the directions k and n - k mirror each other
    parts : (1 + n, w) float32: lengths, then the directions 0, …, n - 1
    """
    dx, dy, length = gradients[0], gradients[1], gradients[2]
    half, zero, width = cosines.size, np.float32(0), np.uint64(length.size)
    whole, flat, upright = parts[0], parts[1], parts[1 + half]
    for x in range(width):
        least = widest * length[x]
        whole[x] += length[x]
        flat[x] += max(abs(dx[x]) - least, zero)
        upright[x] += max(abs(dy[x]) - least, zero)
    for k in range(1, half):
        own, mirrored, c, s = parts[1 + k], parts[1 + 2 * half - k], cosines[k], sines[k]
        for x in range(width):
            least, a, b = widest * length[x], dx[x] * c, dy[x] * s
            own[x] += max(abs(a + b) - least, zero)
            mirrored[x] += max(abs(b - a) - least, zero)


@njit()
def sum_cells(pixels, cosines, sines, widest, means, sums):
    """Smooth an image; of each cell, average the colours and sum gradients.

    A gradient of length m at an angle δ to a direction counts m · max(0, |cos δ| − widest) there.

    pixels : (h, 3 w) uint8, rows of red, green, blue; only those of whole cells are looked at
    cosines, sines : as of `add_parts`
    means : (rows, columns, 3) uint8, rounded half to even
    sums : (1 + n, rows, columns) float32: lengths, then one plane a direction
    """
    n_parts, rows, columns = sums.shape
    height, width, side = rows * SIDE, columns * SIDE, np.uint64(SIDE)
    pixels = pixels[:height]
    ring, smoothed = np.empty((3, 3, width), np.uint8), np.empty(3 * width, np.uint16)
    totals = np.empty(3 * width, np.uint16)
    gradients = np.empty((3, width), np.float32)
    parts = np.empty((n_parts, width), np.float32)
    smooth_row(pixels, 0, width, smoothed, ring[0])
    for i in range(rows):
        parts[:] = 0
        totals[:] = 0
        for y in range(i * SIDE, (i + 1) * SIDE):
            for k in range(np.uint64(smoothed.size)):
                totals[k] = np.uint16(totals[k] + smoothed[k])
            if y + 1 < height:
                smooth_row(pixels, y + 1, width, smoothed, ring[(y + 1) % 3])
            above, below = ring[max(y - 1, 0) % 3], ring[min(y + 1, height - 1) % 3]
            strongest_gradients(above, ring[y % 3], below, gradients)
            add_parts(gradients, cosines, sines, widest, parts)
        average_row(totals, means[i])
        for k in range(n_parts):
            line, own = sums[k, i], parts[k]
            for j in range(np.uint64(columns)):
                total = np.float32(0)
                for x in range(side):
                    total += own[j * side + x]
                line[j] = total


@njit()
def average_row(totals, means):
    """Means of cells from sums of their columns, rounded half to even.

    totals : (3 × SIDE × columns,) uint16      means : (columns, 3) uint8
    """
    u, side = np.uint64, np.uint64(SIDE)
    share, whole = np.float32(1 / SIDE**2), np.float32(1 << 23)
    for j in range(u(means.shape[0])):
        for c in range(u(3)):
            total = np.uint32(0)
            for x in range(side):
                total += np.uint32(totals[u(3) * (j * side + x) + c])
            # floats as large as ``whole`` have no fraction: adding it rounds
            means[j, c] = np.uint8((np.float32(total) * share + whole) - whole)


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
def fill_cells(colours, sums, epsilon, steps, cells):
    """Copy colours; divide sums by the local mean length and write smoothed levels.

    colours : (rows, columns, c − 1 − k) uint8
    sums : (1 + k, rows, columns) float32; overwritten
    steps : (1 + k,) float32, levels of a unit
    cells : (rows, columns, c) uint8
    """
    n, rows, columns = sums.shape
    local, smoothed = np.empty((rows, columns), np.float32), np.empty((rows, columns), np.float32)
    smooth(sums[0], local)
    first = cells.shape[2] - n
    for i in range(rows):
        for j in range(columns):
            local[i, j] = np.float32(1) / (local[i, j] + epsilon)
            for c in range(first):
                cells[i, j, c] = colours[i, j, c]
    half, top = np.float32(0.5), np.float32(255)
    for k in range(n):
        plane = sums[k]
        for i in range(rows):
            for j in range(columns):
                plane[i, j] *= local[i, j] * steps[k]
        smooth(plane, smoothed)
        for i in range(rows):
            for j in range(columns):
                cells[i, j, first + k] = np.uint8(min(smoothed[i, j] + half, top))


# Windows


@njit()
def sum_trees(cells, starts, offsets, values, leaves, least, scores):
    """scores[n] = Σ over trees of the leaf that the window at starts[n] reaches.

    After every so many trees the sum is compared with the next of the thresholds ``least``; where
    it is lower, the window is rejected with a score of −∞.

    cells : (n_cells × channels,) uint8      starts : (m,) int64, of windows in it
    offsets : (t, 2^depth − 1) int64, from a window's start to the bytes that a tree's nodes
    compare, the children of node k being 2k + 1 and 2k + 2
    values : like offsets, uint8, highest of the left side      leaves : (t, 2^depth) float32
    least : (k,) float32, k equal parts of the trees, the last one may be shorter
    """
    u = np.uint64
    n_trees, n_nodes = u(offsets.shape[0]), u(offsets.shape[1])
    step = -(-offsets.shape[0] // least.size)
    for n in range(starts.size):
        start, total = u(starts[n]), np.float32(0)
        scores[n] = -np.inf
        for part in range(least.size):
            for t in range(u(part * step), min(u((part + 1) * step), n_trees)):
                k = u(0)
                while k < n_nodes:
                    k = k + k + u(1) + u(cells[start + u(offsets[t, k])] > values[t, k])
                total += leaves[t, k - n_nodes]
            if total < least[part]:
                break
        else:
            scores[n] = total


@njit()
def partial_sums(rows, features, values, leaves, sums):
    """sums[n, k] = row n's sum of the first k + 1 parts of the trees, as `sum_trees` has them."""
    step = -(-features.shape[0] // sums.shape[1])
    for n in range(rows.shape[0]):
        row, total = rows[n], np.float32(0)
        for t in range(features.shape[0]):
            k = np.int64(0)
            while k < features.shape[1]:
                k = 2 * k + 1 + np.int64(row[features[t, k]] > values[t, k])
            total += leaves[t, k - features.shape[1]]
            sums[n, t // step :] = total


@njit()
def count_codes(codes, rows, columns, n_down, n_across, vectors):
    """vectors[n, s, c] = count of code c in super-block s of the census window at rows, columns.

    Code (y, x) is that of pixel (y + 1, x + 1).

    codes : (h, w) uint8      vectors : (m, n_down × n_across, 256) uint16
    """
    one = np.uint16(1)
    for n in range(rows.size):
        for s in range(n_down * n_across):
            top, left = rows[n] + s // n_across * STEP_Y, columns[n] + s % n_across * STEP_X
            counts = vectors[n, s]
            counts[:] = 0
            for y in range(top, top + ROWS):
                for x in range(left, left + COLUMNS):
                    counts[codes[y, x]] += one


@njit()
def look_up(rows, starts, cells, scores):
    """scores[n] = Σ_k cells[starts[k] + rows[n, k]], the last of a column's cells if it has fewer.

    rows : (n, d) unsigned, d even      starts : (d + 1,) int64      cells : (starts[d],) float32
    """
    for n in range(rows.shape[0]):
        even, odd = np.float32(0), np.float32(0)  # two sums, so that additions needn't wait
        for k in range(0, rows.shape[1], 2):
            even += cells[min(starts[k] + np.int64(rows[n, k]), starts[k + 1] - 1)]
            odd += cells[min(starts[k + 1] + np.int64(rows[n, k + 1]), starts[k + 2] - 1)]
        scores[n] = even + odd
