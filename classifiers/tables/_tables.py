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

from visualwords import simd
from visualwords.compiled import njit

LANES = 8
_UNROLL = 4  # sums that do not wait for each other


@intrinsic
def add_rows(typing, values, cells, count, lane, out, i):
    """out[i, lane … lane + 7] += sum of values[cells[k], lane … lane + 7] over k < count."""
    return types.void(values, cells, count, lane, out, i), _emit_add_rows


def _emit_add_rows(context, builder, signature, arguments):
    values, cells, out = simd.arrays(context, builder, signature, arguments, (0, 1, 4))
    count, lane, i = arguments[2], arguments[3], arguments[5]
    vector, wide = (ir.VectorType(kind(), LANES) for kind in (ir.FloatType, ir.DoubleType))
    zero = simd.constant(vector, 0.0)
    sums = [cgutils.alloca_once_value(builder, zero) for _ in range(_UNROLL)]
    unroll = ir.Constant(count.type, _UNROLL)
    groups = builder.udiv(count, unroll)
    whole = builder.mul(groups, unroll)

    def add(position, where):
        cell = builder.load(builder.gep(cells.data, [position]))
        row = _place(builder, values, builder.sext(cell, position.type), lane)
        loaded = simd.load(builder, values.data, row, vector)
        builder.store(builder.fadd(builder.load(where), loaded), where)

    with cgutils.for_range(builder, groups) as loop:
        first = builder.mul(loop.index, unroll)
        for k, where in enumerate(sums):
            add(builder.add(first, ir.Constant(count.type, k)), where)
    with cgutils.for_range(builder, builder.sub(count, whole)) as loop:
        add(builder.add(loop.index, whole), sums[0])
    total = simd.pairwise_sum(builder.fadd, [builder.load(where) for where in sums])
    target = _place(builder, out, i, lane)
    before = simd.load(builder, out.data, target, wide)
    simd.store(builder, builder.fadd(before, builder.fpext(total, wide)), out.data, target)
    return context.get_dummy_value()


def _place(builder, array, row, lane):
    """Position of array[row, lane] in a C-ordered array."""
    return builder.add(builder.mul(row, simd.row_length(builder, array)), lane)


@intrinsic
def sum_of_differences(typing, values, count):
    """Sum of v − v over a multiple of LANES values: 0, or NaN if one is not finite."""
    return types.float64(values, types.int64), _emit_sum_of_differences


def _emit_sum_of_differences(context, builder, signature, arguments):
    kind = signature.args[0].dtype
    if isinstance(kind, types.Integer):
        return ir.Constant(ir.DoubleType(), 0.0)
    (values,) = simd.arrays(context, builder, signature, arguments, (0,))
    vector = ir.VectorType(context.get_data_type(kind), LANES)
    total = cgutils.alloca_once_value(builder, simd.constant(vector, 0.0))
    start, step = simd.INDEX(0), simd.INDEX(LANES)
    with cgutils.for_range_slice(builder, start, arguments[1], step, inc=True) as (k, _):
        loaded = simd.load(builder, values.data, k, vector)
        difference = builder.fsub(loaded, loaded)
        builder.store(builder.fadd(builder.load(total), difference), total)
    found = simd.pairwise_sum(builder.fadd, simd.lanes(builder, builder.load(total)))
    return found if kind == types.float64 else builder.fpext(found, ir.DoubleType())


if numba.config.DISABLE_JIT:  # numba then runs the kernels as Python, which has no intrinsics

    def add_rows(values, cells, count, lane, out, i):
        """out[i, lane … lane + 7] += sum of values[cells[k], lane … lane + 7] over k < count."""
        for k in range(count):
            out[i, lane : lane + LANES] += values[cells[k], lane : lane + LANES]

    def sum_of_differences(values, count):
        """Sum of v − v over some values: 0, or NaN if one is not finite."""
        return float((values[:count].astype(float) - values[:count]).sum())


@njit(inlined=(simd,))
def find_cells(x, base, top, cells):
    """cells[j] = base[j] + min(x[j], top[j]), all int32 but x."""
    for j in range(np.uint64(x.size)):
        cells[j] = base[j] + min(np.int32(x[j]), top[j])


@njit(inlined=(simd,))
def find_nonzero_cells(x, base, top, cells):
    """Like ``find_cells`` without the features at level 0, where T is 0; returns how many."""
    count = 0
    whole = x.size - x.size % 64
    for start in range(0, whole, 64):
        word = simd.nonzero(x, start)
        while word != np.uint64(0):
            j = np.uint64(start + simd.lowest_bit(word))
            word &= word - np.uint64(1)
            cells[count] = base[j] + min(np.int32(x[j]), top[j])
            count += 1
    for k in range(whole, x.size):
        cells[count] = base[k] + min(np.int32(x[k]), top[k])
        count += int(x[k] != 0)
    return count


@njit(inlined=(simd,))
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


@njit(inlined=(simd,))
def list_cells(x, base, top, width, starts, cells):
    """List the cells of all rows at levels above 0, some features after the other.

    x : (n, d) unsigned      base, top : (d,) int32      cells : (n d,) int32
    starts : (parts, n + 1) int64; row i of the p-th ``width`` features has the positions
    ``starts[p, i] … starts[p, i + 1] - 1``
    """
    place = np.int64(0)
    for p in range(starts.shape[0]):
        first, last = p * width, min((p + 1) * width, x.shape[1])
        for i in range(x.shape[0]):
            starts[p, i] = place
            part = x[i, first:last]
            place += find_nonzero_cells(part, base[first:last], top[first:last], cells[place:])
        starts[p, x.shape[0]] = place


@njit(inlined=(simd,))
def look_up_listed(starts, cells, firsts, values, out):
    """out[i] += sum of values over the listed cells of row i, in single precision for each part.

    firsts : (parts,) int64, the cell that a part counts from
    """
    for p in range(starts.shape[0]):
        part = values[firsts[p] :]
        for i in range(out.shape[0]):
            here = cells[starts[p, i] : starts[p, i + 1]]
            for lane in range(0, values.shape[1], LANES):
                add_rows(part, here, here.size, lane, out, i)


@njit(inlined=(simd,))
def score_values(x, lowest, scale, number_of, share_of, base, top, values, levels, out):
    """out[i] += sum_j T[j, level of x_ij]; returns whether all numbers are finite.

    x : (n, d) numbers     number_of : (levels,) int32, the cell of a level or of the next lower
    share_of : (levels,) float32, how far a level without a cell is on the way to the next one
    levels : unsigned, for use; as many features' tables stay in the cache
    """
    width = levels.size
    cells, between = np.empty(width, np.int32), np.empty(width, np.int32)
    finite = True
    for first in range(0, x.shape[1], width):
        tops, bases = top[first : first + width], base[first : first + width]
        here = levels[: bases.size]
        for i in range(x.shape[0]):
            part = x[i, first : first + width]
            finite &= is_finite(part)
            find_levels(part, lowest, scale, number_of.size - 1, here)
            count, n_between = find_nonzero_numbered_cells(
                here, number_of, share_of, bases, tops, cells, between
            )
            if values.shape[1] == 1:
                out[i, 0] += sum_of(values[:, 0], cells[:count])
            else:
                for lane in range(0, values.shape[1], LANES):
                    add_rows(values, cells, count, lane, out, i)
            for k in range(n_between):
                j = between[k]
                add_step(values, bases[j] + number_of[here[j]], share_of[here[j]], out[i])
    return finite


@njit(inlined=(simd,))
def add_step(values, cell, share, out):
    """out += share × (T of the next cell − T of a cell), in all lanes."""
    low, high = values[cell], values[cell + 1]
    for lane in range(np.uint64(low.size)):
        out[lane] += np.float64(share * (high[lane] - low[lane]))


@njit(inlined=(simd,))
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


@njit(inlined=(simd,))
def mark_equal(levels, height, seen, first):
    """seen[k] = 1 where the level is at the height, and 0 elsewhere if it is the first."""
    if first:
        for k in range(np.uint64(levels.size)):
            seen[k] = np.uint8(levels[k] == height)
    else:
        for k in range(np.uint64(levels.size)):
            seen[k] |= np.uint8(levels[k] == height)


@njit(inlined=(simd,))
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


@njit(inlined=(simd,))
def is_finite(x):
    """Whether no number is infinite or NaN; x : (n,)."""
    whole = x.size - x.size % LANES
    check = sum_of_differences(x, whole)
    for k in range(whole, x.size):
        check += np.float64(x[k]) - np.float64(x[k])
    return check == 0.0


@njit(inlined=(simd,))
def find_levels(x, lowest, scale, highest, levels):
    """levels = floor((x − lowest) scale), clipped to 0 … highest; NaN becomes 0."""
    top = np.float64(highest)
    for k in range(np.uint64(x.size)):
        level = (np.float64(x[k]) - lowest) * scale
        level = level if level > 0.0 else 0.0
        levels[k] = np.int32(level if level < top else top)


@njit(inlined=(simd,))
def find_nonzero_numbered_cells(levels, number_of, share_of, base, top, cells, between):
    """Like ``find_nonzero_cells`` by the levels' numbers; lists features between two cells, too.

    Returns how many cells there are, and how many of the features in ``between``.
    """
    count = n_between = 0
    whole = levels.size - levels.size % 64
    for start in range(0, whole, 64):
        word = simd.nonzero(levels, start)
        while word != np.uint64(0):
            j = np.uint64(start + simd.lowest_bit(word))
            word &= word - np.uint64(1)
            number = number_of[levels[j]]
            cells[count] = base[j] + min(number, top[j])
            count += 1
            between[n_between] = np.int32(j)
            n_between += int((share_of[levels[j]] > np.float32(0)) & (number < top[j]))
    for k in range(whole, levels.size):
        number = number_of[levels[k]]
        cells[count] = base[k] + min(number, top[k])
        count += int(levels[k] != 0)
        between[n_between] = np.int32(k)
        n_between += int((share_of[levels[k]] > np.float32(0)) & (number < top[k]))
    return count, n_between


@njit(inlined=(simd,))
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


@njit(inlined=(simd,))
def sparse_cells(data, indices, base, top, cells):
    """Cells of the entries of one sparse row."""
    for k in range(np.uint64(data.size)):
        j = indices[k]
        cells[k] = base[j] + min(np.int32(data[k]), top[j])


@njit(inlined=(simd,))
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
