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
def block_of_scores(typing, pairs, point, words, group, bias, out, column):
    """out[p, column + w] = bias[column + w] + sum_j pairs[point + p, j] · words[group, j, w].

    pairs : (n, m) int32, each two int16      words : (n_groups, m, GROUP) int32, likewise
    bias : (k,) int32                         out : (POINTS, k) int32
    """
    return types.void(pairs, point, words, group, bias, out, column), _emit_block


def _emit_block(context, builder, signature, arguments):
    pairs, words, bias, out = simd.arrays(context, builder, signature, arguments, (0, 2, 4, 5))
    length, width = simd.row_length(builder, pairs), simd.row_length(builder, out)
    point, group, column = arguments[1], arguments[3], arguments[6]
    points = simd.rows(builder, pairs, point, POINTS)
    first_word = builder.mul(builder.mul(group, length), INDEX(GROUP))
    table = builder.gep(words.data, [first_word])
    start = _load(builder, bias.data, column)
    sums = [[cgutils.alloca_once_value(builder, s) for s in start] for _ in range(POINTS)]
    with cgutils.for_range(builder, length) as loop:
        vectors = _load(builder, table, builder.mul(loop.index, INDEX(GROUP)))
        for row, totals in zip(points, sums):
            pair = builder.load(builder.gep(row, [loop.index]))
            _add_products(builder, pair, vectors, totals)
    for p in range(POINTS):
        first = builder.add(builder.mul(INDEX(p), width), column)
        for v, total in enumerate(sums[p]):
            place = builder.add(first, INDEX(v * LANES))
            simd.store(builder, builder.load(total), out.data, place)
    return context.get_dummy_value()


def _add_products(builder, pair, vectors, sums):
    """sums[v] += products of one pair of a point with the pairs of the words."""
    halves = ir.VectorType(ir.IntType(16), 2 * LANES)
    spread = builder.bitcast(simd.broadcast(builder, pair, LANES), halves)
    for vector, total in zip(vectors, sums):
        factors = [builder.bitcast(vector, halves), spread]
        added = simd.call(builder, _MULTIPLY_ADD[LANES], vector.type, factors)
        builder.store(builder.add(builder.load(total), added), total)


def _load(builder, data, position):
    """The vectors of a group, from a position on."""
    kind = ir.VectorType(ir.IntType(32), LANES)
    places = [builder.add(position, INDEX(v * LANES)) for v in range(_VECTORS)]
    return [simd.load(builder, data, place, kind) for place in places]


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


@njit(inlined=(simd,))
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
    for w in range(0, k - 1, 2):
        first, other = bias[w], bias[w + 1]
        for p in range(n):
            u, v = scores[w, p] + first, scores[w + 1, p] + other
            high, low = (v, u) if v > u else (u, v)
            word = np.int32(w + 1) if v > u else np.int32(w)
            old, runner_up = best[p], second[p]
            lesser = old if high > old else high
            lesser = low if low > lesser else lesser
            second[p] = lesser if lesser > runner_up else runner_up
            label[p] = word if high > old else label[p]
            best[p] = high if high > old else old
    if k % 2:
        for p in range(n):
            v, old = scores[k - 1, p] + bias[k - 1], best[p]
            lesser = old if v > old else v
            second[p] = lesser if lesser > second[p] else second[p]
            label[p] = np.int32(k - 1) if v > old else label[p]
            best[p] = v if v > old else old


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
