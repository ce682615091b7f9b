"""Loops over census codes: windows one by one, and all windows of an image at once.

Code (y, x) is that of pixel (y + 1, x + 1): the inner pixels of a super-block that begins at pixel
(y, x) have the codes of rows y…y + 21 and columns x…x + 15.
"""

import numpy as np

from visualwords.compiled import njit

ROWS, COLUMNS = 22, 16  # codes of a super-block
STEP_Y, STEP_X = 12, 9  # from one super-block to the next
LATTICE = 4  # super-blocks of all windows begin at multiples of this in y
LANES = 8  # super-blocks below each other are scored together; a constant, for vector instructions


@njit()
def count_box(codes, y, x, counts):
    """counts[c] = number of codes c in the 22 × 16 codes from (y, x); two arrays take turns."""
    u, byte, one = np.uint64, np.uint64(255), np.uint16(1)
    counts[:] = 0
    for r in range(ROWS):
        words = codes[y + r, x : x + COLUMNS].view(np.uint64)
        for w in words:
            for s in range(u(0), u(64), u(16)):
                counts[0, (w >> s) & byte] += one
                counts[1, (w >> (s + u(8))) & byte] += one


@njit()
def count_windows(codes, rows, columns, n_down, n_across, vectors):
    """vectors[n, s, c] = count of code c in super-block s of the census window at rows, columns.

    vectors : (m, n_down × n_across, 256) uint16
    """
    counts = np.empty((2, 256), np.uint16)
    for n in range(rows.size):
        for s in range(n_down * n_across):
            y = rows[n] + s // n_across * STEP_Y
            count_box(codes, y, columns[n] + s % n_across * STEP_X, counts)
            for c in range(256):
                vectors[n, s, c] = counts[0, c] + counts[1, c]


@njit()
def look_up_windows(codes, rows, columns, starts, tops, cells, n_across, scores):
    """scores[n] = Σ_s Σ_c cells[starts[s, c] + min(count, tops[s, c])].

    starts, tops : (super-blocks, 256) first cell and highest level of a column's table
    """
    u = np.uint64
    counts = np.empty((2, 256), np.uint16)
    for n in range(rows.size):
        total = np.float32(0)
        for s in range(starts.shape[0]):
            y = rows[n] + s // n_across * STEP_Y
            count_box(codes, y, columns[n] + s % n_across * STEP_X, counts)
            even, odd = np.float32(0), np.float32(0)
            start, top = starts[s], tops[s]
            for c in range(u(0), u(256), u(2)):
                d = c + u(1)
                even += cells[u(start[c]) + u(min(top[c], counts[0, c] + counts[1, c]))]
                odd += cells[u(start[d]) + u(min(top[d], counts[0, d] + counts[1, d]))]
            total += even + odd
        scores[n] = total


@njit()
def sum_cells(codes, top, left, n_columns, skip, weights, sums):
    """sums[u, b] = Σ weights[code] over rows top + 2u, + 1 and 16 columns from left + 4 skip b.

    weights : (256, 8) float32      sums : (pairs of rows, n_columns, 8) float32
    """
    u8, byte = np.uint64, np.uint64(255)
    n_cells = (n_columns - 1) * skip + COLUMNS // LATTICE
    cells = np.empty((n_cells, LANES), np.float32)
    for u in range(sums.shape[0]):
        above = codes[top + 2 * u, left : left + 4 * n_cells].view(np.uint32)
        below = codes[top + 2 * u + 1, left : left + 4 * n_cells].view(np.uint32)
        for v in range(n_cells):
            a, b = u8(above[v]), u8(below[v])
            w0, w1 = weights[a & byte], weights[(a >> u8(8)) & byte]
            w2, w3 = weights[(a >> u8(16)) & byte], weights[a >> u8(24)]
            w4, w5 = weights[b & byte], weights[(b >> u8(8)) & byte]
            w6, w7 = weights[(b >> u8(16)) & byte], weights[b >> u8(24)]
            cell = cells[v]
            for k in range(LANES):
                cell[k] = ((w0[k] + w1[k]) + (w2[k] + w3[k])) + ((w4[k] + w5[k]) + (w6[k] + w7[k]))
        for b in range(n_columns):
            v, out = b * skip, sums[u, b]
            for k in range(LANES):
                out[k] = (cells[v, k] + cells[v + 1, k]) + (cells[v + 2, k] + cells[v + 3, k])


@njit()
def sum_boxes(pairs, boxes):
    """boxes[m] = pairs[2m] + … + pairs[2m + 10]: 22 rows of codes from row 4m.

    pairs : (u, n_columns, lanes)      boxes : (m, n_columns, lanes), float32
    """
    first = boxes[0].reshape(-1)
    first[:] = 0
    for t in range(11):
        line = pairs[t].reshape(-1)
        for k in range(first.size):
            first[k] += line[k]
    for m in range(1, boxes.shape[0]):
        before, out = boxes[m - 1].reshape(-1), boxes[m].reshape(-1)
        old, gone = pairs[2 * m - 2].reshape(-1), pairs[2 * m - 1].reshape(-1)
        new, last = pairs[2 * m + 9].reshape(-1), pairs[2 * m + 10].reshape(-1)
        for k in range(out.size):
            out[k] = before[k] + ((new[k] + last[k]) - (old[k] + gone[k]))


@njit()
def add_lanes(boxes, n_down, skip, scores):
    """scores[a, b] += Σ_i boxes[a skip + 3 i, b, i]: super-block i of a window is 12 i lower."""
    for a in range(scores.shape[0]):
        line = scores[a]
        for i in range(n_down):
            row = boxes[a * skip + i * (STEP_Y // LATTICE)]
            for b in range(line.size):
                line[b] += row[b, i]


@njit()
def slide_down(codes, top, left, skip, starts, tops, base, steps, boxes):
    """boxes[m, b] = Σ_c table[c, count of code c in the super-block at row 4m, column 4 skip b].

    A box 4 rows lower has 4 new rows and has lost 4: each code that comes or goes changes the sum
    by one step of its table.

    starts, tops : (256,) first step of each code's table, and its last one, which is zero
    steps : (cells, 8) float32; the step from count c to c + 1 is steps[starts[code] + c]
    base : (8,) float32, the sum where all counts are 0      boxes : (m, columns, 8) float32
    """
    counts = np.empty(256, np.int64)
    total = np.empty(LANES, np.float32)
    for b in range(boxes.shape[1]):
        x = left + b * skip * LATTICE
        counts[:] = 0
        total[:] = base
        for y in range(top, top + ROWS - LATTICE):
            change(codes[y, x : x + COLUMNS], True, starts, tops, steps, counts, total)
        for m in range(boxes.shape[0]):
            y = top + m * LATTICE
            for r in range(y + ROWS - LATTICE, y + ROWS):
                change(codes[r, x : x + COLUMNS], True, starts, tops, steps, counts, total)
            boxes[m, b] = total
            for r in range(y, y + LATTICE):
                change(codes[r, x : x + COLUMNS], False, starts, tops, steps, counts, total)


@njit(inline="always")
def change(row, comes, starts, tops, steps, counts, total):
    """Count the codes of a row, or take them away again, with the steps that they take."""
    u = np.uint64
    for x in range(u(0), u(COLUMNS), u(4)):
        s0 = steps[next_step(u(row[x]), comes, starts, tops, counts)]
        s1 = steps[next_step(u(row[x + u(1)]), comes, starts, tops, counts)]
        s2 = steps[next_step(u(row[x + u(2)]), comes, starts, tops, counts)]
        s3 = steps[next_step(u(row[x + u(3)]), comes, starts, tops, counts)]
        for k in range(LANES):
            step = (s0[k] + s1[k]) + (s2[k] + s3[k])
            total[k] += step if comes else -step


@njit(inline="always")
def next_step(code, comes, starts, tops, counts):
    """Count a code up or down; return where its step is."""
    count = counts[code] if comes else counts[code] - 1
    counts[code] = count + 1 if comes else count
    return np.uint64(starts[code] + min(count, tops[code]))
