"""Loops over pixels and cells of aggregated channel features."""

import numpy as np

from visualwords.compiled import njit


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
    width = middle.shape[1]
    r0, r1, r2 = above[0], middle[0], below[0]
    g0, g1, g2 = above[1], middle[1], below[1]
    b0, b1, b2 = above[2], middle[2], below[2]
    along_x, along_y, length = gradients[0], gradients[1], gradients[2]
    gradients[:, 0] = gradients[:, width - 1] = 0
    i16, f32, one = np.int16, np.float32, np.uint64(1)
    for x in range(one, np.uint64(max(width - 1, 1))):
        dx = f32(i16(i16(r1[x + one]) - i16(r1[x - one])))
        dy = f32(i16(i16(r2[x]) - i16(r0[x])))
        best = dx * dx + dy * dy
        gx = f32(i16(i16(g1[x + one]) - i16(g1[x - one])))
        gy = f32(i16(i16(g2[x]) - i16(g0[x])))
        square = gx * gx + gy * gy
        dx, dy = gx if square > best else dx, gy if square > best else dy
        best = square if square > best else best
        gx = f32(i16(i16(b1[x + one]) - i16(b1[x - one])))
        gy = f32(i16(i16(b2[x]) - i16(b0[x])))
        square = gx * gx + gy * gy
        dx, dy = gx if square > best else dx, gy if square > best else dy
        best = square if square > best else best
        along_x[x], along_y[x], length[x] = dx, dy, np.sqrt(best)


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
def sum_cells(pixels, within, cosines, sines, widest, means, sums):
    """Smooth an image; of each cell, average the colours and sum gradients.

    A gradient of length m at an angle δ to a direction counts m · max(0, |cos δ| − widest) there.

    pixels : (h, 3 w) uint8, rows of red, green, blue; only those of whole cells are looked at
    within : (0, 1, …), a tuple as long as a cell's side, so that loops over it are unrolled
    cosines, sines : as of `add_parts`
    means : (rows, columns, 3) uint8, rounded half to even
    sums : (1 + n, rows, columns) float32: lengths, then one plane a direction
    """
    n_parts, rows, columns = sums.shape
    size, wide = len(within), np.uint64(len(within))
    height, width = rows * size, columns * size
    pixels = pixels[:height]
    ring, smoothed = np.empty((3, 3, width), np.uint8), np.empty(3 * width, np.uint16)
    totals = np.empty(3 * width, np.uint16)
    gradients = np.empty((3, width), np.float32)
    parts = np.empty((n_parts, width), np.float32)
    totals[:] = 0
    smooth_row(pixels, 0, width, smoothed, ring[0])
    for i in range(rows):
        parts[:] = 0
        for y in range(i * size, (i + 1) * size):
            for k in range(np.uint64(smoothed.size)):
                totals[k] = np.uint16(totals[k] + smoothed[k])
            if y + 1 < height:
                smooth_row(pixels, y + 1, width, smoothed, ring[(y + 1) % 3])
            above, below = ring[max(y - 1, 0) % 3], ring[min(y + 1, height - 1) % 3]
            strongest_gradients(above, ring[y % 3], below, gradients)
            add_parts(gradients, cosines, sines, widest, parts)
        average_row(totals, within, means[i])
        totals[:] = 0
        for k in range(n_parts):
            line, own = sums[k, i], parts[k]
            for j in range(np.uint64(columns)):
                total = np.float32(0)
                for x in range(wide):
                    total += own[j * wide + x]
                line[j] = total


@njit()
def average_row(totals, within, means):
    """Means of cells from sums of their columns, rounded half to even.

    totals : (3 × size × columns,) uint16      means : (columns, 3) uint8
    """
    u, size = np.uint64, np.uint64(len(within))
    share, whole = np.float32(1 / len(within) ** 2), np.float32(1 << 23)
    for j in range(u(means.shape[0])):
        for c in range(u(3)):
            total = np.uint32(0)
            for x in range(size):
                total += np.uint32(totals[u(3) * (j * size + x) + c])
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
def divide_by_length(sums, local, epsilon, steps):
    """Divide sums of gradients by their mean length around, and count them in levels.

    sums : (n, rows, columns) float32; overwritten      steps : (n,) float32, levels of a unit
    local : (rows, columns) float32, mean lengths; overwritten by what they divide by
    """
    n, rows, columns = sums.shape
    for i in range(rows):
        for j in range(columns):
            local[i, j] = np.float32(1) / (local[i, j] + epsilon)
    for k in range(n):
        plane = sums[k]
        for i in range(rows):
            for j in range(columns):
                plane[i, j] *= local[i, j] * steps[k]


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
            for c in range(first):
                cells[i, j, c] = colours[i, j, c]
    half, top = np.float32(0.5), np.float32(255)
    divide_by_length(sums, local, epsilon, steps)
    for k in range(n):
        smooth(sums[k], smoothed)
        for i in range(rows):
            for j in range(columns):
                cells[i, j, first + k] = np.uint8(min(smoothed[i, j] + half, top))


@njit()
def fill_planes(colours, sums, epsilon, steps, planes):
    """As `fill_cells`, but planes of floats, and the mean length is one of twice as many cells.

    planes : (c, rows, columns) float32
    """
    n, rows, columns = sums.shape
    first = planes.shape[0] - n
    once, local = np.empty((rows, columns), np.float32), np.empty((rows, columns), np.float32)
    smooth(sums[0], once)
    smooth(once, local)
    for c in range(first):
        for i in range(rows):
            for j in range(columns):
                planes[c, i, j] = np.float32(colours[i, j, c])
    divide_by_length(sums, local, epsilon, steps)
    for k in range(n):
        smooth(sums[k], planes[first + k])


@njit()
def fill_levels(left, right, gains, is_slope, levels):
    """Levels of the sum and slope along x of six numbers, from each even place on.

    left, right : (n + 2,) float32, numbers at even and at odd places
    gains : (2,) float32      is_slope : whether the sum may be negative      levels : (2, n) uint8
    """
    u, zero, top = np.uint64, np.float32(0), np.float32(255)
    three, five, middle = np.float32(3), np.float32(5), np.float32(128.5)
    start = middle if is_slope else np.float32(0.5)
    even, odd = levels[0], levels[1]
    for j in range(u(even.size)):
        a, b, d = left[j], right[j], left[j + u(1)]
        e, g, h = right[j + u(1)], left[j + u(2)], right[j + u(2)]
        total = ((a + h) + (b + g)) + (d + e)
        slope = (five * (h - a) + three * (g - b)) + (e - d)
        even[j] = np.uint8(np.int32(min(max(total * gains[0] + start, zero), top)))
        odd[j] = np.uint8(np.int32(min(max(slope * gains[1] + middle, zero), top)))


@njit()
def transform_planes(planes, gains, cells):
    """First cosines of 6 × 6 places around every second one: mean, slopes, and slope of a slope.

    planes : (c, 2 × rows, 2 × columns) float32; borders are repeated
    gains : (4,) float32, levels of a unit of: mean, slope along x, along y, both
    cells : (rows, columns, 4 c) uint8; slopes have the level 128 where there is none
    """
    rows, columns, _ = cells.shape
    n, high, _ = planes.shape
    u, three, five = np.uint64, np.float32(3), np.float32(5)
    sums = np.empty((2, 2, columns + 2), np.float32)  # sum and slope along y; even and odd places
    levels = np.empty((4, columns), np.uint8)
    for c in range(n):
        plane = planes[c]
        for i in range(rows):
            a, b = plane[max(2 * i - 2, 0)], plane[max(2 * i - 1, 0)]
            d, e = plane[2 * i], plane[2 * i + 1]
            g, h = plane[min(2 * i + 2, high - 1)], plane[min(2 * i + 3, high - 1)]
            for side in range(2):
                total, slope = sums[0, side], sums[1, side]
                for j in range(u(columns)):
                    x = j + j + u(side)
                    total[j + u(1)] = ((a[x] + h[x]) + (b[x] + g[x])) + (d[x] + e[x])
                    slope[j + u(1)] = (five * (h[x] - a[x]) + three * (g[x] - b[x])) + (e[x] - d[x])
            for k in range(2):
                sums[k, :, 0], sums[k, :, columns + 1] = sums[k, 0, 1], sums[k, 1, columns]
                fill_levels(sums[k, 0], sums[k, 1], gains[2 * k :], k, levels[2 * k :])
            for j in range(columns):
                for k in range(4):
                    cells[i, j, 4 * c + k] = levels[k, j]
