"""Sums that Fisher vectors are made of, mostly by products of bytes.

Few Gaussians matter to a descriptor. Which ones may, products of its coordinates, rounded to bytes,
decide; only theirs are computed in float32. Processors with VNNI multiply four times as many bytes
as float32 numbers in one instruction, the others twice as many: these multiply the even and the
odd bytes, as 16-bit numbers (``pmaddwd``). All give the same whole numbers.

All of it is in one file because compiled loops are cached by file.
"""

import math

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords.compiled import njit
from visualwords.processor import has_byte_products, vector_bytes

LANES = {32: 8, 64: 16}.get(vector_bytes(), 0)  # 32-bit sums in a vector; 0: plain loops
PLANES = 1 if has_byte_products() or not LANES else 2  # even and odd bytes have tables of their own
_VECTORS = 2
GROUP = _VECTORS * LANES if LANES else 16  # columns whose products lie side by side
POINTS = 10 if LANES == 16 else 5  # whose sums stay in registers
BLOCK = 6 * POINTS  # whose intermediate results stay in the first-level cache
_INT32, _BYTE, _FLOATS = ir.IntType(32), ir.IntType(8), ir.VectorType(ir.FloatType(), 16)


@intrinsic
def _multiply_block(typing, quads, point, tables, group, out, row):
    """out[row + p, c] = sum_j of the products of quads[point + p, j] with tables[group, j, :, c].

    quads : (n, m) int32, each four uint8      tables : (n_groups, m, PLANES, GROUP) int32, each
    four int8, or two int16                    out : (m, n_groups * GROUP) int32, m >= row + POINTS
    """
    return types.void(quads, point, tables, group, out, row), _emit_block


def _emit_block(context, builder, signature, arguments):
    quads, tables, out = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 4)
    )
    length = cgutils.unpack_tuple(builder, quads.shape)[1]
    width = cgutils.unpack_tuple(builder, out.shape)[1]
    point, group, first = arguments[1], arguments[3], arguments[5]
    rows = [
        builder.gep(quads.data, [builder.mul(builder.add(point, _index(length, p)), length)])
        for p in range(POINTS)
    ]
    step = _index(length, PLANES * GROUP)
    table = builder.gep(tables.data, [builder.mul(builder.mul(group, length), step)])
    zero = ir.Constant(_sums_type(), [0] * LANES)
    sums = [[cgutils.alloca_once_value(builder, zero) for _ in range(_VECTORS)] for _ in rows]
    with cgutils.for_range(builder, length) as loop:
        position = builder.mul(loop.index, step)
        vectors = [_load(builder, table, position, v) for v in range(PLANES * _VECTORS)]
        for p in range(POINTS):
            quad = builder.load(builder.gep(rows[p], [loop.index]), align=1)
            _add_products(builder, _everywhere(builder, quad, LANES), vectors, sums[p])
    column = builder.mul(group, _index(length, GROUP))
    for p in range(POINTS):
        line = builder.mul(builder.add(first, _index(length, p)), width)
        row = builder.gep(out.data, [builder.add(line, column)])
        for v in range(_VECTORS):
            target = builder.gep(row, [_index(length, v * LANES)])
            target = builder.bitcast(target, _sums_type().as_pointer())
            builder.store(builder.load(sums[p][v]), target, align=4)
    return context.get_dummy_value()


def _add_products(builder, quad, vectors, sums):
    """sums[v] += products of one quad of a point with the quads of all columns."""
    if PLANES == 1:
        kind = ir.FunctionType(_sums_type(), [_sums_type()] * 3)
        multiply = cgutils.get_or_insert_function(
            builder.module, kind, "llvm.x86.avx512.vpdpbusd.512"
        )
        for vector, total in zip(vectors, sums):
            builder.store(builder.call(multiply, [builder.load(total), quad, vector]), total)
        return
    halves = ir.VectorType(ir.IntType(16), 2 * LANES)
    kind = ir.FunctionType(_sums_type(), [halves, halves])
    name = "llvm.x86.avx512.pmaddw.d.512" if LANES == 16 else "llvm.x86.avx2.pmadd.wd"
    multiply = cgutils.get_or_insert_function(builder.module, kind, name)
    quad = builder.bitcast(quad, halves)
    even = builder.and_(quad, ir.Constant(halves, [255] * 2 * LANES))
    odd = builder.lshr(quad, ir.Constant(halves, [8] * 2 * LANES))
    for v, total in enumerate(sums):
        for part, vector in ((even, vectors[v]), (odd, vectors[_VECTORS + v])):
            added = builder.call(multiply, [builder.bitcast(vector, halves), part])
            builder.store(builder.add(builder.load(total), added), total)


def _everywhere(builder, number, lanes):
    vector = ir.VectorType(number.type, lanes)
    single = builder.insert_element(
        ir.Constant(vector, ir.Undefined), number, ir.Constant(_INT32, 0)
    )
    first = ir.Constant(ir.VectorType(_INT32, lanes), [0] * lanes)
    return builder.shuffle_vector(single, single, first)


def _load(builder, data, position, vector):
    pointer = builder.gep(data, [builder.add(position, _index(position, vector * LANES))])
    return builder.load(builder.bitcast(pointer, _sums_type().as_pointer()), align=4)


def _index(like, value):
    return ir.Constant(like.type, value)


def _sums_type():
    return ir.VectorType(_INT32, LANES)


@intrinsic
def _marks(typing, flags, start):
    """The bytes flags[start : start + 64] as bits of a number: 1 where not 0."""

    def emit(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        kind = ir.VectorType(_BYTE, 64)
        pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), kind.as_pointer())
        bits = builder.icmp_unsigned("!=", builder.load(pointer, align=1), kind(None))
        return builder.bitcast(bits, ir.IntType(64))

    return types.uint64(flags, start), emit


@intrinsic
def _lowest_bit(typing, number):
    """Number of the lowest bit that is 1."""

    def emit(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(number), emit


@njit()
def _multiply(quads, point, tables, out, row):
    """out[row + p, c] = products of POINTS rows of bytes with all columns."""
    for group in range(tables.shape[0]):
        _multiply_block(quads, point, tables, group, out, row)


@njit()
def _project(quads, start, m, tables, scale, offset, sums, last, x):
    """x[i, 0] = scale · products of descriptor start + i with the columns - offset, i < m."""
    for first in range(0, m, POINTS):
        if start + first + POINTS <= quads.shape[0]:
            _multiply(quads, start + first, tables, sums, 0)
        else:
            last[: quads.shape[0] - start - first] = quads[start + first :]
            _multiply(last, 0, tables, sums, 0)
        for p in range(min(POINTS, m - first)):
            for j in range(scale.size):
                x[first + p, 0, j] = np.float32(sums[p, j]) * scale[j] - offset[j]


@njit()
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
    points, out = (_array(context, builder, signature, arguments, k) for k in (1, 5))
    right, width = _row(context, builder, signature, arguments, 3, arguments[4])
    places = [builder.add(arguments[2], _index(width, i)) for i in range(4)]
    owners = [builder.load(builder.gep(points.data, [place])) for place in places]
    rows = [_row(context, builder, signature, arguments, 0, owner)[0] for owner in owners]
    zero = ir.Constant(_FLOATS, [0.0] * 16)
    sums = [cgutils.alloca_once_value(builder, zero) for _ in rows]
    with cgutils.for_range_slice(builder, _index(width, 0), width, _index(width, 16)) as (at, _):
        factor = _load_floats(builder, right, at, 0)
        for row, total in zip(rows, sums):
            added = _multiply_add(
                builder, _load_floats(builder, row, at, 0), factor, builder.load(total)
            )
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
    points, weights = (_array(context, builder, signature, arguments, k) for k in (3, 4))
    target, width = _row(context, builder, signature, arguments, 0, arguments[1])
    with cgutils.for_range_slice(builder, _index(width, 0), width, _index(width, 64)) as (at, _):
        sums = [
            cgutils.alloca_once_value(builder, _load_floats(builder, target, at, v))
            for v in range(4)
        ]
        with cgutils.for_range_slice(builder, arguments[5], arguments[6], _index(width, 1)) as (
            i,
            _,
        ):
            owner = builder.load(builder.gep(points.data, [i]))
            source, _ = _row(context, builder, signature, arguments, 2, owner)
            weight = builder.load(builder.gep(weights.data, [i]))
            factor = _everywhere(builder, weight, 16)
            for v, total in enumerate(sums):
                value = _load_floats(builder, source, at, v)
                builder.store(_multiply_add(builder, factor, value, builder.load(total)), total)
        for v, total in enumerate(sums):
            builder.store(builder.load(total), _vector_at(builder, target, at, v), align=4)
    return context.get_dummy_value()


def _array(context, builder, signature, arguments, k):
    return context.make_array(signature.args[k])(context, builder, arguments[k])


def _row(context, builder, signature, arguments, k, number):
    """Pointer to a row of the array arguments[k], and the row's length."""
    array = _array(context, builder, signature, arguments, k)
    width = cgutils.unpack_tuple(builder, array.shape)[1]
    return builder.gep(array.data, [builder.mul(number, width)]), width


def _vector_at(builder, row, position, v):
    pointer = builder.gep(row, [builder.add(position, _index(position, 16 * v))])
    return builder.bitcast(pointer, _FLOATS.as_pointer())


def _load_floats(builder, row, position, v):
    return builder.load(_vector_at(builder, row, position, v), align=4)


def _multiply_add(builder, x, y, z):
    kind = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.fma.v16f32")
    return builder.call(function, [x, y, z])


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


@njit()
def _candidates(flags, m, active, stops):
    """List the columns of the flags that are not 0; those of row p end at stops[p + 1]."""
    n = np.uint64(0)
    for p in range(m):
        for start in range(0, flags.shape[1], 64):
            marks = _marks(flags, p * flags.shape[1] + start)
            while marks:
                active[n] = np.uint64(start) + _lowest_bit(marks)
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


@njit()
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


@njit()
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


@njit()
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
