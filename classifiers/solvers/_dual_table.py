"""Loops of dual coordinate descent on the table T ([Wu10], Algorithm 2), one problem at a time.

The table has a cell for each numbered level of each feature, beginning at multiples of eight
cells; ``heights`` holds the cells' levels. A cell is what sum_i α_i y_i x_ij loses above its level:
lost[j, k] = sum_i α_i y_i max(x_ij - k, 0), so T[j, k] = lost[j, 0] - lost[j, k]. Other than T
itself, this changes with a sample only below the sample's own level, and most levels are low. A
feature at level 0 neither adds to a score nor changes the table: only the others are visited.
"""

from typing import NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords import simd
from visualwords.compiled import njit

LANES = 8


class Samples(NamedTuple):
    """Codes of all samples, dense or sparse, and the layout of the table.

    Attributes
    ----------
    codes : (n × d,) or (entries,) uint8 or uint16
        Number of the level among those that have a cell; sample i has those from ``bounds[i]`` to
        ``bounds[i + 1] - 1``.
    indices : (entries,) int32
        Features of the codes; empty if there is a code for every feature.
    bounds : (n + 1,) int64
    offsets : (d + 1,) int64
        First cell of every feature.
    heights : (cells,) float32
        Level of every cell.
    """

    codes: np.ndarray
    indices: np.ndarray
    bounds: np.ndarray
    offsets: np.ndarray
    heights: np.ndarray


class Problem(NamedTuple):
    """One dual problem: labels ±1, D_ii, Q_ii + D_ii and U_i of all samples, float64."""

    y: np.ndarray
    diagonal: np.ndarray
    curvature: np.ndarray
    upper: np.ndarray


@intrinsic
def add_excess(typing, lost, heights, start, stop, height, factor):
    """lost[k] += factor max(height - heights[k], 0), start <= k < stop, eight at a time.

    Most loops have one turn: as a plain loop its preparation costs more than its work.
    """
    number = lost.dtype
    kinds = (lost, heights, types.int64, types.int64, types.float32, number)
    return types.void(*kinds), _emit_add_excess


def _emit_add_excess(context, builder, signature, arguments):
    lost, heights = simd.arrays(context, builder, signature, arguments, (0, 1))
    number = context.get_value_type(signature.args[5])
    single, vector = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(number, LANES)
    height, factor = (simd.broadcast(builder, value, LANES) for value in arguments[4:6])
    zeros = simd.constant(single, 0.0)
    step = simd.INDEX(LANES)
    with cgutils.for_range_slice(builder, *arguments[2:4], step, inc=True) as (k, _):
        excess = builder.fsub(height, simd.load(builder, heights.data, k, single))
        excess = builder.select(builder.fcmp_ordered(">", excess, zeros), excess, zeros)
        if number != ir.FloatType():
            excess = builder.fpext(excess, vector)
        before = simd.load(builder, lost.data, k, vector)
        added = builder.fadd(before, builder.fmul(excess, factor))
        simd.store(builder, added, lost.data, k)
    return context.get_dummy_value()


if numba.config.DISABLE_JIT:  # numba then runs the kernels as Python, which has no intrinsics

    def add_excess(lost, heights, start, stop, height, factor):
        """lost[k] += factor max(height - heights[k], 0), start <= k < stop, eight at a time."""
        whole = slice(start, start + -(-(stop - start) // LANES) * LANES)
        lost[whole] += factor * np.maximum(height - heights[whole], 0)


@njit(inlined=(simd,))
def find_cells(i, samples, first, cells):
    """First cell and cell of every feature of sample i that is not at level 0; returns how many.

    first, cells : (d,) int64
    """
    start, stop = samples.bounds[i], samples.bounds[i + 1]
    count = np.uint64(0)
    if samples.indices.size:
        for k in range(np.uint64(start), np.uint64(stop)):
            first[count] = samples.offsets[samples.indices[k]]
            cells[count] = first[count] + samples.codes[k]
            count += np.uint64(1)
        return count
    row = samples.codes[start:stop]
    whole = row.size - row.size % 64
    for begin in range(0, whole, 64):
        word = simd.nonzero(row, begin)
        while word != np.uint64(0):
            j = np.uint64(begin + simd.lowest_bit(word))
            word &= word - np.uint64(1)
            first[count] = samples.offsets[j]
            cells[count] = first[count] + row[j]
            count += np.uint64(1)
    for j in range(np.uint64(whole), np.uint64(row.size)):  # type: ignore[assignment]
        first[count] = samples.offsets[j]
        cells[count] = first[count] + row[j]
        count += np.uint64(row[j] != 0)
    return count


@njit(inlined=(simd,))
def score(count, first, cells, lost):
    """sum_j T[j, x_j] = sum_j lost[j, 0] - lost[j, x_j]  [Wu10, Eq. 6], in two sums at a time."""
    a = b = 0.0
    one = np.uint64(1)
    whole = count & ~one
    for k in range(np.uint64(0), whole, np.uint64(2)):
        a += lost[first[k]] - lost[cells[k]]
        b += lost[first[k + one]] - lost[cells[k + one]]
    if whole < count:
        a += lost[first[whole]] - lost[cells[whole]]
    return a + b


@njit(inlined=(simd,))
def add(factor, count, first, cells, heights, lost):
    """T_jk += factor min(x_j, k) for all levels of all features  [Wu10, Eq. 12]."""
    change = lost.dtype.type(factor)
    for k in range(np.uint64(count)):
        add_excess(lost, heights, first[k], cells[k], heights[cells[k]], change)


@njit(inlined=(simd,))
def epoch(samples, problem, order, bounds, alpha, lost):
    """Visit the samples of ``order`` once; return how many were kept, and the extremes of PG.

    A sample at a bound whose gradient points out of the box by more than ``bounds`` is shrunk:
    ``order`` keeps the others in front  [LIBLINEAR's shrinking].
    """
    y, diagonal, curvature, upper = problem
    largest, smallest, kept = -np.inf, np.inf, 0
    first, cells = np.empty((2, samples.offsets.size), np.int64)
    for i in order:
        count = find_cells(i, samples, first, cells)
        old = alpha[i]
        gradient = y[i] * score(count, first, cells, lost) - 1.0 + diagonal[i] * old
        if (old <= 0.0 and gradient > bounds[0]) or (old >= upper[i] and gradient < bounds[1]):
            continue
        order[kept] = i
        kept += 1
        projected = gradient
        if old <= 0.0:
            projected = min(gradient, 0.0)
        elif old >= upper[i]:
            projected = max(gradient, 0.0)
        largest, smallest = max(largest, projected), min(smallest, projected)
        if projected != 0.0:
            alpha[i] = min(max(old - gradient / curvature[i], 0.0), upper[i])
            add((alpha[i] - old) * y[i], count, first, cells, samples.heights, lost)
    return kept, largest, smallest


@njit(inlined=(simd,))
def fill_table(rows, coefficients, samples, lost):
    """Add the table of these coefficients."""
    first, cells = np.empty((2, samples.offsets.size), np.int64)
    for i in rows:
        if coefficients[i] != 0.0:
            count = find_cells(i, samples, first, cells)
            add(coefficients[i], count, first, cells, samples.heights, lost)
