"""Loops over rows of (column, level) pairs with one short vector of weights a column.

Several one-vs-rest problems ("members") share a row of the weights, w[column] = (member 0's vector,
member 1's vector, …), so that one read of a pair and of its table entry serves them all. LLVM does
not turn these loops into vector instructions by itself; the two innermost are therefore written in
its language, with vectors that it maps to whatever the processor has.
"""

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.types.containers import UniTuple
from numba.extending import intrinsic

from visualwords.compiled import njit

FAR = 0.25  # of the violation: samples at a bound with a gradient so far beyond it rest
_ACCUMULATORS = 4  # independent sums that hide the latency of an addition
_I32, _I64 = ir.IntType(32), ir.IntType(64)


def _vector(length):
    return ir.VectorType(ir.FloatType(), length)


def _load_row(builder, array, row, length):
    """Pointer to row ``row`` of a C-ordered float32 array with rows of ``length``, as a vector."""
    first = builder.gep(array.data, [builder.mul(row, ir.Constant(_I64, length))])
    return builder.bitcast(first, _vector(length).as_pointer())


def _load_pair(builder, columns, levels, position):
    """Column and level at a position, as 64-bit integers."""
    return [
        builder.zext(builder.load(builder.gep(array.data, [position])), _I64)
        for array in (columns, levels)
    ]


def _load_some(builder, array, position):
    """As many numbers from a position on as there are accumulators, as 64-bit integers.

    They are loaded by words and taken apart by shifts: processors load less often than they add.
    Smaller ones would need words that reach beyond the end of the array.
    """
    bits = array.data.type.pointee.width
    assert _ACCUMULATORS * bits >= 64, f"numbers of {bits} bits"
    first = builder.bitcast(builder.gep(array.data, [position]), _I64.as_pointer())
    numbers = []
    for k in range(_ACCUMULATORS):
        word, shift = divmod(k * bits, 64)
        if shift == 0:
            whole = builder.load(builder.gep(first, [ir.Constant(_I64, word)]), align=bits // 8)
        number = builder.lshr(whole, ir.Constant(_I64, shift))
        numbers.append(builder.and_(number, ir.Constant(_I64, (1 << bits) - 1)))
    return numbers


def _repeat(builder, vector, rank, members):
    """(vector, vector, …): the same table entry for every member."""
    mask = ir.Constant(ir.VectorType(_I32, rank * members), [*range(rank)] * members)
    return builder.shuffle_vector(vector, vector, mask)


def _fused_add(builder, a, b, c):
    """a b + c of vectors."""
    kind = ir.FunctionType(c.type, [c.type] * 3)
    name = f"llvm.fma.v{c.type.count}f32"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [a, b, c])


@intrinsic
def row_scores(typing, columns, levels, start, stop, table, weights, out, rank, members):
    """out[m] = sum over start <= q < stop of w[column_q, m] . table[level_q]  [Yang12, Eq. 20].

    columns, levels : unsigned           table : (levels, rank) float32, C order
    weights : (d, members * rank) float32, C order           out : (members,) float32
    rank, members : tuples of as many zeros, since the lengths must be known to the compiler
    """
    rank, members = rank.count, members.count
    length = rank * members

    def emit(context, builder, signature, arguments):
        column, level, entry, weight, result = (
            context.make_array(signature.args[k])(context, builder, arguments[k])
            for k in (0, 1, 4, 5, 6)
        )
        zero = ir.Constant(_vector(length), [0.0] * length)
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(_ACCUMULATORS)]
        step = ir.Constant(_I64, _ACCUMULATORS)
        count = builder.sub(arguments[3], arguments[2])
        whole = builder.udiv(count, step)

        def add(j, k, total):
            w = builder.load(_load_row(builder, weight, j, length), align=4)
            t = builder.load(_load_row(builder, entry, k, rank), align=4)
            t = _repeat(builder, t, rank, members)
            builder.store(_fused_add(builder, w, t, builder.load(total)), total)

        with cgutils.for_range(builder, whole) as loop:
            first = builder.add(arguments[2], builder.mul(loop.index, step))
            for j, k, total in zip(*(_load_some(builder, a, first) for a in (column, level)), sums):
                add(j, k, total)
        done = builder.add(arguments[2], builder.mul(whole, step))
        with cgutils.for_range(builder, builder.sub(arguments[3], done)) as loop:
            j, k = _load_pair(builder, column, level, builder.add(done, loop.index))
            add(j, k, sums[0])
        total = builder.load(sums[0])
        for other in sums[1:]:
            total = builder.fadd(total, builder.load(other))
        for m in range(members):
            lanes = [
                builder.extract_element(total, ir.Constant(_I32, m * rank + k)) for k in range(rank)
            ]
            score = lanes[0]
            for lane in lanes[1:]:
                score = builder.fadd(score, lane)
            builder.store(score, builder.gep(result.data, [ir.Constant(_I64, m)]))
        return context.get_dummy_value()

    kinds = (columns, levels, types.int64, types.int64, table, weights, out)
    return types.void(*kinds, _zeros(rank), _zeros(members)), emit


@intrinsic
def row_update(typing, columns, levels, start, stop, table, steps, weights, rank, members):
    """w[column_q, m] += steps[m] table[level_q] for start <= q < stop  [Yang12, Algorithm 3]."""
    rank, members = rank.count, members.count
    length = rank * members

    def emit(context, builder, signature, arguments):
        column, level, entry, step, weight = (
            context.make_array(signature.args[k])(context, builder, arguments[k])
            for k in (0, 1, 4, 5, 6)
        )
        factor = ir.Constant(_vector(length), ir.Undefined)
        for k in range(length):
            lane = builder.load(builder.gep(step.data, [ir.Constant(_I64, k // rank)]))
            factor = builder.insert_element(factor, lane, ir.Constant(_I32, k))
        size = ir.Constant(_I64, _ACCUMULATORS)
        whole = builder.udiv(builder.sub(arguments[3], arguments[2]), size)

        def add(j, k):
            t = builder.load(_load_row(builder, entry, k, rank), align=4)
            w = _load_row(builder, weight, j, length)
            t = _repeat(builder, t, rank, members)
            builder.store(_fused_add(builder, factor, t, builder.load(w, align=4)), w, align=4)

        with cgutils.for_range(builder, whole) as loop:
            first = builder.add(arguments[2], builder.mul(loop.index, size))
            for j, k in zip(*(_load_some(builder, a, first) for a in (column, level))):
                add(j, k)
        done = builder.add(arguments[2], builder.mul(whole, size))
        with cgutils.for_range(builder, builder.sub(arguments[3], done)) as loop:
            add(*_load_pair(builder, column, level, builder.add(done, loop.index)))
        return context.get_dummy_value()

    kinds = (columns, levels, types.int64, types.int64, table, steps, weights)
    return types.void(*kinds, _zeros(rank), _zeros(members)), emit


def _zeros(count):
    return UniTuple(types.int64, count)


if numba.config.DISABLE_JIT:  # the same, for looking at the loops in plain Python

    def row_scores(columns, levels, start, stop, table, weights, out, rank, members):
        w = weights[columns[start:stop]].reshape(-1, len(members), len(rank))
        out[:] = np.einsum("qmk,qk->m", w, table[levels[start:stop]])

    def row_update(columns, levels, start, stop, table, steps, weights, rank, members):
        change = steps[None, :, None] * table[levels[start:stop]][:, None]
        np.add.at(weights, columns[start:stop], change.reshape(-1, weights.shape[1]))


@njit()
def rest(alpha, gradients, upper, limits, active, members):
    """Samples at a bound with a gradient beyond it by the limit rest  [Hsieh08, Sec. 3.2]."""
    alpha, gradients = alpha.reshape(-1), gradients.reshape(-1)
    for m in range(len(members)):
        bit, limit = np.uint8(1 << m), limits[m]
        for i in range(active.size):
            a, g = alpha[i * len(members) + m], gradients[i * len(members) + m]
            far = ((a <= 0) & (g > limit)) | ((a >= upper[i]) & (g < -limit))
            active[i] &= ~(bit if far else np.uint8(0))


@njit()
def visiting_order(starts, block, active):
    """Active rows, block by block in the order of ``starts``."""
    order, count = np.empty(active.size + 1, np.uint32), np.uint64(0)
    for start in starts:
        for i in range(np.uint64(start), np.uint64(min(start + block, active.size))):
            order[count] = i
            count += np.uint64(active[i] != 0)
    return order[:count]


@njit()
def step(gradient, alpha, upper, curvature):
    """New alpha and the projected gradient  [Yang12, Algorithm 2, line 7]; hinge loss."""
    zero = np.float32(0)
    below, above = (gradient if gradient < zero else zero), (gradient if gradient > zero else zero)
    projected = above if alpha >= upper else gradient
    projected = below if alpha <= zero else projected
    new = alpha - gradient / curvature
    new = new if new > zero else zero
    return (new if new < upper else upper), projected


@njit()
def epoch(
    columns, levels, bounds, starts, block, code, positive, curvature, upper,
    score_table, update_table, alpha, gradients, active, limits, seen, weights, rank, members,
):  # fmt: skip
    """Visit the active samples once.

    code : (n,) class of every sample         positive : (members,) class against the rest
    alpha : (n, members) float32              active : (n,) bit m: member m visits the sample
    gradients : (n, members) float32, right after the last visit
    limits : (members,) float32
    seen : (3, members) largest and smallest projected gradient, number of visits
    """
    scores = np.empty(len(members), np.float32)
    steps = np.empty(len(members), np.float32)
    rest(alpha, gradients, upper, limits, active, members)
    for i in visiting_order(starts, block, active):
        first, last = bounds[i], bounds[i + 1]
        row_scores(columns, levels, first, last, score_table, weights, scores, rank, members)
        moved = False
        for m in range(len(members)):
            steps[m] = 0
            if (active[i] >> m) & 1 == 0:
                continue
            sign = np.float32(1) if code[i] == positive[m] else np.float32(-1)
            gradient, old = sign * scores[m] - np.float32(1), alpha[i, m]
            new, projected = step(gradient, old, upper[i], curvature[i])
            if projected > seen[0, m]:
                seen[0, m] = projected
            if projected < seen[1, m]:
                seen[1, m] = projected
            seen[2, m] += 1
            gradients[i, m] = gradient + (new - old) * curvature[i]
            if new != old:
                steps[m] = (new - old) * sign
                alpha[i, m] = new
                moved = True
        if moved:
            row_update(columns, levels, first, last, update_table, steps, weights, rank, members)


@njit()
def judge(n_iter, tol, upper, active, pending, limits, violation, seen):
    """After a pass: which members are solved, which need their resting samples again.

    pending : (members,) not solved         violation : (members,) of the last pass
    """
    for m in range(pending.size):
        bit = np.uint8(1 << m)
        if pending[m]:
            violation[m] = max(seen[0, m] - seen[1, m], 0.0)
            limits[m] = np.inf
            if violation[m] > tol:
                if n_iter > 1:  # the first pass says little: it started from nothing
                    limits[m] = FAR * violation[m]
            elif seen[2, m] == np.count_nonzero(upper):
                pending[m] = False
                active &= ~bit
            else:
                active |= np.where(upper > 0, bit, np.uint8(0))
        seen[0, m], seen[1, m], seen[2, m] = -np.inf, np.inf, 0


@njit()
def passes(
    columns, levels, bounds, orders, block, code, positive, curvature, upper, score_table,
    update_table, alpha, gradients, active, pending, limits, violation, seen, weights, n_iter, tol,
    rank, members,
):  # fmt: skip
    """Pass after pass in the given orders, until all members are solved; returns how many."""
    for k in range(orders.shape[0]):
        if not pending.any():
            return k
        epoch(
            columns, levels, bounds, orders[k], block, code, positive, curvature, upper,
            score_table, update_table, alpha, gradients, active, limits, seen, weights,
            rank, members,
        )  # fmt: skip
        judge(n_iter + k + 1, tol, upper, active, pending, limits, violation, seen)
    return orders.shape[0]


@njit()
def scores(columns, levels, bounds, table, weights, out, rank, members):
    """out[i] = scores of row i for all members."""
    for i in range(out.shape[0]):
        row_scores(columns, levels, bounds[i], bounds[i + 1], table, weights, out[i], rank, members)
