"""Loops that build the tables T of additive models from sums of coefficients by level.

Cells and lanes are those of ``_tables``. The two innermost steps are written in LLVM's language:
adding to eight lanes, which numba keeps LLVM from packing, and moving the cells of features that
are not at level 0 together, for which AVX-512 has an instruction.
"""

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords.compiled import njit
from visualwords.processor import vector_bytes

LANES = 8
_TOGETHER = 16  # cells that are moved at a time
_COMPRESSES = vector_bytes() == 64


@intrinsic
def add_to_rows(typing, values, cells, count, lane, source, i):
    """values[cells[k], lane … lane + 7] += source[i, lane … lane + 7] for all k < count."""
    return types.void(values, cells, count, lane, source, i), _emit_add_to_rows


def _emit_add_to_rows(context, builder, signature, arguments):
    values, cells, source = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1, 4)
    )
    lane = arguments[3]
    added = builder.load(_lanes_at(builder, source, arguments[5], lane), align=4)
    with cgutils.for_range(builder, arguments[2]) as loop:
        cell = builder.load(builder.gep(cells.data, [loop.index]))
        row = _lanes_at(builder, values, builder.sext(cell, loop.index.type), lane)
        builder.store(builder.fadd(builder.load(row, align=4), added), row, align=4)
    return context.get_dummy_value()


def _lanes_at(builder, array, row, lane):
    """Address of array[row, lane] of a C-ordered array of float32, as that of a vector."""
    width = cgutils.unpack_tuple(builder, array.shape)[1]
    pointer = builder.gep(array.data, [builder.add(builder.mul(row, width), lane)])
    return builder.bitcast(pointer, ir.VectorType(ir.FloatType(), LANES).as_pointer())


@intrinsic
def keep_nonzero(typing, x, base, top, first, cells, count):
    """cells[count …] = base + min(x, top) where x is not 0, of 16 features; returns the new count.

    cells has room for 16 from count on.
    """
    kinds = x, base, top, types.int64, cells, types.int64
    return types.int64(*kinds), _emit_keep_nonzero


def _emit_keep_nonzero(context, builder, signature, arguments):
    x, base, top, cells = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1, 2, 4)
    )
    first, count = arguments[3], arguments[5]
    numbers = ir.VectorType(ir.IntType(32), _TOGETHER)
    kind = ir.VectorType(context.get_data_type(signature.args[0].dtype), _TOGETHER)

    def load(array, vector):
        where = builder.bitcast(builder.gep(array.data, [first]), vector.as_pointer())
        return builder.load(where, align=1)

    values, highest = load(x, kind), load(top, numbers)
    chosen = builder.icmp_unsigned("!=", values, ir.Constant(kind, [0] * _TOGETHER))
    wide = builder.zext(values, numbers)
    level = builder.select(builder.icmp_signed("<", wide, highest), wide, highest)
    mask = chosen.type
    compress = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(numbers, [numbers, numbers, mask]),
        "llvm.x86.avx512.mask.compress.v16i32",
    )
    zeros = ir.Constant(numbers, [0] * _TOGETHER)
    together = builder.call(compress, [builder.add(load(base, numbers), level), zeros, chosen])
    where = builder.bitcast(builder.gep(cells.data, [count]), numbers.as_pointer())
    builder.store(together, where, align=4)
    bits = builder.ctpop(builder.bitcast(chosen, ir.IntType(_TOGETHER)))
    return builder.add(count, builder.zext(bits, count.type))


def _plain_keep_nonzero(x, base, top, first, cells, count):
    for j in range(first, first + _TOGETHER):
        cells[count] = base[j] + min(np.int32(x[j]), top[j])
        count += int(x[j] != 0)
    return count


def _plain_add_to_rows(values, cells, count, lane, source, i):
    for k in range(count):
        values[cells[k], lane : lane + LANES] += source[i, lane : lane + LANES]


if not _COMPRESSES:
    keep_nonzero = njit()(_plain_keep_nonzero)
if numba.config.DISABLE_JIT:  # then numba runs the kernels as Python, which has no intrinsics
    add_to_rows = _plain_add_to_rows


@njit()
def find_nonzero_cells(x, base, top, cells):
    """cells = base[j] + min(x[j], top[j]) of the features with x[j] != 0; returns how many.

    cells : (features + 16,) int32
    """
    count = 0
    whole = x.size - x.size % _TOGETHER
    for start in range(0, whole, _TOGETHER):
        count = keep_nonzero(x, base, top, start, cells, count)
    for j in range(whole, x.size):
        cells[count] = base[j] + min(np.int32(x[j]), top[j])
        count += int(x[j] != 0)
    return count


@njit()
def sum_by_level(x, rows, coefficients, base, top, first, last, sums):
    """sums[base[j] + k] += c_i for every x_ij = k > 0, features first … last - 1.

    x : (n, d) unsigned     rows : (m,) samples that take part     coefficients : (m, lanes) float32
    base : (d,) int32, such that feature ``first`` begins at 0     sums : (cells, lanes) float32
    """
    cells = np.empty(last - first + _TOGETHER, np.int32)
    for r in range(rows.size):
        part = x[rows[r], first:last]
        count = find_nonzero_cells(part, base[first:last], top[first:last], cells)
        if sums.shape[1] == 1:
            for cell in cells[:count]:
                sums[np.uint32(cell), 0] += coefficients[r, 0]
        else:
            for lane in range(0, sums.shape[1], LANES):
                add_to_rows(sums, cells, count, lane, coefficients, r)


@njit()
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
