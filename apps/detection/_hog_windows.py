"""Loops over HOG blocks: levels, windows one by one, and all windows of an image at once."""

import numpy as np

from visualwords.compiled import njit


@njit()
def quantize_blocks(blocks, steps, highest, levels):
    """levels = min(⌊blocks × steps + 1/2⌋, highest); flat arrays, float32 to uint8."""
    half, steps, top = np.float32(0.5), np.float32(steps), np.float32(highest)
    for i in range(blocks.size):
        levels[i] = np.uint8(min(blocks[i] * steps + half, top))


@njit()
def copy_windows(levels, rows, columns, n_rows, length, vectors):
    """vectors[n] = the n_rows pieces of ``length`` levels that begin at rows[n], columns[n].

    levels : (ny, nx, 36) uint8      vectors : (m, n_rows × length) uint8
    """
    for n in range(rows.size):
        for r in range(n_rows):
            line = levels[rows[n] + r].reshape(-1)
            start = columns[n] * levels.shape[2]
            vectors[n, r * length : (r + 1) * length] = line[start : start + length]


@njit()
def look_up_windows(levels, rows, columns, tables, scores):
    """scores[n] = Σ_r Σ_k tables[r, k, level k of row r of window n].

    One row of blocks after the other, so that its tables stay in the cache.

    levels : (ny, nx, 36) uint8      tables : (block rows, 36 × block columns, n_levels) float32
    """
    u = np.uint64
    n_rows, length, _ = tables.shape
    scores[:] = 0
    for r in range(n_rows):
        table = tables[r]
        for n in range(rows.size):
            even, odd = np.float32(0), np.float32(0)  # two sums, so that additions needn't wait
            start = columns[n] * levels.shape[2]
            line = levels[rows[n] + r].reshape(-1)[start : start + length]
            for k in range(u(0), u(length), u(2)):
                even += table[k, u(line[k])]
                odd += table[k + u(1), u(line[k + u(1)])]
            scores[n] += even + odd


@njit()
def look_up_everywhere(levels, tables, n_rows, lanes, sums):
    """Add what each block means to all windows that have it.

    A block's 36 look-ups give vectors with one number for every place that it may have in a
    window; those of one row of places go to neighbouring windows.

    levels : (ny, nx, 36) uint8
    tables : (36, n_levels, n_rows × lanes) float32; in a row of lanes the last column of blocks
        of a window comes first
    sums : (ny + n_rows - 1, nx + lanes - 1) float32, from zero; entry (i + n_rows - 1, j + c) is
        the window that begins at block (i, j - last + c)
    """
    u = np.uint64
    part = np.empty(tables.shape[2], np.float32)
    for i in range(levels.shape[0]):
        for j in range(levels.shape[1]):
            block = levels[i, j]
            part[:] = 0
            for k in range(u(0), u(block.size), u(4)):
                t0, t1 = tables[k, block[k]], tables[k + u(1), block[k + u(1)]]
                t2, t3 = tables[k + u(2), block[k + u(2)]], tables[k + u(3), block[k + u(3)]]
                for q in range(part.size):
                    part[q] += (t0[q] + t1[q]) + (t2[q] + t3[q])
            for r in range(n_rows):
                line = sums[i + n_rows - 1 - r, j : j + lanes]
                for c in range(lanes):
                    line[c] += part[r * lanes + c]


@njit()
def add_shifted(planes, shifts, scores):
    """scores[p] = Σ_q planes[q, p + shifts[q]] for every p where all of them exist.

    planes : (places, n) float32, places row by row      scores : (n,) float32, from zero
    """
    count = scores.size - shifts[-1]
    for q in range(planes.shape[0]):
        plane = planes[q, shifts[q] : shifts[q] + count]
        for p in range(count):
            scores[p] += plane[p]
