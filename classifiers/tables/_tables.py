"""Loops over the tables T of additive models: cells of rows, sums of look-ups, and building.

The tables of all outputs lie in one array ``values`` (cells, n_outputs). Feature j owns the rows
``offsets[j] … offsets[j + 1] - 1``, one for each numbered level up to its highest in training.
"""

import numpy as np

from visualwords.compiled import njit


@njit()
def mark(levels, present):
    """present[k] = True for all levels k that occur."""
    for k in range(np.uint64(levels.size)):
        present[levels[k]] = True


@njit()
def hash_rows(x, factors, out):
    """out[i] = sum_j x[i, j] factors[j] modulo 2**64; factors are odd random numbers."""
    for i in range(x.shape[0]):
        total = np.uint64(0)
        for j in range(np.uint64(x.shape[1])):
            total += np.uint64(x[i, j]) * factors[j]
        out[i] = total


@njit()
def list_cells(levels, rows, first, last, layout, starts, cells):
    """List the cells of some rows at levels above 0, features first … last - 1.

    levels : (n, d) unsigned      starts : (rows + 1,) int64      cells : int32
    Row r has the positions ``starts[r] … starts[r + 1] - 1``; level 0, where T is 0, is left out.
    """
    place = np.uint64(0)
    for r in range(rows.size):
        starts[r] = place
        row = levels[rows[r]]
        for j in range(np.uint64(first), np.uint64(last)):  # no branch: it can't be predicted
            start = layout.offsets[j]
            top = layout.offsets[j + np.uint64(1)] - start - 1
            cells[place] = start + min(np.int64(layout.number_of[row[j]]), top)
            place += np.uint64(row[j] != 0)
    starts[rows.size] = place


@njit()
def list_sparse_cells(data, indices, layout, cells):
    """Cells of the entries of a CSR matrix."""
    for k in range(np.uint64(data.size)):
        start = layout.offsets[indices[k]]
        top = layout.offsets[indices[k] + 1] - start - 1
        cells[k] = start + min(np.int64(layout.number_of[data[k]]), top)


@njit()
def add_four(a, b, c, d, out):
    """out += a + b + c + d."""
    for k in range(np.uint64(out.size)):
        out[k] += (a[k] + b[k]) + (c[k] + d[k])


@njit()
def add_one(a, factor, out):
    """out += factor a."""
    for k in range(np.uint64(out.size)):
        out[k] += factor * a[k]


@njit()
def sum_of(values, cells):
    """Sum of values[cells], in four parts that do not wait for each other."""
    a = b = c = d = 0.0
    whole = cells.size - cells.size % 4
    for k in range(0, whole, 4):
        a += values[cells[k], 0]
        b += values[cells[k + 1], 0]
        c += values[cells[k + 2], 0]
        d += values[cells[k + 3], 0]
    for k in range(whole, cells.size):
        a += values[cells[k], 0]
    return (a + b) + (c + d)


@njit()
def look_up(starts, cells, values, out):
    """out[i] += sum of values over the listed cells of row i  [Wu10, Eq. 6]; out : float64."""
    one = np.float32(1)
    for i in range(out.shape[0]):
        here = cells[starts[i] : starts[i + 1]]
        if out.shape[1] == 1:
            out[i, 0] += sum_of(values, here)
            continue
        whole = here.size - here.size % 4
        for k in range(0, whole, 4):
            add_four(
                values[here[k]], values[here[k + 1]], values[here[k + 2]], values[here[k + 3]],
                out[i],
            )  # fmt: skip
        for k in range(whole, here.size):
            add_one(values[here[k]], one, out[i])


@njit()
def sum_by_cell(starts, cells, first, coefficients, sums):
    """sums[cell - first] += c_i for the listed cells of all rows i; c_i: coefficients[i]."""
    one = sums.dtype.type(1)
    for i in range(starts.size - 1):
        if not coefficients[i].any():
            continue
        if sums.shape[1] == 1:
            for k in range(starts[i], starts[i + 1]):
                sums[cells[k] - first, 0] += coefficients[i, 0]
        else:
            for k in range(starts[i], starts[i + 1]):
                add_one(coefficients[i], one, sums[cells[k] - first])


@njit()
def tables_from_sums(offsets, heights, sums):
    """Turn sums by level into T_jk = sum_i c_i min(x_ij, k)  [Wu10, Eq. 6 and 9], in place.

    heights : the level of every cell, ascending in each feature
    """
    for j in range(offsets.size - 1):
        for k in range(offsets[j + 1] - 2, offsets[j], -1):  # w_jk: all levels >= k
            for c in range(sums.shape[1]):
                sums[k, c] += sums[k + 1, c]
        sums[offsets[j]] = 0.0
        for k in range(offsets[j] + 1, offsets[j + 1]):
            rise = heights[k] - heights[k - 1]
            for c in range(sums.shape[1]):
                sums[k, c] = sums[k - 1, c] + rise * sums[k, c]
