"""Loops of dual coordinate descent on the table T ([Wu10], Algorithm 2), one problem at a time.

The table has a cell for each numbered level of each feature, beginning at multiples of eight
cells; ``heights`` holds the cells' levels. Samples are rows of one flat array of codes: row i has
``codes[pointers[i] : pointers[i + 1]]``, of the features ``indices`` at the same places, or of all
features in order where ``indices`` is empty.

Where most codes are small, the first FRONT steps of all features lie apart: front[t, j] is the step
of the table from code t to code t + 1, so a sample adds up those with t < x_j, eight features at a
time, and the table begins at code FRONT. ``counts`` (n, d) holds the codes as bytes.

The innermost loops are written in LLVM's language: some have so few turns that their preparation
would cost more than their work, and from the others numba's LLVM makes no good vectors.
"""

from contextlib import contextmanager

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords.compiled import njit

LANES = 8
FRONT = 4


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


@intrinsic
def front_score(typing, counts, i, front):
    """sum over t and j of front[t, j] where counts[i, j] > t."""
    return front.dtype(counts, types.int64, front), _emit_front_score


def _emit_front_score(context, builder, signature, arguments):
    counts, front = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2)
    )
    number = context.get_value_type(signature.return_type)
    vector = ir.VectorType(number, LANES)
    zeros = ir.Constant(vector, [0.0] * LANES)
    sums = [cgutils.alloca_once_value(builder, zeros) for _ in range(FRONT)]
    with _eight_features(builder, counts, arguments[1], front) as (codes, j, width):
        for t, where in enumerate(sums):
            steps = builder.load(_step_address(builder, front, t, j, width, vector), align=4)
            chosen = builder.select(_above(builder, codes, t), steps, zeros)
            builder.store(builder.fadd(builder.load(where), chosen), where)
    total = zeros
    for where in sums:
        total = builder.fadd(total, builder.load(where))
    lanes = [builder.extract_element(total, ir.IntType(32)(k)) for k in range(LANES)]
    while len(lanes) > 1:
        lanes = [builder.fadd(a, b) for a, b in zip(lanes[::2], lanes[1::2])]
    return lanes[0]


@intrinsic
def front_add(typing, counts, i, rises, factor, front):
    """front[t, j] += factor rises[t, j] where counts[i, j] > t."""
    return types.void(counts, types.int64, rises, front.dtype, front), _emit_front_add


def _emit_front_add(context, builder, signature, arguments):
    counts, rises, front = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 4)
    )
    number = context.get_value_type(signature.args[3])
    vector, single = ir.VectorType(number, LANES), ir.VectorType(ir.FloatType(), LANES)
    factor = _everywhere(builder, arguments[3], vector)
    zeros = ir.Constant(vector, [0.0] * LANES)
    with _eight_features(builder, counts, arguments[1], front) as (codes, j, width):
        for t in range(FRONT):
            rise = builder.load(_step_address(builder, rises, t, j, width, single), align=4)
            if number != ir.FloatType():
                rise = builder.fpext(rise, vector)
            added = builder.select(_above(builder, codes, t), builder.fmul(rise, factor), zeros)
            where = _step_address(builder, front, t, j, width, vector)
            builder.store(builder.fadd(builder.load(where, align=4), added), where, align=4)
    return context.get_dummy_value()


@contextmanager
def _eight_features(builder, counts, i, front):
    """Loop over the front's features; gives eight codes as 32-bit numbers, place and width."""
    d = cgutils.unpack_tuple(builder, counts.shape)[1]
    width = cgutils.unpack_tuple(builder, front.shape)[1]
    row = builder.gep(counts.data, [builder.mul(i, d)])
    bytes_type = ir.VectorType(ir.IntType(8), LANES)
    start, step = ir.Constant(width.type, 0), ir.Constant(width.type, LANES)
    with cgutils.for_range_slice(builder, start, width, step, inc=True) as (j, _):
        where = builder.bitcast(builder.gep(row, [j]), bytes_type.as_pointer())
        codes = builder.zext(builder.load(where, align=1), ir.VectorType(ir.IntType(32), LANES))
        yield codes, j, width


def _above(builder, codes, t):
    """Which of eight codes are greater than t."""
    limit = ir.Constant(codes.type, [t] * LANES)
    return builder.icmp_unsigned(">", codes, limit)


def _step_address(builder, array, t, j, width, vector):
    """Address of array[t, j] as that of a vector."""
    place = builder.add(builder.mul(ir.Constant(width.type, t), width), j)
    return builder.bitcast(builder.gep(array.data, [place]), vector.as_pointer())


def _everywhere(builder, value, vector):
    """A vector of one value."""
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, nothing, zeros)


def _plain_add_minima(table, heights, start, stop, height, factor):
    table[start:stop] += factor * np.minimum(heights[start:stop], height)


def _plain_front_score(counts, i, front):
    reached = counts[i, : front.shape[1]] > np.arange(FRONT)[:, None]
    return front[reached].sum()


def _plain_front_add(counts, i, rises, factor, front):
    reached = counts[i, : front.shape[1]] > np.arange(FRONT)[:, None]
    front[reached] += factor * rises[reached]


if numba.config.DISABLE_JIT:  # then numba runs the kernels as Python, which has no intrinsics
    add_minima = _plain_add_minima
    front_score, front_add = _plain_front_score, _plain_front_add


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
def value_of(i, codes, indices, pointers, offsets, counts, table, front):
    """The score of sample i."""
    row = codes[pointers[i] : pointers[i + 1]]
    if indices.size:
        value = sparse_score(row, indices[pointers[i] : pointers[i + 1]], offsets, table)
    else:
        value = score(row, offsets, table)
    if front.shape[1]:
        value += front_score(counts, i, front)
    return value


@njit()
def add_sample(
    i, factor, codes, indices, pointers, offsets, heights, counts, rises, table, front
):  # fmt: skip
    """Add factor times sample i to the tables."""
    start, end = pointers[i], pointers[i + 1]
    change = table.dtype.type(factor)
    add(codes[start:end], indices[start:end], offsets, heights, change, table)
    if front.shape[1]:
        front_add(counts, i, rises, change, front)


@njit()
def epoch(
    codes, indices, pointers, offsets, heights, counts, rises, y, diagonal, curvature, upper,
    order, bounds, alpha, table, front,
):  # fmt: skip
    """Visit the samples of ``order`` once; return how many were kept, and the extremes of PG.

    A sample at a bound whose gradient points out of the box by more than ``bounds`` is dropped:
    ``order`` keeps the others in front  [LIBLINEAR's shrinking].
    """
    largest, smallest, kept = -np.inf, np.inf, 0
    for i in order:
        value = value_of(i, codes, indices, pointers, offsets, counts, table, front)
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
            add_sample(
                i, (alpha[i] - old) * y[i], codes, indices, pointers, offsets, heights, counts,
                rises, table, front,
            )  # fmt: skip
    return kept, largest, smallest


@njit()
def fill_tables(
    rows, coefficients, codes, indices, pointers, offsets, heights, counts, rises, table, front
):  # fmt: skip
    """Add T of these coefficients to the tables."""
    for i in rows:
        if coefficients[i] != 0.0:
            add_sample(
                i, coefficients[i], codes, indices, pointers, offsets, heights, counts, rises,
                table, front,
            )  # fmt: skip


@njit()
def count_rest(codes, width, pointers):
    """pointers[i + 1] = how many codes of row i the front does not cover."""
    for i in range(codes.shape[0]):
        total = np.int64(0)
        for j in range(codes.shape[1]):
            total += np.int64(codes[i, j] > (FRONT if j < width else 0))
        pointers[i + 1] = total


@njit()
def collect_rest(codes, width, pointers, rest, indices):
    """Codes that the front does not cover, less FRONT where it covers a part, and features."""
    for i in range(codes.shape[0]):
        k = pointers[i]
        for j in range(codes.shape[1]):
            covered = FRONT if j < width else 0
            if codes[i, j] > covered:
                rest[k] = codes[i, j] - covered
                indices[k] = j
                k += 1
