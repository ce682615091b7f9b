"""Histogram intersection of integers as bits in common.

With one bit for every level that a value reaches, min(x, y) is the number of bits that two values
share. Bits that many samples have are packed into words and counted by the processor; what lies
above them is rare and added value by value. LLVM does not find the packed comparison and the
register blocks by itself, so the two innermost steps are written in its language.
"""

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords.compiled import njit
from visualwords.processor import gathers_bits

BLOCK = 4  # rows and columns whose counts stay in registers
LANES = 8  # 64-bit words that are counted at a time
_WORD = ir.IntType(64)
_WORDS = ir.VectorType(_WORD, LANES)


@intrinsic
def reaches(typing, values, first, level):
    """Bit k of the result: values[first + k] >= level, of 64 values."""
    return types.uint64(values, types.int64, values.dtype), _emit_reaches


def _emit_reaches(context, builder, signature, arguments):
    values = _load_64(context, builder, signature.args[0], arguments[0], arguments[1])
    nothing = ir.Constant(values.type, ir.Undefined)
    level = builder.insert_element(nothing, arguments[2], ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
    level = builder.shuffle_vector(level, nothing, zeros)
    return builder.bitcast(builder.icmp_unsigned(">=", values, level), _WORD)


@intrinsic
def exceeds(typing, values, limits, first):
    """Bit k of the result: values[first + k] > limits[first + k], of 64 values of one type."""
    return types.uint64(values, limits, types.int64), _emit_exceeds


def _emit_exceeds(context, builder, signature, arguments):
    values, limits = (
        _load_64(context, builder, signature.args[k], arguments[k], arguments[2]) for k in (0, 1)
    )
    return builder.bitcast(builder.icmp_unsigned(">", values, limits), _WORD)


def _load_64(context, builder, kind, array, first):
    """64 values of a contiguous array as a vector."""
    data = context.make_array(kind)(context, builder, array).data
    vector = ir.VectorType(context.get_data_type(kind.dtype), 64)
    return builder.load(builder.bitcast(builder.gep(data, [first]), vector.as_pointer()), align=1)


@intrinsic
def gather_bits(typing, word, mask):
    """The bits of a word where the mask has bits, moved together."""
    return types.uint64(types.uint64, types.uint64), _emit_gather_bits


def _emit_gather_bits(context, builder, signature, arguments):
    kind = ir.FunctionType(_WORD, [_WORD, _WORD])
    gather = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.bmi.pext.64")
    return builder.call(gather, arguments)


def _plain_gather_bits(word, mask):
    gathered, place = np.uint64(0), np.uint64(0)
    while mask != np.uint64(0):
        lowest = mask & (~mask + np.uint64(1))
        gathered |= np.uint64(word & lowest != np.uint64(0)) << place
        mask ^= lowest
        place += np.uint64(1)
    return gathered


if not gathers_bits():
    gather_bits = njit()(_plain_gather_bits)


@intrinsic
def lowest_bit(typing, word):
    """Position of the lowest bit of a word that is not 0."""
    return types.int64(types.uint64), _emit_lowest_bit


def _emit_lowest_bit(context, builder, signature, arguments):
    return builder.cttz(arguments[0], ir.IntType(1)(1))


@intrinsic
def bits_of(typing, word):
    """How many bits of a word are set."""
    return types.int64(types.uint64), _emit_bits_of


def _emit_bits_of(context, builder, signature, arguments):
    return builder.ctpop(arguments[0])


@intrinsic
def count_common(typing, x, i, y, j, first, last, weight, out):
    """out[r, c] += weight (bits that x[i + r] and y[j + c] share in words first … last - 1)."""
    kinds = (x, types.int64, y, types.int64, types.int64, types.int64, types.int64, out)
    return types.void(*kinds), _emit_count_common


def _emit_count_common(context, builder, signature, arguments):
    x, y, out = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 7)
    )
    a, b = (_row_pointers(builder, array, arguments[k]) for array, k in ((x, 1), (y, 3)))
    sums = [
        cgutils.alloca_once_value(builder, ir.Constant(_WORDS, [0] * LANES))
        for _ in range(BLOCK * BLOCK)
    ]
    popcount = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_WORDS, [_WORDS]), f"llvm.ctpop.v{LANES}i64"
    )
    step = ir.Constant(_WORD, LANES)
    with cgutils.for_range_slice(builder, arguments[4], arguments[5], step, inc=True) as (k, _):
        left = [_load(builder, row, k) for row in a]
        for c, row in enumerate(b):
            right = _load(builder, row, k)
            for r, vector in enumerate(left):
                where = sums[r * BLOCK + c]
                added = builder.call(popcount, [builder.and_(vector, right)])
                builder.store(builder.add(builder.load(where), added), where)
    weight = _spread(builder, arguments[6])
    for r in range(BLOCK):
        counts = _add_up(builder, [builder.load(where) for where in sums[r * BLOCK :][:BLOCK]])
        first = builder.gep(out.data, [ir.Constant(_WORD, r * BLOCK)])
        target = builder.bitcast(first, counts.type.as_pointer())
        counts = builder.add(builder.load(target, align=8), builder.mul(counts, weight))
        builder.store(counts, target, align=8)
    return context.get_dummy_value()


def _add_up(builder, vectors):
    """The sums of the lanes of four vectors of eight, as a vector of four."""

    def pairs(a, b, even, odd):
        kind = ir.VectorType(ir.IntType(32), len(even))
        chosen = (builder.shuffle_vector(a, b, ir.Constant(kind, lanes)) for lanes in (even, odd))
        return builder.add(*chosen)

    a, b, c, d = vectors
    ab, cd = (
        pairs(one, two, [0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15])
        for one, two in ((a, b), (c, d))
    )
    abcd = pairs(ab, cd, [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15])
    return pairs(abcd, abcd, [0, 1, 2, 3], [4, 5, 6, 7])


def _spread(builder, value):
    """A vector of BLOCK times the same number."""
    vector = ir.Constant(ir.VectorType(_WORD, BLOCK), ir.Undefined)
    for lane in range(BLOCK):
        vector = builder.insert_element(vector, value, ir.IntType(32)(lane))
    return vector


def _row_pointers(builder, array, first):
    """Addresses of BLOCK rows of a C-ordered array."""
    length = cgutils.unpack_tuple(builder, array.shape)[1]
    offset = builder.mul(first, length)
    rows = []
    for _ in range(BLOCK):
        rows.append(builder.gep(array.data, [offset]))
        offset = builder.add(offset, length)
    return rows


def _load(builder, row, position):
    pointer = builder.gep(row, [position])
    return builder.load(builder.bitcast(pointer, _WORDS.as_pointer()), align=8)


@njit()
def mark_present(x, present):
    """present[k] = 1 where level k occurs; x : (n,)."""
    for k in range(np.uint64(x.size)):
        present[x[k]] = 1


@njit()
def count_reached(x, step, plane_of, counts):
    """counts[j, g] = how many of the rows 0, step, 2 step, … are at plane g or above in column j.

    x : (n, d) unsigned     plane_of : number of planes that each level reaches
    """
    for i in range(0, x.shape[0], step):
        for j in range(np.uint64(x.shape[1])):
            counts[j, plane_of[x[i, j]]] += 1
    for j in range(counts.shape[0]):
        for g in range(counts.shape[1] - 2, -1, -1):
            counts[j, g] += counts[j, g + 1]


@njit()
def pack(x, rows, sources, heights, masks, places, bits):
    """Bits of some rows of x.

    x : (n, d) unsigned, d >= 64    rows : (m,)    bits : (m, all words) uint64, zeros
    sources, heights, masks, places : of every 64 columns and plane with bits, the first column,
    the height as x's type, the columns that have a bit, and where the first bit goes
    """
    last_word = np.uint64(bits.shape[1] - 1)
    for i in range(rows.size):
        row, target = x[rows[i]], bits[i]
        for e in range(np.uint64(sources.size)):
            word = gather_bits(reaches(row, sources[e], heights[e]), masks[e])
            place, shift = np.uint64(places[e] >> 6), np.uint64(places[e] & 63)
            target[place] |= word << shift
            next_word = min(place + np.uint64(1), last_word)
            target[next_word] |= (word >> np.uint64(1)) >> (np.uint64(63) - shift)


@njit()
def count_rest(x, rows, tops, sizes):
    """sizes[i] = how many values of row rows[i] exceed the tops."""
    whole = x.shape[1] - x.shape[1] % 64
    for i in range(rows.size):
        row = x[rows[i]]
        total = 0
        for start in range(0, whole, 64):
            total += bits_of(exceeds(row, tops, start))
        for j in range(whole, row.size):
            total += row[j] > tops[j]
        sizes[i] = total


@njit()
def collect_rest(x, rows, tops, columns, values):
    """Columns of the values that exceed the tops, and by how much."""
    whole = x.shape[1] - x.shape[1] % 64
    q = 0
    for i in rows:
        row = x[i]
        for start in range(0, whole, 64):
            word = exceeds(row, tops, start)
            while word != np.uint64(0):
                j = np.uint64(start + lowest_bit(word))
                word &= word - np.uint64(1)
                columns[q], values[q] = j, row[j] - tops[j]
                q += 1
        for k in range(whole, row.size):
            if row[k] > tops[k]:
                columns[q], values[q] = k, row[k] - tops[k]
                q += 1


@njit()
def by_column(bounds, columns, values, ends, places, rows, sorted_values):
    """The same sorted by column, and by row inside.

    ends : (d,) first entry of each column, which becomes the last + 1
    places : where each entry went, + 1
    """
    for i in range(bounds.size - 1):
        for q in range(bounds[i], bounds[i + 1]):
            place = ends[columns[q]]
            rows[place] = i
            sorted_values[place] = values[q]
            ends[columns[q]] = place + 1
            places[q] = place + 1


@njit()
def gram_rows(x, y, first, last, symmetric, bounds, weights, add, out):
    """out[i, j] = weighted bits that rows i of x and j of y share, for i in first … last - 1.

    x : (n, words) uint64, n >= BLOCK     y : (m, words) likewise
    bounds, weights : words bounds[g] … bounds[g + 1] - 1 have the weight weights[g]
    symmetric : x is y; only blocks that touch j <= i are computed     add : += instead of =
    """
    sums = np.empty((BLOCK, BLOCK), np.int64)
    stop = min(last, y.shape[0]) if symmetric else y.shape[0]
    for column in range(0, stop, BLOCK):
        j = min(column, y.shape[0] - BLOCK)
        for row in range(first, last, BLOCK):
            if symmetric and row + BLOCK <= column:
                continue
            i = min(row, x.shape[0] - BLOCK)
            sums[:] = 0
            for g in range(weights.size):
                count_common(x, i, y, j, bounds[g], bounds[g + 1], weights[g], sums)
            if not add and i == row and i + BLOCK <= last:  # of known length: faster
                for r in range(BLOCK):
                    for c in range(BLOCK):
                        out[i + r, j + c] = sums[r, c]
                continue
            for r in range(row - i, min(BLOCK, last - i)):
                for c in range(column - j, BLOCK):
                    before = out[i + r, j + c] if add else np.float32(0)
                    out[i + r, j + c] = before + np.float32(sums[r, c])


@njit()
def add_rest(bounds, columns, values, stops, starts, rows, others, first, last, out):
    """out[i, j] += sum of min over the values of rows i and j that have no bits.

    bounds, columns, values : of the rows i      starts, rows, others : of the rows j, by column
    stops : (entries of the rows i,) end of those that each one meets in its column
    """
    for i in range(first, last):
        target = out[i]
        for q in range(bounds[i], bounds[i + 1]):
            value = values[q]
            for k in range(np.uint64(starts[columns[q]]), np.uint64(stops[q])):
                other = others[k]
                target[rows[k]] += value if value < other else other
