"""Sums that Fisher vectors are made of, mostly by products of bytes.

Few Gaussians matter to a descriptor. Products of its coordinates, rounded to bytes, find those that
may; only their responsibilities are computed in float32. Processors with VNNI multiply four times
as many bytes as float32 numbers in one instruction, the others twice as many: these multiply the
even and the odd bytes, as 16-bit numbers (``pmaddwd``). All give the same whole numbers.

All of it is in one file because compiled loops are cached by file.
"""

import math

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords import simd
from visualwords.compiled import has_byte_products, njit, vector_bytes
from visualwords.simd import INDEX

LANES = {32: 8, 64: 16}.get(vector_bytes(), 0)  # 32-bit sums in a vector; 0: plain loops
PLANES = 1 if has_byte_products() or not LANES else 2  # even and odd bytes have tables of their own
_VECTORS = 2
GROUP = _VECTORS * LANES if LANES else 16  # columns whose products lie side by side
POINTS = 10 if LANES == 16 else 5  # whose sums stay in registers
BLOCK = 6 * POINTS  # whose intermediate results stay in the first-level cache
_INT32, _FLOATS = ir.IntType(32), ir.VectorType(ir.FloatType(), 16)


@intrinsic
def _multiply_block(typing, quads, point, tables, group, out, row):
    """out[row + p, c] = sum_j of the products of quads[point + p, j] with tables[group, j, :, c].

    quads : (n, m) int32, each four uint8      tables : (n_groups, m, PLANES, GROUP) int32, each
    four int8, or two int16                    out : (m, n_groups * GROUP) int32, m >= row + POINTS
    """
    return types.void(quads, point, tables, group, out, row), _emit_block


def _emit_block(context, builder, signature, arguments):
    quads, tables, out = simd.arrays(context, builder, signature, arguments, (0, 2, 4))
    length, width = simd.row_length(builder, quads), simd.row_length(builder, out)
    point, group, first = arguments[1], arguments[3], arguments[5]
    points = simd.rows(builder, quads, point, POINTS)
    step = INDEX(PLANES * GROUP)
    table = builder.gep(tables.data, [builder.mul(builder.mul(group, length), step)])
    kind = ir.VectorType(_INT32, LANES)
    zero = simd.constant(kind, 0)
    sums = [[cgutils.alloca_once_value(builder, zero) for _ in range(_VECTORS)] for _ in points]
    with cgutils.for_range(builder, length) as loop:
        position = builder.mul(loop.index, step)
        places = [builder.add(position, INDEX(v * LANES)) for v in range(PLANES * _VECTORS)]
        vectors = [simd.load(builder, table, place, kind) for place in places]
        for row, totals in zip(points, sums):
            quad = builder.load(builder.gep(row, [loop.index]), align=1)
            _add_products(builder, simd.broadcast(builder, quad, LANES), vectors, totals)
    column = builder.mul(group, INDEX(GROUP))
    for p in range(POINTS):
        line = builder.mul(builder.add(first, INDEX(p)), width)
        for v, total in enumerate(sums[p]):
            place = builder.add(builder.add(line, column), INDEX(v * LANES))
            simd.store(builder, builder.load(total), out.data, place)
    return context.get_dummy_value()


def _add_products(builder, quad, vectors, sums):
    """sums[v] += products of one quad of a point with the quads of all columns."""
    if PLANES == 1:
        for vector, total in zip(vectors, sums):
            factors = [builder.load(total), quad, vector]
            added = simd.call(builder, "llvm.x86.avx512.vpdpbusd.512", vector.type, factors)
            builder.store(added, total)
        return
    halves = ir.VectorType(ir.IntType(16), 2 * LANES)
    name = "llvm.x86.avx512.pmaddw.d.512" if LANES == 16 else "llvm.x86.avx2.pmadd.wd"
    kind, quad = quad.type, builder.bitcast(quad, halves)
    even = builder.and_(quad, simd.constant(halves, 255))
    odd = builder.lshr(quad, simd.constant(halves, 8))
    for v, total in enumerate(sums):
        for part, vector in ((even, vectors[v]), (odd, vectors[_VECTORS + v])):
            added = simd.call(builder, name, kind, [builder.bitcast(vector, halves), part])
            builder.store(builder.add(builder.load(total), added), total)


@njit(inlined=(simd,))
def _multiply(quads, point, tables, out, row):
    """out[row + p, c] = products of POINTS rows of bytes with all columns."""
    for group in range(tables.shape[0]):
        _multiply_block(quads, point, tables, group, out, row)


@njit(inlined=(simd,))
def _project(quads, start, m, tables, scale, offset, sums, last, x):
    """x[i, 0] = scale · products of descriptor start + i with the columns - offset, i < m."""
    for first in range(0, m, POINTS):
        if start + first + POINTS <= quads.shape[0]:
            _multiply(quads, start + first, tables, sums, 0)
        else:
            for p in range(quads.shape[0] - start - first):
                for j in range(quads.shape[1]):
                    last[p, j] = quads[start + first + p, j]
            _multiply(last, 0, tables, sums, 0)
        for p in range(min(POINTS, m - first)):
            for j in range(scale.size):
                x[first + p, 0, j] = np.float32(sums[p, j]) * scale[j] - offset[j]


@njit(inlined=(simd,))
def project_bytes(quads, tables, scale, offset, x):
    """x[i, 0, j] = scale[j] · product of descriptor i with column j - offset[j].

    quads : (n, m) int32, each four uint8      x : (n, 1, d) float32
    """
    sums = np.empty((POINTS, tables.shape[0] * GROUP), np.int32)
    last = np.zeros((POINTS, quads.shape[1]), np.int32)
    _project(quads, 0, quads.shape[0], tables, scale, offset, sums, last, x)


@intrinsic
def _four_dots(typing, x, points, first, factors, k, out):
    """out[first + i] = sum_j x[points[first + i], j] factors[k, j] for i = 0, 1, 2, 3.

    x, factors : float32, whose rows have a multiple of 16 numbers      points : int64
    """
    return types.void(x, points, first, factors, k, out), _emit_dots


def _emit_dots(context, builder, signature, arguments):
    x, points, factors, out = simd.arrays(context, builder, signature, arguments, (0, 1, 3, 5))
    (right,), width = simd.rows(builder, factors, arguments[4], 1), simd.row_length(builder, x)
    places = [builder.add(arguments[2], INDEX(i)) for i in range(4)]
    owners = [builder.load(builder.gep(points.data, [place])) for place in places]
    rows = [simd.rows(builder, x, owner, 1)[0] for owner in owners]
    zero = simd.constant(_FLOATS, 0.0)
    sums = [cgutils.alloca_once_value(builder, zero) for _ in rows]
    with cgutils.for_range_slice(builder, INDEX(0), width, INDEX(16)) as (at, _):
        factor = simd.load(builder, right, at, _FLOATS)
        for row, total in zip(rows, sums):
            value = simd.load(builder, row, at, _FLOATS)
            added = simd.multiply_add(builder, value, factor, builder.load(total))
            builder.store(added, total)
    kind = ir.FunctionType(ir.FloatType(), [ir.FloatType(), _FLOATS])
    reduce = cgutils.get_or_insert_function(builder.module, kind, "llvm.vector.reduce.fadd.v16f32")
    for place, total in zip(places, sums):
        start = ir.Constant(ir.FloatType(), 0.0)
        value = builder.call(reduce, [start, builder.load(total)], fastmath=("fast",))
        builder.store(value, builder.gep(out.data, [place]))
    return context.get_dummy_value()


@intrinsic
def _add_rows(typing, sums, row, x, points, weights, first, stop):
    """sums[row, j] += weights[i] x[points[i], j], first <= i < stop; a multiple of 64 numbers."""
    return types.void(sums, row, x, points, weights, first, stop), _emit_add


def _emit_add(context, builder, signature, arguments):
    totals, x, points, weights = simd.arrays(context, builder, signature, arguments, (0, 2, 3, 4))
    (target,), width = simd.rows(builder, totals, arguments[1], 1), simd.row_length(builder, totals)
    with cgutils.for_range_slice(builder, INDEX(0), width, INDEX(64)) as (at, _):
        places = [builder.add(at, INDEX(16 * v)) for v in range(4)]
        sums = [
            cgutils.alloca_once_value(builder, simd.load(builder, target, place, _FLOATS))
            for place in places
        ]
        every = cgutils.for_range_slice(builder, arguments[5], arguments[6], INDEX(1))
        with every as (i, _):
            owner = builder.load(builder.gep(points.data, [i]))
            (source,) = simd.rows(builder, x, owner, 1)
            weight = builder.load(builder.gep(weights.data, [i]))
            factor = simd.broadcast(builder, weight, 16)
            for place, total in zip(places, sums):
                value = simd.load(builder, source, place, _FLOATS)
                added = simd.multiply_add(builder, factor, value, builder.load(total))
                builder.store(added, total)
        for place, total in zip(places, sums):
            simd.store(builder, builder.load(total), target, place)
    return context.get_dummy_value()


@njit(fastmath=True)
def _as_codes(m, limit, planes, codes, largest):
    """Square coordinates; round them and their squares to bytes; the largest square's code.

    planes : (m, 2, d) float32, coordinates and their squares      codes : (m, 2, d) uint8
    """
    linear, square = np.float32(127.5) / limit, np.float32(255) / (limit * limit)
    for p in range(m):
        for j in range(planes.shape[2]):
            code = np.int32(planes[p, 0, j] * linear + np.float32(128))
            codes[p, 0, j] = np.uint8(max(min(code, np.int32(255)), np.int32(0)))
        for j in range(planes.shape[2]):
            planes[p, 1, j] = planes[p, 0, j] * planes[p, 0, j]
        top = np.int32(0)
        for j in range(planes.shape[2]):
            value = planes[p, 1, j] * square + np.float32(0.5)
            code = np.int32(value if value < np.float32(300) else np.float32(300))
            top = max(top, code)
            codes[p, 1, j] = np.uint8(min(code, np.int32(255)))
        largest[p] = top


@njit(fastmath=True)
def _screen(scores, m, largest, scale, lower, width, least, bound, flags):
    """flags[p, k] = whether the responsibility of k may be ``least`` (a logarithm) of the top."""
    k = lower.size
    for p in range(m):
        for j in range(k):
            bound[p, j] = np.int32(np.float32(scores[p, j]) * scale[j] + lower[j])
    for p in range(m):
        top = np.int32(-2147483648)
        for j in range(k):
            top = max(top, bound[p, j])
        limit = np.int32(top + least) if largest[p] < 255 else np.int32(-2147483648)
        for j in range(k):
            flags[p, j] = np.uint8(np.int32(bound[p, j] + width[j]) >= limit)


@njit(fastmath=True)
def _exponentials(x, n, bits):
    """x = exp(x) of n numbers from -80 to 0, to 2 in 10^7, by a polynomial."""
    for a in range(n):
        power = x[a] * np.float32(1.4426950408889634)
        whole = np.int32(power - np.float32(0.5))
        f = power - np.float32(whole)
        p = np.float32(1.5403530393381609954e-4)
        p = p * f + np.float32(1.3333558146428443423e-3)
        p = p * f + np.float32(9.6181291076284771619e-3)
        p = p * f + np.float32(5.5504108664821579953e-2)
        p = p * f + np.float32(2.4022650695910071233e-1)
        p = p * f + np.float32(6.9314718055994530942e-1)
        x[a] = p * f + np.float32(1)
        bits[a] = (whole + np.int32(127)) << np.int32(23)
    powers = bits.view(np.float32)
    for a in range(n):
        x[a] *= powers[a]


@njit(inlined=(simd,))
def _candidates(flags, m, active, stops):
    """List the columns of the flags that are not 0; those of row p end at stops[p + 1]."""
    n = np.uint64(0)
    for p in range(m):
        for start in range(0, flags.shape[1], 64):
            marks = simd.nonzero(flags, p * flags.shape[1] + start)
            while marks:
                active[n] = np.uint64(start + simd.lowest_bit(marks))
                marks &= marks - np.uint64(1)
                n += np.uint64(1)
        stops[p + 1] = n


@njit()
def _group(active, stops, m, ends, points, slots):
    """Order the candidates by Gaussians: those of k end at ends[k], with their points.

    slots : where each candidate of the points' order has gone
    """
    one, total = np.uint64(1), np.uint64(0)
    ends[:] = 0
    for a in range(stops[m]):
        ends[active[a]] += one
    for k in range(ends.size):
        total, ends[k] = total + ends[k], total
    for p in range(m):
        for a in range(stops[p], stops[p + 1]):
            e = ends[active[a]]
            ends[active[a]] = e + one
            points[e], slots[a] = p, e


@njit(inlined=(simd,))
def _log_probabilities(both, factors, constants, ends, points, logits):
    """log p(x, k) of the candidates; three more numbers are overwritten."""
    start = np.uint64(0)
    for k in range(ends.size):
        for e in range(start, ends[k], np.uint64(4)):
            _four_dots(both, points, e, factors, k, logits)
        for e in range(start, ends[k]):
            logits[e] += constants[k]
        start = ends[k]


@njit(fastmath=True)
def _responsibilities(m, stops, slots, least, shares, bits, logits):
    """Turn log p(x, k) of the candidates into p(k | x), or 0; returns the sum of log p(x)."""
    likelihood, product = 0.0, 1.0
    for p in range(m):
        top = np.float32(-np.finfo(np.float32).max)
        for a in range(stops[p], stops[p + 1]):
            value = logits[slots[a]]
            shares[a] = value
            top = value if value > top else top
        for a in range(stops[p], stops[p + 1]):
            value = shares[a] - top
            shares[a] = value if value > np.float32(-80) else np.float32(-80)
        likelihood += top
    _exponentials(shares, stops[m], bits)
    for p in range(m):
        total = np.float32(0)
        for a in range(stops[p], stops[p + 1]):
            total += shares[a] if shares[a] >= least else np.float32(0)
        product *= total  # at most k ** BLOCK, as large as float64 bears: one logarithm for all
        factor = np.float32(1) / total
        for a in range(stops[p], stops[p + 1]):
            logits[slots[a]] = shares[a] * factor if shares[a] >= least else np.float32(0)
    return likelihood + math.log(product)


@njit(inlined=(simd,))
def _add(cells, start, m, both, ends, points, shares, zeroth, sums):
    """Add the responsibilities, and what they weight, to the cells of the points.

    Neighbours in points and shares whose cell is the same are added at once; both are overwritten.
    """
    cell, uniform = np.int64(cells[start]), True
    for p in range(start, start + m):
        uniform &= cells[p] == cell
    e, one, zero = np.uint64(0), np.uint64(1), np.uint64(0)
    for k in range(ends.size):
        while e < ends[k]:
            first, n, mass = e, e, np.float32(0)
            if not uniform:
                cell = np.int64(cells[start + np.int64(points[e])])
            while e < ends[k] and (uniform or cells[start + np.int64(points[e])] == cell):
                q = shares[e]
                points[n], shares[n] = points[e], q
                n += one if q > 0 else zero
                mass += q
                e += one
            zeroth[cell, k] += mass
            _add_rows(sums, cell * ends.size + k, both, points, shares, first, n)


@njit(inlined=(simd,))
def add_moments(
    quads,
    projection,
    x,
    cells,
    tables,
    bounds,
    limit,
    factors,
    constants,
    least,
    both,
    zeroth,
    sums,
):
    """Add q and q (x, x^2) to the sums of each descriptor's cell; q are the responsibilities.

    quads : (n, m) int32, descriptors of four bytes each, and projection, the tables, scale and
    offset that make coordinates of them; or none, and x : (n, d) float32, the coordinates
    d is a multiple of 32                     cells : (n,) int32
    tables : columns for the bytes of (x, x^2)     bounds : of log p(x, k) from their products,
    in 64ths: scale, lower : (k,) float32 and the distance to the upper ones : (k,) int32
    limit : largest coordinate that bytes represent
    factors, constants : (k, 2 d), (k,) float32, log p(x, k) = factors (x, x^2) + constants
    least : smallest share of the largest q that counts; the others are 0
    both : (BLOCK, 2 d) float32, is overwritten
    zeroth : (n_cells, k), sums : (n_cells * k, 2 d) float32     returns the sum of log p(x)
    """
    k, d = constants.size, x.shape[1]
    planes, codes = both.reshape((BLOCK, 2, d)), np.zeros((BLOCK, 2, d), np.uint8)
    products = np.empty((POINTS, projection[0].shape[0] * GROUP), np.int32)
    last, largest = np.zeros((POINTS, quads.shape[1]), np.int32), np.empty(BLOCK, np.int32)
    scores = np.empty((BLOCK, tables.shape[0] * GROUP), np.int32)
    flags, bound = np.zeros((BLOCK, (k + 63) // 64 * 64), np.uint8), np.empty((BLOCK, k), np.int32)
    active, slots = np.empty(k * BLOCK, np.uint64), np.empty(k * BLOCK, np.uint64)
    ends, stops = np.empty(k, np.uint64), np.zeros(BLOCK + 1, np.uint64)
    points, logits = np.zeros(k * BLOCK + 3, np.uint64), np.empty(k * BLOCK + 3, np.float32)
    shares, bits = np.empty(k * BLOCK, np.float32), np.empty(k * BLOCK, np.int32)
    likelihood, in_64ths = 0.0, np.int32(64 * math.log(least))
    for start in range(0, cells.size, BLOCK):
        m = min(BLOCK, cells.size - start)
        if quads.shape[0]:
            _project(quads, start, m, *projection, products, last, planes)
        else:
            planes[:m, 0] = x[start : start + m]
        _as_codes(m, limit, planes, codes, largest)
        for p in range(0, m, POINTS):
            _multiply(codes.reshape((BLOCK, 2 * d)).view(np.int32), p, tables, scores, p)
        _screen(scores, m, largest, *bounds, in_64ths, bound, flags)
        _candidates(flags, m, active, stops)
        _group(active, stops, m, ends, points, slots)
        _log_probabilities(both, factors, constants, ends, points, logits)
        likelihood += _responsibilities(m, stops, slots, least, shares, bits, logits)
        _add(cells, start, m, both, ends, points, logits, zeroth, sums)
    return likelihood
