"""Loops that build the tables T of additive models from sums of coefficients by level.

Cells and lanes are those of ``_tables``. Numba keeps LLVM from packing additions to eight lanes, so
these are written in LLVM's language.
"""

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords import simd
from visualwords.compiled import njit

LANES = 8
_LANES = ir.VectorType(ir.FloatType(), LANES)


@intrinsic
def add_to_rows(typing, values, cells, count, lane, source, i):
    """values[cells[k], lane … lane + 7] += source[i, lane … lane + 7] for all k < count."""
    return types.void(values, cells, count, lane, source, i), _emit_add_to_rows


def _emit_add_to_rows(context, builder, signature, arguments):
    values, cells, source = simd.arrays(context, builder, signature, arguments, (0, 1, 4))
    added = simd.load(
        builder, source.data, _place(builder, source, arguments[5], arguments[3]), _LANES
    )
    with cgutils.for_range(builder, arguments[2]) as loop:
        cell = builder.load(builder.gep(cells.data, [loop.index]))
        row = _place(builder, values, builder.sext(cell, loop.index.type), arguments[3])
        before = simd.load(builder, values.data, row, _LANES)
        simd.store(builder, builder.fadd(before, added), values.data, row)
    return context.get_dummy_value()


def _place(builder, array, row, lane):
    """Position of array[row, lane] in a C-ordered array."""
    return builder.add(builder.mul(row, simd.row_length(builder, array)), lane)


if numba.config.DISABLE_JIT:  # numba then runs the kernels as Python, which has no intrinsics

    def add_to_rows(values, cells, count, lane, source, i):
        """values[cells[k], lane … lane + 7] += source[i, lane … lane + 7] for all k < count."""
        for k in range(count):
            values[cells[k], lane : lane + LANES] += source[i, lane : lane + LANES]


@njit(inlined=(simd,))
def find_nonzero_cells(x, base, top, cells):
    """cells = base[j] + min(x[j], top[j]) of the features with x[j] != 0; returns how many.

    cells : (features + 1,) int32
    """
    count = np.uint64(0)
    for j in range(np.uint64(x.size)):  # without a branch, which could not be predicted
        cells[count] = base[j] + min(np.int32(x[j]), top[j])
        count += np.uint64(x[j] != 0)
    return np.int64(count)


@njit(inlined=(simd,))
def sum_by_level(x, rows, coefficients, base, top, first, last, sums):
    """sums[base[j] + k] += c_i for every x_ij = k > 0, features first … last - 1.

    x : (n, d) unsigned     rows : (m,) samples that take part     coefficients : (m, lanes) float32
    base : (d,) int32, such that feature ``first`` begins at 0     sums : (cells, lanes) float32
    """
    cells = np.empty(last - first + 1, np.int32)
    for r in range(rows.size):
        part = x[rows[r], first:last]
        count = find_nonzero_cells(part, base[first:last], top[first:last], cells)
        if sums.shape[1] == 1:
            for cell in cells[:count]:
                sums[np.uint32(cell), 0] += coefficients[r, 0]
        else:
            for lane in range(0, sums.shape[1], LANES):
                add_to_rows(sums, cells, count, lane, coefficients, r)


@njit(inlined=(simd,))
def sum_by_level_sparse(data, indices, indptr, rows, coefficients, base, top, sums):
    """Like ``sum_by_level`` for rows of a CSR matrix, all features."""
    cells = np.empty(base.size, np.int32)
    for r in range(rows.size):
        start, end = indptr[rows[r]], indptr[rows[r] + 1]
        for k in range(start, end):
            cells[k - start] = base[indices[k]] + min(np.int32(data[k]), top[indices[k]])
        if sums.shape[1] == 1:
            for cell in cells[: end - start]:
                sums[cell, 0] += coefficients[r, 0]
        else:
            for lane in range(0, sums.shape[1], LANES):
                add_to_rows(sums, cells, np.int64(end - start), lane, coefficients, r)


@njit()
def mark_eights(coefficients, marks):
    """marks[i, k] = whether one of coefficients[i, 8 k … 8 k + 7] is not 0."""
    for i in range(coefficients.shape[0]):
        for c in range(coefficients.shape[1]):
            marks[i, c // LANES] |= coefficients[i, c] != 0


@njit(inlined=(simd,))
def sum_listed(starts, cells, marks, coefficients, sums):
    """sums[cell] += c_i for the listed cells of all rows i; c_i: coefficients[i].

    Eights of coefficients that are not marked, all 0, are left out.

    starts : (n + 1,) int64      cells : int32      coefficients : (n, lanes) float32
    marks : (n, lanes / 8) bool
    """
    for i in range(marks.shape[0]):
        here = cells[starts[i] : starts[i + 1]]
        for eight in range(marks.shape[1]):
            if marks[i, eight]:
                add_to_rows(sums, here, here.size, eight * LANES, coefficients, i)


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


@njit()
def add_line(offsets, heights, now, before, slopes, curvatures):
    """Add derivatives of half the squared length of tables, in the direction from ``before``.

    The square is sum_jk (T_jk - T_j,k-1)² / (h_k - h_k-1), as that of w in `tables_from_sums`.
    """
    for j in range(offsets.size - 1):
        for k in range(offsets[j] + 1, offsets[j + 1]):
            rise = heights[k] - heights[k - 1]
            if rise <= 0:
                continue
            for c in range(now.shape[1]):
                step = now[k, c] - now[k - 1, c]
                change = step - (before[k, c] - before[k - 1, c])
                slopes[c] += step * change / rise
                curvatures[c] += change * change / rise


@njit()
def fill_levels(offsets, heights, tables, wanted, full, out):
    """out = the tables at the wanted levels; between two cells they are linear.

    offsets, heights, tables : cells at some levels, the first at 0
    wanted : ascending levels, the first 0     full : (d + 1,) offsets of ``out``
    """
    for j in range(offsets.size - 1):
        cell = offsets[j]
        for k in range(full[j + 1] - full[j]):
            while cell + 1 < offsets[j + 1] and heights[cell] < wanted[k]:
                cell += 1
            low = heights[cell - 1] if cell > offsets[j] else heights[cell]
            rise = heights[cell] - low
            share = np.float32((wanted[k] - low) / rise) if rise > 0 else np.float32(0)
            below = cell - 1 if rise > 0 else cell
            for c in range(tables.shape[1]):
                step = tables[cell, c] - tables[below, c]
                out[full[j] + k, c] = tables[below, c] + share * step
