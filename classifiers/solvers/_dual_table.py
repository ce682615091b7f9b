"""Loops of dual coordinate descent on the table T ([Wu10], Algorithm 2), one problem at a time.

The table has a cell for each numbered level of each feature, beginning at multiples of eight
cells; ``heights`` holds the cells' levels. Samples are rows of one flat array of codes: row i has
``codes[pointers[i] : pointers[i + 1]]``, of the features ``indices`` at the same places, or of all
features in order where ``indices`` is empty. Adding to the cells of one feature is written in
LLVM's language: a loop of so few turns would spend more on its preparation than on its work.
"""

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords.compiled import njit

LANES = 8


@intrinsic
def add_minima(typing, table, heights, start, stop, height, factor):
    """table[k] += factor min(heights[k], height) for start <= k < stop, multiples of eight."""
    number = table.dtype
    arguments = (table, heights, types.int64, types.int64, types.float32, number)
    return types.void(*arguments), _emit_add_minima


def _emit_add_minima(context, builder, signature, arguments):
    table, heights = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1)
    )
    number = context.get_value_type(signature.args[5])
    single, vector = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(number, LANES)
    height = _everywhere(builder, arguments[4], single)
    factor = _everywhere(builder, arguments[5], vector)
    step = ir.Constant(arguments[2].type, LANES)
    with cgutils.for_range_slice(builder, *arguments[2:4], step, inc=True) as (k, _):
        where = builder.bitcast(builder.gep(table.data, [k]), vector.as_pointer())
        other = builder.bitcast(builder.gep(heights.data, [k]), single.as_pointer())
        level = builder.load(other, align=4)
        smaller = builder.select(builder.fcmp_ordered("<", level, height), level, height)
        if number != ir.FloatType():
            smaller = builder.fpext(smaller, vector)
        added = builder.fadd(builder.load(where, align=4), builder.fmul(smaller, factor))
        builder.store(added, where, align=4)
    return context.get_dummy_value()


def _everywhere(builder, value, vector):
    """A vector of one value."""
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, nothing, zeros)


def _plain_add_minima(table, heights, start, stop, height, factor):
    table[start:stop] += factor * np.minimum(heights[start:stop], height)


if numba.config.DISABLE_JIT:  # then numba runs the kernels as Python, which has no intrinsics
    add_minima = _plain_add_minima


@njit()
def score(codes, offsets, table):
    """sum_j T[j, x_j] over all features  [Wu10, Eq. 6], in four sums that do not wait."""
    a = b = c = d = 0.0
    n = np.uint64(codes.size)
    whole = n - n % np.uint64(4)
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    for j in range(np.uint64(0), whole, np.uint64(4)):
        a += table[offsets[j] + codes[j]]
        b += table[offsets[j + one] + codes[j + one]]
        c += table[offsets[j + two] + codes[j + two]]
        d += table[offsets[j + three] + codes[j + three]]
    for j in range(whole, n):
        a += table[offsets[j] + codes[j]]
    return (a + b) + (c + d)


@njit()
def sparse_score(codes, indices, offsets, table):
    """Likewise over the stored features."""
    total = 0.0
    for k in range(np.uint64(codes.size)):
        total += table[offsets[indices[k]] + codes[k]]
    return total


@njit()
def add(codes, indices, offsets, heights, factor, table):
    """T_jk += factor min(x_j, k) for all levels of the table  [Wu10, Eq. 12]."""
    for k in range(np.uint64(codes.size)):
        j = np.uint64(indices[k]) if indices.size else k
        height = heights[offsets[j] + codes[k]]
        if height > 0:
            add_minima(table, heights, offsets[j], offsets[j + np.uint64(1)], height, factor)


@njit()
def epoch(
    codes, indices, pointers, offsets, heights, y, diagonal, curvature, upper, order, bounds,
    alpha, table,
):  # fmt: skip
    """Visit the samples of ``order`` once; return how many were kept, and the extremes of PG.

    A sample at a bound whose gradient points out of the box by more than ``bounds`` is dropped:
    ``order`` keeps the others in front  [LIBLINEAR's shrinking].
    """
    largest, smallest, kept = -np.inf, np.inf, 0
    for i in order:
        row = codes[pointers[i] : pointers[i + 1]]
        features = indices[pointers[i] : pointers[i + 1]]
        value = (
            sparse_score(row, features, offsets, table)
            if indices.size
            else score(row, offsets, table)
        )
        old = alpha[i]
        gradient = y[i] * value - 1.0 + diagonal[i] * old
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
            change = table.dtype.type((alpha[i] - old) * y[i])
            add(row, features, offsets, heights, change, table)
    return kept, largest, smallest


@njit()
def fill_table(codes, indices, pointers, offsets, heights, rows, coefficients, table):
    """Add T of these coefficients to the table."""
    for i in rows:
        if coefficients[i] != 0.0:
            row = codes[pointers[i] : pointers[i + 1]]
            features = indices[pointers[i] : pointers[i + 1]]
            change = table.dtype.type(coefficients[i])
            add(row, features, offsets, heights, change, table)
