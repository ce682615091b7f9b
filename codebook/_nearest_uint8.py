"""Scores of small whole numbers with words of 16 bits, by the processor's own instructions.

x86 multiplies 16, or 32, pairs of 16-bit numbers and adds neighbouring products in one
instruction (``pmaddwd``), twice as many as it can multiply in float32. LLVM keeps no block of such
sums in registers by itself, so that block is written in LLVM's language.
"""

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords.compiled import njit
from visualwords.processor import vector_bytes

POINTS, _VECTORS = 5, 2  # of the block whose sums stay in registers
LANES = {32: 8, 64: 16}.get(vector_bytes(), 0)  # 32-bit sums in a vector with pmaddwd
GROUP = LANES * _VECTORS  # words whose pairs lie side by side
_MULTIPLY_ADD = {8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}


@intrinsic
def block_of_scores(typing, pairs, point, words, group, bias, out, column):
    """out[p, column + w] = bias[column + w] + sum_j pairs[point + p, j] · words[group, j, w].

    pairs : (n, m) int32, each two int16      words : (n_groups, m, GROUP) int32, likewise
    bias : (k,) int32                         out : (POINTS, k) int32
    """
    return types.void(pairs, point, words, group, bias, out, column), _emit_block


def _emit_block(context, builder, signature, arguments):
    pairs, words, bias, out = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 4, 5)
    )
    length = cgutils.unpack_tuple(builder, pairs.shape)[1]
    width = cgutils.unpack_tuple(builder, out.shape)[1]
    point, group, column = arguments[1], arguments[3], arguments[6]
    rows = [
        builder.gep(pairs.data, [builder.mul(builder.add(point, _index(length, p)), length)])
        for p in range(POINTS)
    ]
    first_word = builder.mul(builder.mul(group, length), _index(length, GROUP))
    table = builder.gep(words.data, [first_word])
    start = [_load(builder, bias.data, column, v) for v in range(_VECTORS)]
    sums = [[cgutils.alloca_once_value(builder, s) for s in start] for _ in range(POINTS)]
    with cgutils.for_range(builder, length) as loop:
        position = builder.mul(loop.index, _index(length, GROUP))
        vectors = [_load(builder, table, position, v) for v in range(_VECTORS)]
        for p in range(POINTS):
            _add_products(
                builder, builder.load(builder.gep(rows[p], [loop.index])), vectors, sums[p]
            )
    for p in range(POINTS):
        row = builder.gep(out.data, [builder.add(builder.mul(_index(length, p), width), column)])
        for v in range(_VECTORS):
            target = builder.gep(row, [_index(length, v * LANES)])
            target = builder.bitcast(target, _sums_type().as_pointer())
            builder.store(builder.load(sums[p][v]), target, align=4)
    return context.get_dummy_value()


def _add_products(builder, pair, vectors, sums):
    """sums[v] += products of one pair of a point with the pairs of the words."""
    halves = ir.VectorType(ir.IntType(16), 2 * LANES)
    single = builder.insert_element(
        ir.Constant(_sums_type(), ir.Undefined), pair, ir.Constant(ir.IntType(32), 0)
    )
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    spread = builder.shuffle_vector(single, single, everywhere)
    kind = ir.FunctionType(_sums_type(), [halves, halves])
    multiply = cgutils.get_or_insert_function(builder.module, kind, _MULTIPLY_ADD[LANES])
    for vector, total in zip(vectors, sums):
        added = builder.call(
            multiply, [builder.bitcast(vector, halves), builder.bitcast(spread, halves)]
        )
        builder.store(builder.add(builder.load(total), added), total)


def _load(builder, data, position, vector):
    pointer = builder.gep(data, [builder.add(position, _index(position, vector * LANES))])
    return builder.load(builder.bitcast(pointer, _sums_type().as_pointer()), align=4)


def _index(like, value):
    return ir.Constant(like.type, value)


def _sums_type():
    return ir.VectorType(ir.IntType(32), LANES)


@njit()
def as_pairs(descriptors, start, pairs, lengths):
    """Descriptors from ``start`` on as int16, two in an int32; and their Euclidean lengths.

    descriptors : (n, d) uint8      pairs : (m, 2 ⌈d/2⌉) int16, zeroed      lengths : (m,) float32
    """
    stop = min(pairs.shape[0], descriptors.shape[0] - start)
    for i in range(stop):
        square = np.int32(0)
        for j in range(descriptors.shape[1]):
            value = np.int32(descriptors[start + i, j])
            pairs[i, j] = value
            square += value * value
        lengths[i] = np.sqrt(np.float32(square))
    return stop


@njit()
def best_in_block(
    pairs, n, lengths, words, first, bias, unsure, scores, numbers, label, best, close
):
    """Best word of each point among some groups of words; better ones replace what is there.

    pairs : (m, p) int32, m a multiple of POINTS, n <= m of them are points
    words : (n_groups, p, GROUP) int32             first : number of the first word
    bias : (n_groups * GROUP,) int32               unsure : scores closer than this times the
    length of a point may be in the wrong order    scores : (POINTS, n_groups * GROUP) int32
    numbers : 0, 1, 2 … as int32, one a score, which keeps the loop's index out of the vectors
    label, best : (n,) int32      close : (n,) bool, true where another score is that near
    """
    for point in range(0, n, POINTS):
        for group in range(words.shape[0]):
            block_of_scores(pairs, point, words, group, bias, scores, group * words.shape[2])
        for p in range(min(POINTS, n - point)):
            row, i = scores[p], point + p
            margin = np.int32(lengths[i] * unsure) + 2
            top = row[0]
            for w in range(row.size):
                top = max(top, row[w])
            limit = np.int32(top - margin)
            lowest, highest = np.int32(row.size), np.int32(-1)
            for w in range(row.size):
                lowest = min(lowest, numbers[w] if row[w] >= limit else np.int32(row.size))
                highest = max(highest, numbers[w] if row[w] >= limit else np.int32(-1))
            if first == 0 or top > best[i]:
                close[i] = lowest != highest or (first > 0 and top - best[i] <= margin)
                label[i] = lowest + first
                best[i] = top
            elif best[i] - top <= margin:
                close[i] = True
