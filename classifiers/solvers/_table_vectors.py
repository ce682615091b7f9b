"""Innermost loops over tables of dual coordinate descent, in LLVM's language.

Some have so few turns that their preparation would cost more than their work, and from the others
numba's LLVM makes no good vectors. What the arrays are: see the loops around them, ``_dual_table``.
"""

from contextlib import contextmanager

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords.classifiers.solvers._vectors import everywhere

LANES = 8
FRONT = 4
FRONT_LANES = 16


@intrinsic
def add_excess(typing, lost, heights, start, stop, height, factor):
    """lost[k] += factor max(height - heights[k], 0), start <= k < stop, eight at a time."""
    number = lost.dtype
    arguments = (lost, heights, types.int64, types.int64, types.float32, number)
    return types.void(*arguments), _emit_add_excess


def _emit_add_excess(context, builder, signature, arguments):
    lost, heights = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1)
    )
    number = context.get_value_type(signature.args[5])
    single, vector = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(number, LANES)
    height = everywhere(builder, arguments[4], single)
    factor = everywhere(builder, arguments[5], vector)
    zeros = ir.Constant(single, [0.0] * LANES)
    step = ir.Constant(arguments[2].type, LANES)
    with cgutils.for_range_slice(builder, *arguments[2:4], step, inc=True) as (k, _):
        where = builder.bitcast(builder.gep(lost.data, [k]), vector.as_pointer())
        other = builder.bitcast(builder.gep(heights.data, [k]), single.as_pointer())
        excess = builder.fsub(height, builder.load(other, align=4))
        excess = builder.select(builder.fcmp_ordered(">", excess, zeros), excess, zeros)
        if number != ir.FloatType():
            excess = builder.fpext(excess, vector)
        added = builder.fadd(builder.load(where, align=4), builder.fmul(excess, factor))
        builder.store(added, where, align=4)
    return context.get_dummy_value()


@intrinsic
def front_score(typing, counts, i, start, stop, front):
    """sum over t and start <= j < stop of front[t, j] where counts[i, j] > t."""
    return front.dtype(counts, *[types.int64] * 3, front), _emit_front_score


def _emit_front_score(context, builder, signature, arguments):
    counts, front = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 4)
    )
    vector = ir.VectorType(context.get_value_type(signature.return_type), FRONT_LANES)
    sums = _Sums(builder, vector)
    with _features(builder, *arguments[2:4]) as j:
        codes = _codes(builder, counts, arguments[1], j)
        for t in range(FRONT):
            steps = builder.load(_step_address(builder, front, t, j, vector), align=4)
            sums.add(t, _above(builder, codes, t), steps)
    return sums.total()


@intrinsic
def front_turn(typing, counts, added, scored, start, stop, rises, factor, front):
    """front[t, j] += factor rises[t] where counts[added, j] > t, then score another sample."""
    integers = [types.int64] * 4
    return front.dtype(counts, *integers, rises, front.dtype, front), _emit_front_turn


def _emit_front_turn(context, builder, signature, arguments):
    counts, rises, front = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 5, 7)
    )
    number = context.get_value_type(signature.return_type)
    vector = ir.VectorType(number, FRONT_LANES)
    changes = []
    for t in range(FRONT):
        rise = builder.load(builder.gep(rises.data, [ir.IntType(64)(t)]))
        if number != ir.FloatType():
            rise = builder.fpext(rise, number)
        changes.append(everywhere(builder, builder.fmul(rise, arguments[6]), vector))
    sums = _Sums(builder, vector)
    with _features(builder, *arguments[3:5]) as j:
        added, scored = (_codes(builder, counts, arguments[k], j) for k in (1, 2))
        for t, change in enumerate(changes):
            where = _step_address(builder, front, t, j, vector)
            steps = builder.load(where, align=4)
            more = builder.fadd(steps, change)
            steps = builder.select(_above(builder, added, t), more, steps)
            builder.store(steps, where, align=4)
            sums.add(t, _above(builder, scored, t), steps)
    return sums.total()


class _Sums:
    """Sums of vectors, one for each step of the front, that do not wait for each other."""

    def __init__(self, builder, vector):
        self.builder, self.vector = builder, vector
        self.zeros = ir.Constant(vector, [0.0] * vector.count)
        self.places = [cgutils.alloca_once_value(builder, self.zeros) for _ in range(FRONT)]

    def add(self, t, chosen, values):
        """Add those values that are chosen."""
        values = self.builder.select(chosen, values, self.zeros)
        sums = self.builder.fadd(self.builder.load(self.places[t]), values)
        self.builder.store(sums, self.places[t])

    def total(self):
        """The sum of all."""
        total = self.zeros
        for where in self.places:
            total = self.builder.fadd(total, self.builder.load(where))
        lanes = range(self.vector.count)
        parts = [self.builder.extract_element(total, ir.IntType(32)(k)) for k in lanes]
        while len(parts) > 1:
            parts = [self.builder.fadd(a, b) for a, b in zip(parts[::2], parts[1::2])]
        return parts[0]


@contextmanager
def _features(builder, start, stop):
    """Loop over features of the front."""
    step = ir.Constant(start.type, FRONT_LANES)
    with cgutils.for_range_slice(builder, start, stop, step, inc=True) as (j, _):
        yield j


def _codes(builder, counts, i, j):
    """Codes of sample i from feature j on, as 32-bit numbers."""
    d = cgutils.unpack_tuple(builder, counts.shape)[1]
    bytes_type = ir.VectorType(ir.IntType(8), FRONT_LANES)
    place = builder.gep(counts.data, [builder.add(builder.mul(i, d), j)])
    codes = builder.load(builder.bitcast(place, bytes_type.as_pointer()), align=1)
    return builder.zext(codes, ir.VectorType(ir.IntType(32), FRONT_LANES))


def _above(builder, codes, t):
    """Which codes are greater than t."""
    limit = ir.Constant(codes.type, [t] * codes.type.count)
    return builder.icmp_unsigned(">", codes, limit)


def _step_address(builder, front, t, j, vector):
    """Address of the steps t of the features from j on, as that of a vector."""
    place = builder.add(
        builder.mul(j, ir.Constant(j.type, FRONT)), ir.Constant(j.type, t * FRONT_LANES)
    )
    return builder.bitcast(builder.gep(front.data, [place]), vector.as_pointer())


def _plain_add_excess(lost, heights, start, stop, height, factor):
    whole = slice(start, start + -(-(stop - start) // LANES) * LANES)
    lost[whole] += factor * np.maximum(height - heights[whole], 0)


def _plain_front_score(counts, i, start, stop, front):
    reached = counts[i, start:stop].reshape(-1, 1, FRONT_LANES) > np.arange(FRONT)[:, None]
    steps = front[FRONT * start : FRONT * stop].reshape(reached.shape)
    return steps[reached].sum()


def _plain_front_turn(counts, added, scored, start, stop, rises, factor, front):
    reached = counts[added, start:stop].reshape(-1, 1, FRONT_LANES) > np.arange(FRONT)[:, None]
    steps = front[FRONT * start : FRONT * stop].reshape(reached.shape)
    steps += factor * reached * rises[:, None]
    return _plain_front_score(counts, scored, start, stop, front)


if numba.config.DISABLE_JIT:  # then numba runs the kernels as Python, which has no intrinsics
    add_excess = _plain_add_excess
    front_score, front_turn = _plain_front_score, _plain_front_turn
