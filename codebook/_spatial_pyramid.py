"""Counting words in the windows of a pyramid: one increment a patch, then sums of cells."""

import math

import numpy as np

from visualwords.compiled import njit


@njit()
def cells_of(positions, x_edges, y_edges):
    """Number of each position's cell, row after row; positions outside go to the nearest cell.

    positions : (n, 2) float32, x and y      x_edges, y_edges : inner edges, float32, ascending
    returns (n,) int32
    """
    n = positions.shape[0]
    columns = np.int32(x_edges.size + 1)
    cells = np.zeros(n, np.int32)
    for edge in y_edges:
        for i in range(n):
            cells[i] += columns if positions[i, 1] >= edge else np.int32(0)
    for edge in x_edges:
        for i in range(n):
            cells[i] += np.int32(1) if positions[i, 0] >= edge else np.int32(0)
    return cells


@njit()
def count_words(words, cells, offsets, starts, members, n_cells, n_words):
    """counts[i, w, k] = number of image i's patches of word k in window w.

    words, cells : (n,) int32                offsets : (n_images + 1,) int64
    starts, members : cells of window w are members[starts[w] : starts[w + 1]]
    returns (n_images, n_windows, n_words) int32
    """
    n_windows = starts.size - 1
    counts = np.zeros((offsets.size - 1, n_windows, n_words), np.int32)
    by_cell = np.empty((n_cells, n_words), np.int32)
    for i in range(offsets.size - 1):
        by_cell[:] = 0
        for p in range(offsets[i], offsets[i + 1]):
            by_cell[np.uint32(cells[p]), np.uint32(words[p])] += 1
        for w in range(n_windows):
            window = counts[i, w]
            for m in range(starts[w], starts[w + 1]):
                cell = by_cell[members[m]]
                for k in range(n_words):
                    window[k] += cell[k]
    return counts


@njit(fastmath=True)
def signed_roots(values):
    """values = sign(values) sqrt(|values|), in place.

    values : (n,) float32 or float64
    """
    for i in range(values.size):
        values[i] = math.copysign(math.sqrt(abs(values[i])), values[i])
