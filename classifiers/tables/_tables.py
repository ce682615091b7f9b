"""Loops over the tables T of additive models: sums of look-ups.

The tables of all outputs lie in one array ``values`` (cells, lanes): one lane for one output,
otherwise a multiple of eight. Feature j owns the rows ``offsets[j] … offsets[j + 1] - 1``, one for
each level from 0 to the highest that training saw. Eight lanes are one vector; numba keeps LLVM
from packing short loops, so the innermost loop is written in LLVM's language.
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
def sum_of_differences(typing, values, count):
    """Sum of v − v over a multiple of LANES values: 0, or NaN if one is not finite."""
    return types.float64(values, types.int64), _emit_sum_of_differences


def _emit_sum_of_differences(context, builder, signature, arguments):
    kind = signature.args[0].dtype
    if isinstance(kind, types.Integer):
        return ir.Constant(ir.DoubleType(), 0.0)
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    number = context.get_data_type(kind)
    vector = ir.VectorType(number, LANES)
    total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * LANES))
    start, step = ir.Constant(ir.IntType(64), 0), ir.Constant(ir.IntType(64), LANES)
    with cgutils.for_range_slice(builder, start, arguments[1], step, inc=True) as (k, _):
        where = builder.bitcast(builder.gep(data, [k]), vector.as_pointer())
        loaded = builder.load(where, align=4)
        difference = builder.fsub(loaded, loaded)
        builder.store(builder.fadd(builder.load(total), difference), total)
    found = builder.load(total)
    lanes = [builder.extract_element(found, ir.IntType(32)(k)) for k in range(LANES)]
    while len(lanes) > 1:
        lanes = [builder.fadd(a, b) for a, b in zip(lanes[::2], lanes[1::2])]
    return lanes[0] if kind == types.float64 else builder.fpext(lanes[0], ir.DoubleType())


@intrinsic
def nonzero(typing, values, first):
    """Bit k of the result: values[first + k] != 0, of 64 values."""
    return types.uint64(values, types.int64), _emit_nonzero


def _emit_nonzero(context, builder, signature, arguments):
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    vector = ir.VectorType(context.get_data_type(signature.args[0].dtype), 64)
    where = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
    zeros = ir.Constant(vector, [0] * 64)
    different = builder.icmp_unsigned("!=", builder.load(where, align=1), zeros)
    return builder.bitcast(different, ir.IntType(64))


@intrinsic
def lowest_bit(typing, word):
    """Position of the lowest bit of a word that is not 0."""
    return types.int64(types.uint64), _emit_lowest_bit


def _emit_lowest_bit(context, builder, signature, arguments):
    return builder.cttz(arguments[0], ir.IntType(1)(1))


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


def _plain_nonzero(values, first):
    return np.uint64(sum(1 << k for k in range(64) if values[first + k]))


def _plain_sum_of_differences(values, count):
    return float((values[:count].astype(float) - values[:count]).sum())


def _plain_lowest_bit(word):
    return (int(word) & -int(word)).bit_length() - 1


if numba.config.DISABLE_JIT:  # then numba runs the kernels as Python, which has no intrinsics
    add_rows, sum_of_differences = _plain_add_rows, _plain_sum_of_differences
    nonzero, lowest_bit = _plain_nonzero, _plain_lowest_bit


@njit()
def find_cells(x, base, top, cells):
    """cells[j] = base[j] + min(x[j], top[j]), all int32 but x."""
    for j in range(np.uint64(x.size)):
        cells[j] = base[j] + min(np.int32(x[j]), top[j])


@njit()
def find_nonzero_cells(x, base, top, cells):
    """Like ``find_cells`` without the features at level 0, where T is 0; returns how many."""
    count = 0
    whole = x.size - x.size % 64
    for start in range(0, whole, 64):
        word = nonzero(x, start)
        while word != np.uint64(0):
            j = np.uint64(start + lowest_bit(word))
            word &= word - np.uint64(1)
            cells[count] = base[j] + min(np.int32(x[j]), top[j])
            count += 1
    for k in range(whole, x.size):
        cells[count] = base[k] + min(np.int32(x[k]), top[k])
        count += int(x[k] != 0)
    return count


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
def score_values(x, lowest, scale, number_of, base, top, values, levels, out):
    """out[i] += sum_j T[j, level of x_ij]; returns whether all is sound.

    x : (n, d) numbers     number_of : (levels,) int32, −1 for levels that have no cell
    levels : unsigned, for use; as many features' tables stay in the cache
    """
    width = levels.size
    cells = np.empty(width, np.int32)
    sound = True
    for first in range(0, x.shape[1], width):
        tops, bases = top[first : first + width], base[first : first + width]
        here = levels[: bases.size]
        for i in range(x.shape[0]):
            part = x[i, first : first + width]
            sound &= is_finite(part)
            find_levels(part, lowest, scale, number_of.size - 1, here)
            count, known = find_nonzero_numbered_cells(here, number_of, bases, tops, cells)
            sound &= known
            if values.shape[1] == 1:
                out[i, 0] += sum_of(values[:, 0], cells[:count])
                continue
            for lane in range(0, values.shape[1], LANES):
                add_rows(values, cells, count, lane, out, i)
    return sound


@njit()
def score_by_steps(x, lowest, scale, highest, heights, steps, levels, out):
    """Like ``score_values`` for one output with few levels: adds up the steps that are reached.

    heights : (g,) of the levels' type, ascending, without 0
    steps : (g, d) float32, by how much T rises from the height below
    """
    sound = True
    width = levels.size
    known = np.empty(width, np.uint8)
    for first in range(0, x.shape[1], width):
        for i in range(x.shape[0]):
            part = x[i, first : first + width]
            here, seen = levels[: part.size], known[: part.size]
            sound &= is_finite(part)
            find_levels(part, lowest, scale, highest, here)
            mark_equal(here, here.dtype.type(0), seen, True)
            for t in range(heights.size):
                mark_equal(here, heights[t], seen, False)
                out[i, 0] += sum_reached(here, heights[t], steps[t, first : first + width])
            sound &= all_marked(seen)
    return sound


@njit()
def mark_equal(levels, height, seen, first):
    """seen[k] = 1 where the level is at the height, and 0 elsewhere if it is the first."""
    if first:
        for k in range(np.uint64(levels.size)):
            seen[k] = np.uint8(levels[k] == height)
    else:
        for k in range(np.uint64(levels.size)):
            seen[k] |= np.uint8(levels[k] == height)


@njit()
def all_marked(seen):
    """Whether all of at most 65,535 marks are 1."""
    count = np.uint16(0)
    for k in range(np.uint64(seen.size)):
        count += np.uint16(seen[k])
    return np.int64(count) == seen.size


@njit(fastmath={"reassoc", "nsz"})
def sum_reached(levels, height, steps):
    """Sum of the steps whose level is at the height or above."""
    total = np.float32(0)
    for k in range(np.uint64(levels.size)):
        total += steps[k] if levels[k] >= height else np.float32(0)
    return total


@njit()
def is_finite(x):
    """Whether no number is infinite or NaN; x : (n,)."""
    whole = x.size - x.size % LANES
    check = sum_of_differences(x, whole)
    for k in range(whole, x.size):
        check += np.float64(x[k]) - np.float64(x[k])
    return check == 0.0


@njit()
def find_levels(x, lowest, scale, highest, levels):
    """levels = floor((x − lowest) scale), clipped to 0 … highest; NaN becomes 0."""
    top = np.float64(highest)
    for k in range(np.uint64(x.size)):
        level = (np.float64(x[k]) - lowest) * scale
        level = level if level > 0.0 else 0.0
        levels[k] = np.int32(level if level < top else top)


@njit()
def find_nonzero_numbered_cells(levels, number_of, base, top, cells):
    """Like ``find_nonzero_cells`` by the levels' numbers; returns whether all have one as well."""
    count, least = 0, np.int32(0)
    whole = levels.size - levels.size % 64
    for start in range(0, whole, 64):
        word = nonzero(levels, start)
        while word != np.uint64(0):
            j = np.uint64(start + lowest_bit(word))
            word &= word - np.uint64(1)
            number = number_of[levels[j]]
            least |= number  # negative once one is
            cells[count] = base[j] + min(max(number, np.int32(0)), top[j])
            count += 1
    for k in range(whole, levels.size):
        number = number_of[levels[k]]
        least |= number
        cells[count] = base[k] + min(max(number, np.int32(0)), top[k])
        count += int(levels[k] != 0)
    return count, least >= 0


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
