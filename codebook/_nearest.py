"""The scores and sums from which the nearest word of a descriptor is found.

Scores of bytes with words of 16 bits are computed by the processor's own instructions: x86
multiplies 16, or 32, pairs of 16-bit numbers and adds neighbouring products in one instruction
(``pmaddwd``), twice as many as it can multiply in float32. LLVM keeps no block of such sums in
registers by itself, so that block is written in LLVM's language. Where the best of a block of
scores is too close to the second, float64 decides.
"""

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords import simd
from visualwords.compiled import njit, vector_bytes
from visualwords.simd import INDEX

POINTS, _VECTORS = 5, 2  # of the block whose sums stay in registers
LANES = {32: 8, 64: 16}.get(vector_bytes(), 0)  # 32-bit sums in a vector with pmaddwd
GROUP = LANES * _VECTORS  # words whose pairs lie side by side
_MULTIPLY_ADD = {8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}


@intrinsic
def block_of_scores(typing, pairs, words, group, bias, out, column):
    """out[p, column + w] = bias[column + w] + sum_j pairs[p, j] · words[group, j, w].

    pairs : (POINTS, m) int32, each two int16      words : (n_groups, m, GROUP) int32, likewise
    bias : (k,) int32                              out : (POINTS, k) int32
    """
    return types.void(pairs, words, group, bias, out, column), _emit_block


def _emit_block(context, builder, signature, arguments):
    pairs, words, bias, out = simd.arrays(context, builder, signature, arguments, (0, 1, 3, 4))
    group, column = arguments[2], arguments[5]
    length, width = simd.row_length(builder, pairs), simd.row_length(builder, out)
    points = simd.rows(builder, pairs, INDEX(0), POINTS)
    table = builder.gep(words.data, [builder.mul(builder.mul(group, length), INDEX(GROUP))])
    halves = ir.VectorType(ir.IntType(16), 2 * LANES)
    start = _load(builder, bias.data, column)
    sums = [[cgutils.alloca_once_value(builder, s) for s in start] for _ in range(POINTS)]
    with cgutils.for_range(builder, length) as loop:
        vectors = _load(builder, table, builder.mul(loop.index, INDEX(GROUP)))
        for row, totals in zip(points, sums):
            pair = simd.broadcast(builder, builder.load(builder.gep(row, [loop.index])), LANES)
            for vector, total in zip(vectors, totals):
                factors = [builder.bitcast(vector, halves), builder.bitcast(pair, halves)]
                added = simd.call(builder, _MULTIPLY_ADD[LANES], vector.type, factors)
                builder.store(builder.add(builder.load(total), added), total)
    for p in range(POINTS):
        first = builder.add(builder.mul(INDEX(p), width), column)
        for v, total in enumerate(sums[p]):
            place = builder.add(first, INDEX(v * LANES))
            simd.store(builder, builder.load(total), out.data, place)
    return context.get_dummy_value()


def _load(builder, data, position):
    """The vectors of a group, from a position on."""
    kind = ir.VectorType(ir.IntType(32), LANES)
    places = [builder.add(position, INDEX(v * LANES)) for v in range(_VECTORS)]
    return [simd.load(builder, data, place, kind) for place in places]


@njit(inlined=(simd,))
def find_nearest(descriptors, words, bias, unsure, label, close):
    """label[i] = argmax_k bias[k] + x_i · words[k]; close[i] = whether rounding may have decided.

    descriptors : (n, d) uint8      words : (n_groups, ⌈d/2⌉, GROUP) int32, each two int16
    bias : (n_groups * GROUP,) int32, lowest where there is no word
    unsure : scores closer than this times the length of a descriptor may be in the wrong order
    label : (n,) int32, close : (n,) bool; both written
    """
    halves = np.zeros((POINTS, 2 * words.shape[1]), np.int16)
    pairs, scores = halves.view(np.int32), np.empty((POINTS, bias.size), np.int32)
    numbers = np.arange(bias.size).astype(np.int32)  # keeps the index, of 64 bits, out of vectors
    for first in range(0, descriptors.shape[0], POINTS):
        n = min(POINTS, descriptors.shape[0] - first)
        for p in range(n):
            for j in range(descriptors.shape[1]):
                halves[p, j] = descriptors[first + p, j]
        for group in range(words.shape[0]):
            block_of_scores(pairs, words, group, bias, scores, group * words.shape[2])
        for p in range(n):
            row, square = scores[p], np.int32(0)
            for j in range(descriptors.shape[1]):
                square += np.int32(halves[p, j]) * np.int32(halves[p, j])
            top = row[0]
            for w in range(row.size):
                top = max(top, row[w])
            limit = np.int32(top - np.int32(np.sqrt(np.float32(square)) * unsure) - 2)
            lowest, highest = np.int32(row.size), np.int32(-1)
            for w in range(row.size):
                lowest = min(lowest, numbers[w] if row[w] >= limit else np.int32(row.size))
                highest = max(highest, numbers[w] if row[w] >= limit else np.int32(-1))
            label[first + p] = lowest
            close[first + p] = lowest != highest


@njit()
def best_two(scores, bias, label, best, second):
    """Best score of each point, its word, and the second best; ties go to the first word.

    scores : (k, n) float32, words × points, so that neighbouring points share a vector
    bias : (k,) float32, added to the scores of a word
    label : (n,) int32, best, second : (n,) float32; all written
    """
    k, n = scores.shape
    best[:] = -np.inf
    second[:] = -np.inf
    label[:] = 0
    for w in range(k):
        word, of_word = np.int32(w), bias[w]
        for p in range(n):
            score, old = scores[w, p] + of_word, best[p]
            lesser = old if score > old else score
            second[p] = lesser if lesser > second[p] else second[p]
            label[p] = word if score > old else label[p]
            best[p] = score if score > old else old


@njit(fastmath=True)
def settle(descriptors, words, rows, label):
    """label[i] = argmin_k ||x_i - w_k||^2 in float64, for the given rows i; ties to the first.

    descriptors : (n, d) of any real type      words : (k, d) float32      rows : (m,) int64
    """
    x = np.empty(words.shape[1], np.float64)
    for i in rows:
        for j in range(x.size):
            x[j] = descriptors[i, j]
        least, word = np.inf, 0
        for k in range(words.shape[0]):
            distance = 0.0
            for j in range(x.size):
                distance += (x[j] - words[k, j]) ** 2
            if distance < least:
                least, word = distance, k
        label[i] = word


@njit(fastmath=True)
def squared_distances(descriptors, words, label):
    """distance[i] = ||x_i - w_label[i]||^2 in float32, added up in float32 lanes."""
    distance = np.empty(descriptors.shape[0], np.float32)
    for i in range(descriptors.shape[0]):
        word = words[label[i]]
        total = np.float32(0)
        for j in range(word.size):
            difference = np.float32(descriptors[i, j]) - word[j]
            total += difference * difference
        distance[i] = total
    return distance


@njit()
def add_to_words(descriptors, label, sums, counts):
    """sums[w] += x_i and counts[w] += 1 for w = label[i], in the order of the rows.

    descriptors : (n, d)      sums : (k, d) float64      counts : (k,) int64
    """
    for i in range(descriptors.shape[0]):
        word = np.uint64(label[i])
        counts[word] += 1
        for j in range(descriptors.shape[1]):
            sums[word, j] += descriptors[i, j]
