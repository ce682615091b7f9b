"""Histogram intersection of bytes: sums of minima with the processor's own instructions.

x86 has one instruction for 16, 32 or 64 minima of bytes and one that adds up bytes (``psadbw``).
LLVM finds neither from a loop (it widens the bytes to 32 bits first), so the block kernel below
is written in LLVM's language. On other processors a plain loop takes its place.
"""

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords import simd
from visualwords.compiled import njit
from visualwords.processor import vector_bytes

_ROWS, _COLUMNS = 2, 4  # of the block whose sums stay in registers
WIDTH = vector_bytes()
TILE = 16  # numbers in a cache line
_BYTES = ir.VectorType(ir.IntType(8), max(WIDTH, 8))
_SUMS = ir.VectorType(ir.IntType(64), max(WIDTH, 8) // 8)
_SUM_OF_BYTES = {
    16: "llvm.x86.sse2.psad.bw",
    32: "llvm.x86.avx2.psad.bw",
    64: "llvm.x86.avx512.psad.bw.512",
}


@intrinsic
def block_of_min_sums(typing, x, i, y, j, mask, out):
    """out[r, c] = sum_k min(x[i + r, k], y[j + c, k]) for a block of rows.

    The last vector of a row overlaps the one before; ``mask`` keeps each byte from counting twice.
    """
    signature = types.void(x, i, y, j, mask, out)
    return signature, _emit_block


def _emit_block(context, builder, signature, arguments):
    x, y, mask, out = simd.arrays(context, builder, signature, arguments, (0, 2, 4, 5))
    length = simd.row_length(builder, x)
    a = simd.rows(builder, x, arguments[1], _ROWS)
    b = simd.rows(builder, y, arguments[3], _COLUMNS)
    zero = simd.constant(_SUMS, 0)
    sums = [cgutils.alloca_once_value(builder, zero) for _ in range(_ROWS * _COLUMNS)]
    width = simd.INDEX(WIDTH)
    whole = builder.udiv(length, width)
    with cgutils.for_range(builder, whole) as loop:
        _add_minima(builder, a, b, builder.mul(loop.index, width), None, sums)
    with builder.if_then(builder.icmp_unsigned("!=", builder.mul(whole, width), length)):
        keep = simd.load(builder, mask.data, simd.INDEX(0), _BYTES)
        _add_minima(builder, a, b, builder.sub(length, width), keep, sums)
    for k, where in enumerate(sums):
        total = simd.pairwise_sum(builder.add, simd.lanes(builder, builder.load(where)))
        builder.store(total, builder.gep(out.data, [simd.INDEX(k)]))
    return context.get_dummy_value()


def _add_minima(builder, a, b, position, keep, sums):
    """sums[r, c] += sum of min(a_r, b_c) over one vector."""
    left, right = ([simd.load(builder, row, position, _BYTES) for row in side] for side in (a, b))
    if keep is not None:
        left = [builder.and_(vector, keep) for vector in left]
    zero = simd.constant(_BYTES, 0)
    for r, vector in enumerate(left):
        for c, other in enumerate(right):
            minima = simd.smaller(builder, vector, other)
            added = simd.call(builder, _SUM_OF_BYTES[WIDTH], _SUMS, [minima, zero])
            where = sums[r * _COLUMNS + c]
            builder.store(builder.add(builder.load(where), added), where)


@njit(inlined=(simd,))
def gram_rows(x, y, first, last, symmetric, mask, out):
    """out[i, j] = sum_k min(x[i, k], y[j, k]) for i in first … last - 1, by 2 × 4 blocks.

    x : (n, d) uint8, C order, n >= 2, d >= WIDTH      y : (m, d) likewise, m >= 4
    symmetric : x is y; only blocks that touch j <= i are computed
    mask : (WIDTH,) uint8, from ``tail_mask``           out : (n, m) float32
    """
    sums = np.empty((2, 4), np.int64)
    stop = np.uint64(min(last, y.shape[0])) if symmetric else np.uint64(y.shape[0])
    for column in range(0, stop, 4):
        j = min(column, y.shape[0] - 4)
        for row in range(first, last, 2):
            if symmetric and row + 1 < column:
                continue
            i = min(row, x.shape[0] - 2)
            block_of_min_sums(x, i, y, j, mask, sums)
            for r in range(2):
                for c in range(4):
                    out[i + r, j + c] = sums[r, c]


@njit()
def gram_rows_plain(x, y, first, last, out):
    """out[i, j] = sum_k min(x[i, k], y[j, k]) for i in first … last - 1; any processor."""
    for i in range(first, last):
        for j in range(y.shape[0]):
            total = np.int64(0)
            for k in range(x.shape[1]):
                total += min(x[i, k], y[j, k])
            out[i, j] = total


@njit()
def mirror(out, first, last):
    """Copy the lower triangle to rows first … last - 1 of the upper one, tile by tile."""
    n = out.shape[0]
    for start in range(first, n, TILE):
        for row in range(first, last, TILE):
            if row + TILE <= min(start, last) and start + TILE <= n:
                for i in range(TILE):  # of a known length: twice as fast
                    for j in range(TILE):
                        out[row + i, start + j] = out[start + j, row + i]
            else:
                for i in range(row, min(row + TILE, last)):
                    for j in range(max(start, i + 1), min(start + TILE, n)):
                        out[i, j] = out[j, i]


def tail_mask(d: int) -> np.ndarray:
    """Bytes 255 for those of a row's last vector that whole vectors have not covered."""
    mask = np.zeros(max(WIDTH, 1), np.uint8)
    if WIDTH:
        mask[WIDTH - d % WIDTH :] = 255
    return mask
