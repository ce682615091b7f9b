"""Loops of quantisation: levels of values, and counts that lead to a percentile.

LLVM does not turn a loop that both compares and counts into vector instructions; it is written in
LLVM's language.
"""

from functools import partial

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords.compiled import njit

LANES = 8
MARKS = 3
_CACHED = 8192  # values that stay in the first-level cache
_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_COUNTS = ir.VectorType(ir.IntType(64), LANES)


@intrinsic
def survey_vectors(typing, values, count, marks, limits, counts):
    """Like ``survey`` for a multiple of LANES values."""
    kinds = values, types.int64, marks, limits, counts
    return types.void(*kinds), partial(_emit_survey_vectors, MARKS)


@intrinsic
def survey_one_mark(typing, values, count, marks, limits, counts):
    """Like ``survey_vectors`` with one mark."""
    return types.void(values, types.int64, marks, limits, counts), partial(_emit_survey_vectors, 1)


def _emit_survey_vectors(n_marks, context, builder, signature, arguments):
    values, marks, limits, counts = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 3, 4)
    )
    kind = signature.args[0].dtype
    bounds = [_at(builder, marks, k, _DOUBLES) for k in range(n_marks)]
    extremes = [
        cgutils.alloca_once_value(builder, _at(builder, limits, k, _DOUBLES)) for k in range(2)
    ]
    differences = cgutils.alloca_once_value(builder, ir.Constant(_DOUBLES, [0.0] * LANES))
    zeros = ir.Constant(_COUNTS, [0] * LANES)
    totals = [cgutils.alloca_once_value(builder, zeros) for _ in range(2 * n_marks)]
    vector = ir.VectorType(context.get_data_type(kind), LANES)
    step = ir.Constant(ir.IntType(64), LANES)
    start = ir.Constant(ir.IntType(64), 0)
    with cgutils.for_range_slice(builder, start, arguments[1], step, inc=True) as (k, _):
        where = builder.bitcast(builder.gep(values.data, [k]), vector.as_pointer())
        loaded = _as_doubles(builder, builder.load(where, align=1), kind)
        difference = builder.fsub(loaded, loaded)
        builder.store(builder.fadd(builder.load(differences), difference), differences)
        for where, relation in zip(extremes, "<>"):
            kept = builder.load(where)
            better = builder.fcmp_ordered(relation, loaded, kept)
            builder.store(builder.select(better, loaded, kept), where)
        for m, where in enumerate(totals):
            relation = "<" if m < n_marks else "<="
            found = builder.fcmp_ordered(relation, loaded, bounds[m % n_marks])
            builder.store(builder.sub(builder.load(where), builder.sext(found, _COUNTS)), where)
    for k, (where, relation) in enumerate(zip(extremes, "<>")):
        _keep_best(builder, builder.load(where), relation, limits, k)
    _add_lanes(builder, builder.load(differences), limits, 2, builder.fadd)
    for m, where in enumerate(totals):
        _add_lanes(builder, builder.load(where), counts, m, builder.add)
    return context.get_dummy_value()


def _as_doubles(builder, vector, kind):
    if kind == types.float64:
        return vector
    convert = builder.fpext if kind == types.float32 else builder.uitofp
    return convert(vector, _DOUBLES)


def _address(builder, array, k):
    return builder.gep(array.data, [ir.Constant(ir.IntType(64), k)])


def _at(builder, array, k, vector):
    """array[k] in all lanes."""
    nothing = ir.Constant(vector, ir.Undefined)
    value = builder.load(_address(builder, array, k))
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    return builder.shuffle_vector(
        first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    )


def _keep_best(builder, vector, relation, array, k):
    """array[k] = the smallest or the largest of the lanes."""
    best = builder.extract_element(vector, ir.IntType(32)(0))
    for lane in range(1, LANES):
        value = builder.extract_element(vector, ir.IntType(32)(lane))
        best = builder.select(builder.fcmp_ordered(relation, value, best), value, best)
    builder.store(best, _address(builder, array, k))


def _add_lanes(builder, vector, array, k, add):
    """array[k] += the sum of the lanes; array is C-ordered."""
    where = _address(builder, array, k)
    total = builder.load(where)
    for lane in range(LANES):
        total = add(total, builder.extract_element(vector, ir.IntType(32)(lane)))
    builder.store(total, where)


def _plain_survey_vectors(values, count, marks, limits, counts):
    for value in values[:count].astype(np.float64):
        limits[:2] = min(limits[0], value), max(limits[1], value)
        limits[2] += value - value
        counts += value < marks, value <= marks


if numba.config.DISABLE_JIT:  # then numba runs the kernels as Python, which has no intrinsics
    survey_vectors = survey_one_mark = _plain_survey_vectors


@njit()
def quantize(values, lowest, scale, top, out):
    """out = floor((v − lowest) scale), clipped to 0 … top  [Wu10, Eq. 13]; values finite."""
    for k in range(np.uint64(values.size)):
        level = (np.float64(values[k]) - lowest) * scale
        out[k] = np.int32(min(max(level, 0.0), top))


@njit()
def quantize_rows(x, rows, first, lowest, scale, top, out):
    """The same for some rows of x, as many columns as ``out`` has, from ``first`` on."""
    for i in range(rows.size):
        quantize(x[rows[i], first : first + out.shape[1]], lowest, scale, top, out[i])


@njit()
def bucket_of(value, low, scale, n_buckets):
    """Which of the buckets, even between the edges, a value is in; ascending with the value."""
    place = (value - low) * scale
    return np.uint64(min(max(place, 0.0), n_buckets - 1.0))


@njit()
def fill_buckets(edges, low, scale, buckets):
    """buckets[j, b] = how many of the ascending, finite edges[j] are in buckets below b."""
    n_buckets = buckets.shape[1] - 1
    for j in range(edges.shape[0]):
        k = 0
        for b in range(n_buckets + 1):
            while k < edges.shape[1] and bucket_of(edges[j, k], low[j], scale[j], n_buckets) < b:
                k += 1
            buckets[j, b] = k


@njit()
def quantize_columns(x, edges, low, scale, buckets, first, last, out):
    """out[i, j] = how many of the ascending edges[j] are <= x[i, j], columns first … last - 1.

    A value's bucket says which edges are certainly below it, and which may be: few or none.
    """
    n_buckets = np.float64(buckets.shape[1] - 1)
    for i in range(x.shape[0]):
        for j in range(np.uint64(first), np.uint64(last)):
            value = np.float64(x[i, j])
            b = bucket_of(value, low[j], scale[j], n_buckets)
            k, end = np.uint64(buckets[j, b]), np.uint64(buckets[j, b + np.uint64(1)])
            if k < end and edges[j, end - np.uint64(1)] <= value:
                k = end  # so it is with one edge, and with many equal ones
            while k < end and edges[j, k] <= value:
                k += np.uint64(1)
                middle = (k + end) >> np.uint64(1)
                if edges[j, middle] <= value:
                    k = middle
                else:
                    end = middle
            out[i, j] = k


@njit()
def survey(values, marks, limits, counts):
    """Update the smallest and the largest value met, and how many are < and <= each of the marks.

    values : (n,)      marks : (MARKS,) float64
    limits : (3,) float64, the third stays 0 while all values are finite and becomes NaN otherwise
    counts : (2, MARKS) int64, of < and of <=
    """
    whole = values.size - values.size % LANES
    survey_vectors(values, whole, marks, limits, counts)
    for k in range(whole, values.size):
        value = np.float64(values[k])
        limits[0], limits[1] = min(limits[0], value), max(limits[1], value)
        limits[2] += value - value
        for m in range(MARKS):
            counts[0, m] += value < marks[m]
            counts[1, m] += value <= marks[m]


@njit()
def survey_and_quantize(values, mark, limits, counts, lowest, scale, top, out):
    """Like ``survey`` with one mark, and ``quantize`` while the values are in the cache.

    mark : (1,) float64      counts : (2, 1) int64
    """
    for start in range(0, values.size, _CACHED):
        part = values[start : start + _CACHED]
        whole = part.size - part.size % LANES
        survey_one_mark(part, whole, mark, limits, counts)
        for k in range(whole, part.size):
            value = np.float64(part[k])
            limits[0], limits[1] = min(limits[0], value), max(limits[1], value)
            limits[2] += value - value
            counts[0, 0] += value < mark[0]
            counts[1, 0] += value <= mark[0]
        quantize(part, lowest, scale, top, out[start : start + _CACHED])


@njit()
def collect_between(values, low, high, out):
    """Values between low and high; out has room for them."""
    found = 0
    for k in range(np.uint64(values.size)):
        if low < values[k] < high:
            out[found] = values[k]
            found += 1
    return found


@njit()
def round_to_single(values, singles):
    """singles = the values as float32; returns whether they are the same."""
    exact = True
    for k in range(values.size):
        single = np.float32(values[k])
        exact &= np.float64(single) == np.float64(values[k])
        singles[k] = single + np.float32(0)  # −0 becomes 0
    return exact


@njit()
def sort_floats(bits, spare, counts):
    """Sort the bits of float32 numbers ascending by three counting passes; returns where they are.

    bits, spare : (n,) uint32      counts : (3, 2048)
    """
    counts[:] = 0
    for k in range(bits.size):
        word = bits[k]
        word ^= np.uint32(0xFFFFFFFF) if word >> np.uint32(31) else np.uint32(0x80000000)
        bits[k] = word
        counts[0, word & np.uint32(2047)] += 1
        counts[1, (word >> np.uint32(11)) & np.uint32(2047)] += 1
        counts[2, word >> np.uint32(22)] += 1
    for digit in range(3):
        shift, row = np.uint32(11 * digit), counts[digit]
        if row.max() == bits.size:
            continue
        total = 0
        for b in range(row.size):
            row[b], total = total, total + row[b]
        for k in range(bits.size):
            b = (bits[k] >> shift) & np.uint32(2047)
            spare[row[b]] = bits[k]
            row[b] += 1
        bits, spare = spare, bits
    for k in range(bits.size):
        word = bits[k]
        bits[k] = word ^ (np.uint32(0x80000000) if word >> np.uint32(31) else np.uint32(0xFFFFFFFF))
    return bits


@njit()
def edges_of_two(values, edges):
    """Level edges of a column that has two different values, or one; returns whether it does."""
    one, k = values[0], 1
    while k < values.size and values[k] == one:
        k += 1
    two = values[min(k, values.size - 1)]
    while k < values.size and (values[k] == one) | (values[k] == two):
        k += 1
    if k < values.size:
        return False
    edges[:] = max(one, two) if one != two else np.inf
    return True


@njit()
def edges_of_sorted(values, edges):
    """Level edges at equal steps of the ranks of the distinct values, rounded up.

    values : (n,) ascending, overwritten by its distinct values     edges : (n_bins,)
    """
    count = 1
    for k in range(1, values.size):
        if values[k] != values[count - 1]:
            values[count] = values[k]
            count += 1
    for k in range(edges.size):
        edges[k] = values[-(-(k + 1) * (count - 1) // edges.size)] if count > 1 else np.inf
