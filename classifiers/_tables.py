"""Loops over the tables T of additive models: sums of look-ups, and sums by level.

The tables of all outputs lie in one array ``values`` (cells, lanes): one lane for one output,
otherwise a multiple of eight. Feature j owns the rows ``offsets[j] … offsets[j + 1] - 1``, one for
each level from 0 to the highest that training saw. Eight lanes are one vector; numba keeps LLVM
from packing short loops, so the two innermost loops are written in LLVM's language.
"""

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords.compiled import njit

LANES = 8
_UNROLL = 4  # sums that do not wait for each other


@intrinsic
def add_rows(typing, values, cells, count, lane, out, i):
    """out[i, lane … lane + 7] += sum of values[cells[k], lane … lane + 7] over k < count."""
    return types.void(values, cells, count, lane, out, i), _emit_add_rows


def _emit_add_rows(context, builder, signature, arguments):
    values, cells, out = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1, 4)
    )
    count, lane, i = arguments[2], arguments[3], arguments[5]
    vector = ir.VectorType(ir.FloatType(), LANES)
    sums = [
        cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * LANES))
        for _ in range(_UNROLL)
    ]
    unroll = ir.Constant(count.type, _UNROLL)
    groups = builder.udiv(count, unroll)
    whole = builder.mul(groups, unroll)
    with cgutils.for_range(builder, groups) as loop:
        first = builder.mul(loop.index, unroll)
        for k, where in enumerate(sums):
            position = builder.add(first, ir.Constant(count.type, k))
            row = _vector_at(builder, values, _cell(builder, cells, position), lane, vector)
            builder.store(builder.fadd(builder.load(where), builder.load(row, align=4)), where)
    with cgutils.for_range(builder, builder.sub(count, whole)) as loop:
        position = builder.add(loop.index, whole)
        row = _vector_at(builder, values, _cell(builder, cells, position), lane, vector)
        builder.store(builder.fadd(builder.load(sums[0]), builder.load(row, align=4)), sums[0])
    a, b, c, d = (builder.load(where) for where in sums)
    wide = ir.VectorType(ir.DoubleType(), LANES)
    total = builder.fpext(builder.fadd(builder.fadd(a, b), builder.fadd(c, d)), wide)
    target = _vector_at(builder, out, i, lane, wide)
    builder.store(builder.fadd(builder.load(target, align=8), total), target, align=8)
    return context.get_dummy_value()


@intrinsic
def add_to_rows(typing, values, cells, count, lane, source, i):
    """values[cells[k], lane … lane + 7] += source[i, lane … lane + 7] for all k < count."""
    return types.void(values, cells, count, lane, source, i), _emit_add_to_rows


def _emit_add_to_rows(context, builder, signature, arguments):
    values, cells, source = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1, 4)
    )
    lane = arguments[3]
    vector = ir.VectorType(ir.DoubleType(), LANES)
    added = builder.load(_vector_at(builder, source, arguments[5], lane, vector), align=8)
    with cgutils.for_range(builder, arguments[2]) as loop:
        row = _vector_at(builder, values, _cell(builder, cells, loop.index), lane, vector)
        builder.store(builder.fadd(builder.load(row, align=8), added), row, align=8)
    return context.get_dummy_value()


def _cell(builder, cells, position):
    """cells[position] (int32) as an index."""
    cell = builder.load(builder.gep(cells.data, [position]))
    return builder.sext(cell, position.type)


def _vector_at(builder, array, row, lane, vector):
    """Address of array[row, lane] of a C-ordered array, as that of a vector."""
    width = cgutils.unpack_tuple(builder, array.shape)[1]
    pointer = builder.gep(array.data, [builder.add(builder.mul(row, width), lane)])
    return builder.bitcast(pointer, vector.as_pointer())


def _plain_add_rows(values, cells, count, lane, out, i):
    for k in range(count):
        out[i, lane : lane + LANES] += values[cells[k], lane : lane + LANES]


def _plain_add_to_rows(values, cells, count, lane, source, i):
    for k in range(count):
        values[cells[k], lane : lane + LANES] += source[i, lane : lane + LANES]


if numba.config.DISABLE_JIT:  # then numba runs the kernels as Python, which has no intrinsics
    add_rows, add_to_rows = _plain_add_rows, _plain_add_to_rows


@njit()
def find_cells(x, base, top, cells):
    """cells[j] = base[j] + min(x[j], top[j]), all int32 but x."""
    for j in range(np.uint64(x.size)):
        cells[j] = base[j] + min(np.int32(x[j]), top[j])


@njit()
def find_nonzero_cells(x, base, top, cells):
    """Like ``find_cells`` without the features at level 0, where T is 0; returns how many."""
    count = np.uint64(0)
    for j in range(np.uint64(x.size)):
        cells[count] = base[j] + min(np.int32(x[j]), top[j])
        count += np.uint64(x[j] != 0)
    return np.int64(count)


@njit()
def look_up(x, rows, base, top, values, first, last, out):
    """out[r] += sum_j T[j, min(x_ij, top_j)], i = rows[r], first <= j < last  [Wu10, Eq. 6].

    x : (n, d) unsigned      base, top : (d,) int32      values : (cells, lanes) float32
    out : (rows, lanes) float64
    """
    cells = np.empty(last - first, np.int32)
    one = values.shape[1] == 1
    for r in range(rows.size):
        part = x[rows[r], first:last]
        if one:
            find_cells(part, base[first:last], top[first:last], cells)
            out[r, 0] += sum_of(values[:, 0], cells)
        else:
            count = find_nonzero_cells(part, base[first:last], top[first:last], cells)
            for lane in range(0, values.shape[1], LANES):
                add_rows(values, cells, count, lane, out, r)


@njit()
def look_up_full(x, table, first, last, out):
    """out[i] += sum_j table[j, x_ij], first <= j < last, of one output with all levels."""
    stride = np.uint64(table.shape[1])
    flat = table.reshape(-1)
    four = np.uint64(4)
    for i in range(x.shape[0]):
        a = b = c = d = np.float32(0)
        j, end = np.uint64(first), np.uint64(last)
        while j + four <= end:
            at = j * stride
            a += flat[at + x[i, j]]
            b += flat[at + stride + x[i, j + np.uint64(1)]]
            c += flat[at + np.uint64(2) * stride + x[i, j + np.uint64(2)]]
            d += flat[at + np.uint64(3) * stride + x[i, j + np.uint64(3)]]
            j += four
        while j < end:
            a += flat[j * stride + x[i, j]]
            j += np.uint64(1)
        out[i] += (a + b) + (c + d)


@njit()
def sum_of(values, cells):
    """Sum of values[cells], in four parts that do not wait for each other."""
    a = b = c = d = np.float32(0)
    whole = cells.size - cells.size % 4
    for k in range(0, whole, 4):
        a += values[cells[k]]
        b += values[cells[k + 1]]
        c += values[cells[k + 2]]
        d += values[cells[k + 3]]
    for k in range(whole, cells.size):
        a += values[cells[k]]
    return (a + b) + (c + d)


@njit()
def sum_by_level(x, rows, coefficients, base, top, first, last, sums):
    """sums[base[j] + k] += c_i for every x_ij = k, features first … last - 1.

    x : (n, d) unsigned     rows : (m,) samples that take part     coefficients : (m, lanes) float64
    base : (d,) int32, such that feature ``first`` begins at 0     sums : (cells, lanes) float64
    """
    cells = np.empty(last - first, np.int32)
    one = sums.shape[1] == 1
    for r in range(rows.size):
        part = x[rows[r], first:last]
        if one:
            find_cells(part, base[first:last], top[first:last], cells)
            coefficient = coefficients[r, 0]
            for cell in cells:
                sums[cell, 0] += coefficient
        else:
            count = find_nonzero_cells(part, base[first:last], top[first:last], cells)
            for lane in range(0, sums.shape[1], LANES):
                add_to_rows(sums, cells, count, lane, coefficients, r)


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


@njit()
def sparse_cells(data, indices, base, top, cells):
    """Cells of the entries of one sparse row."""
    for k in range(np.uint64(data.size)):
        j = indices[k]
        cells[k] = base[j] + min(np.int32(data[k]), top[j])


@njit()
def look_up_sparse(data, indices, indptr, rows, base, top, values, out):
    """Like ``look_up`` for rows of a CSR matrix; features that are not stored are at level 0."""
    cells = np.empty(base.size, np.int32)
    for r in range(rows.size):
        start, end = indptr[rows[r]], indptr[rows[r] + 1]
        count = np.int64(end - start)
        sparse_cells(data[start:end], indices[start:end], base, top, cells)
        if values.shape[1] == 1:
            out[r, 0] += sum_of(values[:, 0], cells[:count])
        else:
            for lane in range(0, values.shape[1], LANES):
                add_rows(values, cells, count, lane, out, r)


@njit()
def sum_by_level_sparse(data, indices, indptr, rows, coefficients, base, top, sums):
    """Like ``sum_by_level`` for rows of a CSR matrix, all features."""
    cells = np.empty(base.size, np.int32)
    for r in range(rows.size):
        start, end = indptr[rows[r]], indptr[rows[r] + 1]
        sparse_cells(data[start:end], indices[start:end], base, top, cells)
        if sums.shape[1] == 1:
            for cell in cells[: end - start]:
                sums[cell, 0] += coefficients[r, 0]
        else:
            for lane in range(0, sums.shape[1], LANES):
                add_to_rows(sums, cells, np.int64(end - start), lane, coefficients, r)
