"""Loops of dual coordinate descent on a Gram matrix, for one problem or eight at a time.

Samples are visited in blocks: inside a block only the block's own scores are kept up to date, and
its steps are added to all scores at its end, so that these are read once a block and not once a
step. The steps are those of visiting one by one. Eight one-vs-rest problems are the lanes of a
vector; numba keeps LLVM from packing such short loops, so they are written in LLVM's language.
"""

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords import simd
from visualwords.compiled import njit

LANES = 8
BLOCK = 16  # samples
_TOGETHER = 8  # rows that are added in one pass over the scores
_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)


@intrinsic
def add_block(typing, gram, rows, steps, scores):
    """scores[v] += sum_k gram[rows[k], v] steps[k] for all v, k < BLOCK, in all lanes.

    gram : (n, n), C order   rows : (BLOCK,) int64   steps : (BLOCK, LANES)   scores : (n, LANES)
    """
    return types.void(gram, rows, steps, scores), _emit_add_block


def _emit_add_block(context, builder, signature, arguments):
    gram, rows, steps, scores = simd.arrays(context, builder, signature, arguments, range(4))
    number = context.get_data_type(signature.args[3].dtype)
    vector = ir.VectorType(number, LANES)
    n = simd.row_length(builder, gram)
    pointers, factors = [], []
    for k in range(BLOCK):
        row = builder.load(builder.gep(rows.data, [simd.INDEX(k)]))
        pointers.append(builder.gep(gram.data, [builder.mul(row, n)]))
        factors.append(_load_lanes(builder, steps, simd.INDEX(k), vector))
    with cgutils.for_range(builder, n) as loop:
        sums = [_load_lanes(builder, scores, loop.index, vector), simd.constant(vector, 0.0)]
        for k, (pointer, factor) in enumerate(zip(pointers, factors)):
            value = builder.load(builder.gep(pointer, [loop.index]))
            if value.type != number:
                value = builder.fpext(value, number)
            value = simd.broadcast(builder, value, LANES)
            sums[k % 2] = simd.multiply_add(builder, value, factor, sums[k % 2])
        _store_lanes(builder, builder.fadd(*sums), scores, loop.index)
    return context.get_dummy_value()


@intrinsic
def step_lanes(typing, i, k, y, diagonal, curvature, upper, live, alpha, here, extremes, changes):
    """Visit sample i, whose scores are here[k], in all lanes; changes[k] = those of alpha times y.

    y, alpha : (n, LANES)    live : (LANES,)    here, changes : (BLOCK, LANES)    all float64
    """
    number = types.float64
    kinds = i, k, y, number, number, number, live, alpha, here, extremes, changes
    return types.void(*kinds), _emit_step_lanes


def _emit_step_lanes(context, builder, signature, arguments):
    i, k = arguments[:2]
    diagonal, curvature, upper = (simd.broadcast(builder, v, LANES) for v in arguments[3:6])
    y, live, alpha, here, extremes, changes = simd.arrays(
        context, builder, signature, arguments, (2, 6, 7, 8, 9, 10)
    )
    zero, one = (simd.constant(_DOUBLES, value) for value in (0.0, 1.0))

    def better(relation, a, b):
        return builder.select(builder.fcmp_ordered(relation, a, b), a, b)

    first, second = simd.INDEX(0), simd.INDEX(1)
    sign, old = _load_lanes(builder, y, i), _load_lanes(builder, alpha, i)
    margin = builder.fsub(builder.fmul(sign, _load_lanes(builder, here, k)), one)
    gradient = builder.fadd(margin, builder.fmul(diagonal, old))
    projected = builder.select(
        builder.fcmp_ordered(">=", old, upper), better(">", gradient, zero), gradient
    )
    projected = builder.select(
        builder.fcmp_ordered("<=", old, zero), better("<", gradient, zero), projected
    )
    for row, relation in ((first, ">"), (second, "<")):
        kept = better(relation, projected, _load_lanes(builder, extremes, row))
        _store_lanes(builder, kept, extremes, row)
    new = better(">", builder.fsub(old, builder.fdiv(gradient, curvature)), zero)
    new = better("<", new, upper)
    is_live = builder.fcmp_ordered(">", _load_lanes(builder, live, first), zero)
    new = builder.select(is_live, new, old)
    _store_lanes(builder, new, alpha, i)
    _store_lanes(builder, builder.fmul(builder.fsub(new, old), sign), changes, k)
    return context.get_dummy_value()


@intrinsic
def add_lanes(typing, here, other, changes, k, factor):
    """here[other] += changes[k] factor, in all lanes; float64."""
    return types.void(here, other, changes, k, types.float64), _emit_add_lanes


def _emit_add_lanes(context, builder, signature, arguments):
    here, changes = simd.arrays(context, builder, signature, arguments, (0, 2))
    step = _load_lanes(builder, changes, arguments[3])
    added = builder.fmul(step, simd.broadcast(builder, arguments[4], LANES))
    before = _load_lanes(builder, here, arguments[1])
    _store_lanes(builder, builder.fadd(before, added), here, arguments[1])
    return context.get_dummy_value()


def _load_lanes(builder, array, row, vector=_DOUBLES):
    """array[row] of a C-ordered array (n, LANES)."""
    return simd.load(builder, array.data, builder.mul(row, simd.INDEX(LANES)), vector)


def _store_lanes(builder, value, array, row):
    """array[row] = value."""
    simd.store(builder, value, array.data, builder.mul(row, simd.INDEX(LANES)))


def _plain_add_block(gram, rows, steps, scores):
    scores += gram[rows].T @ steps


def _plain_step_lanes(
    i, k, y, diagonal, curvature, upper, live, alpha, here, extremes, changes
):  # fmt: skip
    old = alpha[i].copy()
    gradient = y[i] * here[k] - 1 + diagonal * old
    projected = np.where(old >= upper, np.maximum(gradient, 0), gradient)
    projected = np.where(old <= 0, np.minimum(gradient, 0), projected)
    extremes[0] = np.maximum(extremes[0], projected)
    extremes[1] = np.minimum(extremes[1], projected)
    alpha[i] = np.where(live > 0, np.clip(old - gradient / curvature, 0, upper), old)
    changes[k] = (alpha[i] - old) * y[i]


def _plain_add_lanes(here, other, changes, k, factor):
    here[other] += changes[k] * factor


if numba.config.DISABLE_JIT:  # then numba runs the kernels as Python, which has no intrinsics
    add_block, step_lanes, add_lanes = _plain_add_block, _plain_step_lanes, _plain_add_lanes


@njit(inlined=(simd,))
def epoch_of_lanes(gram, order, y, diagonal, curvature, upper, alpha, scores, live, extremes):
    """Visit the samples of ``order`` once in the problems that are live.

    gram : (n, n) float32      y, alpha : (groups, n, LANES) float64    live : (groups, LANES) 0, 1
    scores : (groups, n, LANES) float32 or float64; gram @ (alpha * y) is kept up to date
    extremes : (groups, 2, LANES) become the largest and the smallest projected gradient met
    """
    for g in range(extremes.shape[0]):
        for c in range(LANES):
            extremes[g, 0, c], extremes[g, 1, c] = -np.inf, np.inf
    near, rows = np.empty((BLOCK, BLOCK)), np.zeros(BLOCK, np.int64)
    here, changes = np.empty((BLOCK, LANES)), np.empty((BLOCK, LANES))
    steps = np.empty((BLOCK, LANES), scores.dtype)
    for start in range(0, order.size, BLOCK):
        count = min(BLOCK, order.size - start)
        for k in range(count):
            rows[k] = order[start + k]
            for other in range(k):
                near[other, k] = gram[rows[k], rows[other]]
        for g in range(scores.shape[0]):
            if live[g].any():
                visit_block(
                    near, rows[:count], y[g], diagonal, curvature, upper, live[g], alpha[g],
                    scores[g], here, extremes[g], changes,
                )  # fmt: skip
                for k in range(BLOCK):
                    for c in range(LANES):
                        steps[k, c] = changes[k, c]
                add_block(gram, rows, steps, scores[g])


@njit(inlined=(simd,))
def visit_block(
    near, rows, y, diagonal, curvature, upper, live, alpha, scores, here, extremes, changes
):  # fmt: skip
    """Visit some samples in all lanes; ``changes`` become those of alpha times y."""
    changes[rows.size :] = 0
    for k in range(rows.size):
        for c in range(LANES):
            here[k, c] = scores[rows[k], c]
    for k in range(rows.size):
        i = rows[k]
        step_lanes(
            i, k, y, diagonal[i], curvature[i], upper[i], live, alpha, here, extremes, changes
        )
        for other in range(k + 1, rows.size):
            add_lanes(here, other, changes, k, near[k, other])


@njit()
def duality_gaps(rows, y, diagonal, upper, alpha, scores, gaps):
    """gaps[c] = primal less dual objective of problem c, relative to the dual.

    y, alpha, scores : (n, problems)
    """
    for c in range(gaps.size):
        half, total, squares, loss = 0.0, 0.0, 0.0, 0.0
        for i in rows:
            margin = y[i, c] * scores[i, c]
            slack = max(1.0 - margin, 0.0)
            half += 0.5 * alpha[i, c] * margin
            total += alpha[i, c]
            squares += 0.5 * diagonal[i] * alpha[i, c] * alpha[i, c]
            if diagonal[i] > 0.0:
                loss += slack * slack / (2.0 * diagonal[i])
            elif slack > 0.0:
                loss += upper[i] * slack
        dual = total - half - squares
        gaps[c] = (half + loss - dual) / max(dual, 1e-300)


@njit()
def epoch(gram, order, y, diagonal, curvature, upper, alpha, scores):
    """Visit the samples of ``order`` once; return the extremes of the projected gradient.

    gram : (n, n) float32                y, alpha : (n,) float64
    scores : (n,) float32 or float64; gram @ (alpha * y) is kept up to date
    """
    largest, smallest = -np.inf, np.inf
    near, here = np.empty((BLOCK, BLOCK)), np.empty(BLOCK)
    moved, steps = np.zeros(BLOCK, np.int64), np.zeros(BLOCK, scores.dtype)
    for start in range(0, order.size, BLOCK):
        rows = order[start : start + BLOCK]
        count = 0
        for k in range(rows.size):
            here[k] = scores[rows[k]]
            for other in range(k):
                near[other, k] = gram[rows[k], rows[other]]
        for k in range(rows.size):
            i = rows[k]
            old = alpha[i]
            gradient = y[i] * here[k] - 1.0 + diagonal[i] * old
            projected = gradient
            if old <= 0.0:
                projected = min(gradient, 0.0)
            elif old >= upper[i]:
                projected = max(gradient, 0.0)
            largest, smallest = max(largest, projected), min(smallest, projected)
            if projected != 0.0:
                alpha[i] = min(max(old - gradient / curvature[i], 0.0), upper[i])
                step = (alpha[i] - old) * y[i]
                for other in range(k + 1, rows.size):
                    here[other] += step * near[k, other]
                moved[count], steps[count] = i, step
                count += 1
        steps[count:] = 0
        for k in range(0, count, _TOGETHER):
            add_rows(gram, moved[k:], steps[k:], scores)
    return largest, smallest


@njit(fastmath={"contract", "reassoc"})
def add_rows(gram, rows, steps, scores):
    """scores += sum_k steps[k] gram[rows[k]] of eight rows."""
    a, b, c, d = steps[0], steps[1], steps[2], steps[3]
    e, f, g, h = steps[4], steps[5], steps[6], steps[7]
    x0, x1, x2, x3 = gram[rows[0]], gram[rows[1]], gram[rows[2]], gram[rows[3]]
    x4, x5, x6, x7 = gram[rows[4]], gram[rows[5]], gram[rows[6]], gram[rows[7]]
    for v in range(np.uint64(scores.size)):
        scores[v] += (
            (a * x0[v] + b * x1[v]) + (c * x2[v] + d * x3[v])
            + (e * x4[v] + f * x5[v]) + (g * x6[v] + h * x7[v])
        )  # fmt: skip
