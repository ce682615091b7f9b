"""Sums that Fisher vectors are made of, mostly by products of bytes.

Few Gaussians matter to a descriptor. Which ones may, products of its coordinates, rounded to bytes,
decide; only theirs are computed in float32. Processors with VNNI multiply four times as many bytes
as float32 numbers in one instruction, the others twice as many: these multiply the even and the
odd bytes, as 16-bit numbers (``pmaddwd``). All give the same whole numbers.
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
BLOCK = 4 * POINTS  # whose intermediate results stay in the first-level cache
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
            _add_products(builder, _everywhere(builder, quad), vectors, sums[p])
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


def _everywhere(builder, number):
    single = builder.insert_element(
        ir.Constant(_sums_type(), ir.Undefined), number, ir.Constant(_INT32, 0)
    )
    first = ir.Constant(ir.VectorType(_INT32, LANES), [0] * LANES)
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
def project_bytes(quads, tables, scale, offset, x):
    """x[i, j] = scale[j] · product of descriptor i with column j - offset[j].

    quads : (n, m) int32, each four uint8      x : (n, d) float32
    """
    sums = np.empty((POINTS, tables.shape[0] * GROUP), np.int32)
    last = np.zeros((POINTS, quads.shape[1]), np.int32)
    n = quads.shape[0]
    for start in range(0, n, POINTS):
        if start + POINTS <= n:
            _multiply(quads, start, tables, sums, 0)
        else:
            last[: n - start] = quads[start:]
            _multiply(last, 0, tables, sums, 0)
        for p in range(min(POINTS, n - start)):
            for j in range(x.shape[1]):
                x[start + p, j] = np.float32(sums[p, j]) * scale[j] - offset[j]


@intrinsic
def _dot_of_rows(typing, a, i, b, k):
    """sum_j a[i, j] b[k, j] of float32 rows whose length is a multiple of 64."""
    return types.float32(a, i, b, k), _emit_dot


def _emit_dot(context, builder, signature, arguments):
    (left, width), (right, _) = (_row(context, builder, signature, arguments, k) for k in (0, 2))
    zero = ir.Constant(_FLOATS, [0.0] * 16)
    sums = [cgutils.alloca_once_value(builder, zero) for _ in range(4)]
    with cgutils.for_range_slice(builder, _index(width, 0), width, _index(width, 64)) as (at, _):
        for v, total in enumerate(sums):
            x, y = (_load_floats(builder, row, at, v) for row in (left, right))
            builder.store(_multiply_add(builder, x, y, builder.load(total)), total)
    a, b, c, d = (builder.load(total) for total in sums)
    every = builder.fadd(builder.fadd(a, b), builder.fadd(c, d))
    kind = ir.FunctionType(ir.FloatType(), [ir.FloatType(), _FLOATS])
    reduce = cgutils.get_or_insert_function(builder.module, kind, "llvm.vector.reduce.fadd.v16f32")
    return builder.call(reduce, [ir.Constant(ir.FloatType(), 0.0), every], fastmath=("fast",))


@intrinsic
def _add_row(typing, sums, k, factor, both, p):
    """sums[k, j] += factor · both[p, j] for all j of both; their number is a multiple of 64."""
    return types.void(sums, k, types.float32, both, p), _emit_add


def _emit_add(context, builder, signature, arguments):
    target, _ = _row(context, builder, signature, arguments, 0)
    source, width = _row(context, builder, signature, arguments, 3)
    single = builder.insert_element(
        ir.Constant(_FLOATS, ir.Undefined), arguments[2], ir.Constant(_INT32, 0)
    )
    factor = builder.shuffle_vector(
        single, single, ir.Constant(ir.VectorType(_INT32, 16), [0] * 16)
    )
    with cgutils.for_range_slice(builder, _index(width, 0), width, _index(width, 64)) as (at, _):
        for v in range(4):
            added = _multiply_add(
                builder,
                factor,
                _load_floats(builder, source, at, v),
                _load_floats(builder, target, at, v),
            )
            builder.store(added, _vector_at(builder, target, at, v), align=4)
    return context.get_dummy_value()


def _row(context, builder, signature, arguments, k):
    """Pointer to row arguments[k + 1] of the array arguments[k], and the row's length."""
    array = context.make_array(signature.args[k])(context, builder, arguments[k])
    width = cgutils.unpack_tuple(builder, array.shape)[1]
    return builder.gep(array.data, [builder.mul(arguments[k + 1], width)]), width


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
def _as_codes(x, start, m, limit, both, codes, largest):
    """Rows of coordinates and their squares, as they are and as bytes; the largest square's code.

    x : (n, d) float32      both : (m, 2, d) float32      codes : (m, 2, d) uint8
    """
    linear, square = np.float32(127.5) / limit, np.float32(255) / (limit * limit)
    for p in range(m):
        for j in range(x.shape[1]):
            both[p, 0, j] = x[start + p, j]
        for j in range(x.shape[1]):
            code = np.int32(x[start + p, j] * linear + np.float32(128))
            codes[p, 0, j] = np.uint8(max(min(code, np.int32(255)), np.int32(0)))
        for j in range(x.shape[1]):
            both[p, 1, j] = x[start + p, j] * x[start + p, j]
        top = np.int32(0)
        for j in range(x.shape[1]):
            value = both[p, 1, j] * square + np.float32(0.5)
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
    n = 0
    for p in range(m):
        for start in range(0, flags.shape[1], 64):
            marks = _marks(flags, p * flags.shape[1] + start)
            while marks:
                active[n] = start + np.int64(_lowest_bit(marks))
                marks &= marks - np.uint64(1)
                n += 1
        stops[p + 1] = n


@njit(fastmath=True)
def _logits(both, m, factors, constants, least, active, stops, logit, tops):
    """log p(x, k) of the candidates, less the largest of each point; only those >= least stay."""
    n, stop = 0, 0
    for p in range(m):
        start, stop = stop, stops[p + 1]
        top = np.float32(-np.finfo(np.float32).max)
        for a in range(start, stop):
            value = _dot_of_rows(both, p, factors, active[a]) + constants[active[a]]
            logit[a] = value
            top = value if value > top else top
        for a in range(start, stop):
            value, column = logit[a] - top, active[a]
            logit[n], active[n] = value, column
            n += 1 if value >= least else 0
        tops[p], stops[p + 1] = top, n
    return n


@njit(fastmath=True)
def _add(cells, start, m, both, active, stops, share, tops, zeroth, sums):
    """Add the responsibilities, and what they weight, to the cells; the sum of log p(x)."""
    k, likelihood, product = zeroth.shape[1], 0.0, 1.0
    for p in range(m):
        total = np.float32(0)
        for a in range(stops[p], stops[p + 1]):
            total += share[a]
        likelihood += tops[p]
        product *= total  # at most k ** BLOCK, as large as float64 bears: one logarithm for all
        cell, factor = np.int64(cells[start + p]), np.float32(1) / total
        for a in range(stops[p], stops[p + 1]):
            q = share[a] * factor
            zeroth[cell, active[a]] += q
            _add_row(sums, cell * k + active[a], q, both, p)
    return likelihood + math.log(product)


@njit(fastmath=True)
def add_moments(
    x, cells, tables, scale, lower, width, limit, factors, constants, least, both, zeroth, sums
):
    """Add q and q (x, x^2) to the sums of each descriptor's cell; q are the responsibilities.

    x : (n, d) float32, d a multiple of 32       cells : (n,) int32
    tables : columns for the bytes of (x, x^2); scale, lower : (k,) float32 and width : (k,) int32
    make products with them lower bounds of log p(x, k), and distances to upper ones, in 64ths
    limit : largest coordinate that bytes represent
    factors, constants : (k, 2 d), (k,) float32, log p(x, k) = factors (x, x^2) + constants
    least : logarithm of the smallest share of the largest q that counts; the others are 0
    both : (BLOCK, 2 d) float32, is overwritten
    zeroth : (n_cells, k), sums : (n_cells * k, 2 d) float32     returns the sum of log p(x)
    """
    k, d = constants.size, x.shape[1]
    codes, largest = np.zeros((BLOCK, 2 * d), np.uint8), np.empty(BLOCK, np.int32)
    planes, quads = both.reshape((BLOCK, 2, d)), codes.view(np.int32)
    scores = np.empty((BLOCK, tables.shape[0] * GROUP), np.int32)
    flags, bound = np.zeros((BLOCK, (k + 63) // 64 * 64), np.uint8), np.empty((BLOCK, k), np.int32)
    active, bits = np.empty(k * BLOCK, np.int64), np.empty(k * BLOCK, np.int32)
    logit, stops = np.empty(k * BLOCK, np.float32), np.zeros(BLOCK + 1, np.int64)
    tops, likelihood = np.empty(BLOCK, np.float32), 0.0
    in_64ths = np.int32(least * 64)
    for start in range(0, x.shape[0], BLOCK):
        m = min(BLOCK, x.shape[0] - start)
        _as_codes(x, start, m, limit, planes, codes.reshape((BLOCK, 2, d)), largest)
        for p in range(0, m, POINTS):
            _multiply(quads, p, tables, scores, p)
        _screen(scores, m, largest, scale, lower, width, in_64ths, bound, flags)
        _candidates(flags, m, active, stops)
        n = _logits(both, m, factors, constants, least, active, stops, logit, tops)
        _exponentials(logit, n, bits)
        likelihood += _add(cells, start, m, both, active, stops, logit, tops, zeroth, sums)
    return likelihood
