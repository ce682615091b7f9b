"""Histogram intersection of bytes: sums of minima with the processor's own instructions.

x86 has one instruction for 16, 32 or 64 minima of bytes and one that adds up bytes (``psadbw``).
LLVM finds neither from a loop (it widens the bytes to 32 bits first), so the block kernel below
is written in LLVM's language. On other processors a plain loop takes its place.
"""

from functools import partial

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords import simd
from visualwords.compiled import njit, vector_bytes

_ROWS, _COLUMNS = 2, 4  # of the block whose sums stay in registers
WIDTH = vector_bytes()
MULTIPLE = max(2 * WIDTH, 64)  # of the length of rows: two vectors, and whole cache lines
TILE = 16  # numbers in a cache line
_BYTES = ir.VectorType(ir.IntType(8), max(WIDTH, 8))
_SUMS = ir.VectorType(ir.IntType(64), max(WIDTH, 8) // 8)
_SUM_OF_BYTES = {
    16: "llvm.x86.sse2.psad.bw",
    32: "llvm.x86.avx2.psad.bw",
    64: "llvm.x86.avx512.psad.bw.512",
}


@intrinsic
def block_of_min_sums(typing, x, i, y, j, out):
    """out[r, c] = sum_k min(x[i + r, k], y[j + c, k]) for a block of rows."""
    return types.void(x, i, y, j, out), partial(_emit_block, 1)


@intrinsic
def block_of_small_min_sums(typing, x, i, y, j, out):
    """The same for minima up to 127, two of which are added as bytes: fewer instructions."""
    return types.void(x, i, y, j, out), partial(_emit_block, 2)


def _emit_block(n_vectors, context, builder, signature, arguments):
    x, y, out = simd.arrays(context, builder, signature, arguments, (0, 2, 4))
    a = simd.rows(builder, x, arguments[1], _ROWS)
    b = simd.rows(builder, y, arguments[3], _COLUMNS)
    zero = simd.constant(_SUMS, 0)
    sums = [cgutils.alloca_once_value(builder, zero) for _ in range(_ROWS * _COLUMNS)]
    step = simd.INDEX(n_vectors * WIDTH)
    with cgutils.for_range(builder, builder.udiv(simd.row_length(builder, x), step)) as loop:
        first = builder.mul(loop.index, step)
        positions = [builder.add(first, simd.INDEX(k * WIDTH)) for k in range(n_vectors)]
        _add_minima(builder, a, b, positions, sums)
    for k, where in enumerate(sums):
        total = simd.pairwise_sum(builder.add, simd.lanes(builder, builder.load(where)))
        builder.store(total, builder.gep(out.data, [simd.INDEX(k)]))
    return context.get_dummy_value()


def _add_minima(builder, a, b, positions, sums):
    """sums[r, c] += sum of min(a_r, b_c) over the vectors at these positions."""
    zero = simd.constant(_BYTES, 0)
    left = [[simd.load(builder, row, k, _BYTES) for k in positions] for row in a]
    for c, column in enumerate(b):  # loaded in turn: more vectors than registers are slow
        right = [simd.load(builder, column, k, _BYTES) for k in positions]
        for r, vectors in enumerate(left):
            minima = [simd.smaller(builder, *pair) for pair in zip(vectors, right)]
            minima = simd.pairwise_sum(builder.add, minima)
            added = simd.call(builder, _SUM_OF_BYTES[WIDTH], _SUMS, [minima, zero])
            where = sums[r * _COLUMNS + c]
            builder.store(builder.add(builder.load(where), added), where)


@njit(inlined=(simd,))
def gram_rows(x, y, first, last, symmetric, small, out):
    """out[i, j] += sum_k min(x[i, k], y[j, k]) for i in first … last - 1, by 2 × 4 blocks.

    x, y : uint8, C order, a multiple of 4 rows of the same MULTIPLE of columns
    first : even                   small : no minimum exceeds 127
    symmetric : x is y; only blocks that touch j <= i are computed
    out : (n, m) float32, of the rows that count
    """
    n, m = out.shape
    sums = np.empty((2, 4), np.int64)
    for j in range(0, min(last, m) if symmetric else m, 4):
        for i in range(first, last, 2):
            if symmetric and i + 1 < j:
                continue
            if small:
                block_of_small_min_sums(x, i, y, j, sums)
            else:
                block_of_min_sums(x, i, y, j, sums)
            for r in range(min(2, n - i)):
                for c in range(min(4, m - j)):
                    out[i + r, j + c] += sums[r, c]


@njit()
def gram_rows_plain(x, y, first, last, out):
    """out[i, j] += sum_k min(x[i, k], y[j, k]) for i in first … last - 1; any processor.

    256 bytes add up to 16 bits: NEON takes 6 instructions for 16 of them, with 64 bits 26.
    """
    for i in range(first, last):
        for j in range(out.shape[1]):
            total = np.uint32(0)
            for start in range(0, x.shape[1], 256):
                a, b = x[i, start : start + 256], y[j, start : start + 256]
                part = np.uint16(0)
                for k in range(min(a.size, 256)):
                    part = np.uint16(part + min(a[k], b[k]))
                total = np.uint32(total + part)
            out[i, j] += total


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
