"""Histogram intersection of bytes: sums of minima with the processor's own instructions.

x86 has one instruction for 16, 32 or 64 minima of bytes and one that adds up bytes (``psadbw``).
LLVM does not form them from a loop over several rows, so the block kernel below is written in
LLVM's language. Other processors take a plain loop over |x − y|, which LLVM knows.
"""

from functools import reduce

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords import simd
from visualwords.compiled import njit, vector_bytes

ROWS, COLUMNS = 2, 4  # of the block whose sums stay in registers
WIDTH = vector_bytes()
MULTIPLE = 64  # of the length of rows: whole cache lines
_BYTES = ir.VectorType(ir.IntType(8), max(WIDTH, 8))
_SUMS = ir.VectorType(ir.IntType(64), max(WIDTH, 8) // 8)
_SUM_OF_BYTES = {
    16: "llvm.x86.sse2.psad.bw",
    32: "llvm.x86.avx2.psad.bw",
    64: "llvm.x86.avx512.psad.bw.512",
}


@intrinsic
def _block_of_min_sums(typing, x, i, y, j, out):
    """out[r, c] = sum_k min(x[i + r, k], y[j + c, k]) for a block of rows."""
    return types.void(x, i, y, j, out), _emit_block


def _emit_block(context, builder, signature, arguments):
    x, y, out = simd.arrays(context, builder, signature, arguments, (0, 2, 4))
    a = simd.rows(builder, x, arguments[1], ROWS)
    b = simd.rows(builder, y, arguments[3], COLUMNS)
    zero = simd.constant(_SUMS, 0)
    sums = [cgutils.alloca_once_value(builder, zero) for _ in range(ROWS * COLUMNS)]
    step = simd.INDEX(WIDTH)
    with cgutils.for_range(builder, builder.udiv(simd.row_length(builder, x), step)) as loop:
        position = builder.mul(loop.index, step)
        left = [simd.load(builder, row, position, _BYTES) for row in a]
        right = [simd.load(builder, column, position, _BYTES) for column in b]
        for k, where in enumerate(sums):
            u, v = left[k // COLUMNS], right[k % COLUMNS]
            minima = builder.select(builder.icmp_unsigned("<", u, v), u, v)
            pair = [minima, simd.constant(_BYTES, 0)]
            added = simd.call(builder, _SUM_OF_BYTES[WIDTH], _SUMS, pair)
            builder.store(builder.add(builder.load(where), added), where)
    for k, where in enumerate(sums):
        total = reduce(builder.add, simd.lanes(builder, builder.load(where)))
        builder.store(total, builder.gep(out.data, [simd.INDEX(k)]))
    return context.get_dummy_value()


@njit(inlined=(simd,))
def gram_rows(x, y, first, last, symmetric, out):
    """out[i, j] += sum_k min(x[i, k], y[j, k]) for i in first … last - 1, by 2 × 4 blocks.

    x, y : uint8, C order, a multiple of 4 rows of the same MULTIPLE of columns
    first : even     symmetric : x is y; only blocks that touch j <= i are computed
    out : (n, m) float32, of the rows that count
    """
    n, m = out.shape
    sums = np.empty((ROWS, COLUMNS), np.int64)
    for j in range(0, min(last, m) if symmetric else m, COLUMNS):
        for i in range(first, last, ROWS):
            if symmetric and i + 1 < j:
                continue
            _block_of_min_sums(x, i, y, j, sums)
            for r in range(min(ROWS, n - i)):
                for c in range(min(COLUMNS, m - j)):
                    out[i + r, j + c] += sums[r, c]


@njit()
def _city_block(x, y):
    """sum_k |x[k] − y[k]|: in this form LLVM adds up bytes by psadbw or its like."""
    total = np.int32(0)
    for k in range(np.uint64(x.size)):
        apart = np.int32(np.int32(x[k]) - np.int32(y[k]))
        total = np.int32(total + np.int32(abs(apart)))
    return total


@njit()
def gram_rows_plain(x, y, sums_x, sums_y, first, last, out):
    """The same for any processor: min(x, y) = (x + y − |x − y|) / 2.

    sums_x, sums_y : int64, of the rows of x and y
    """
    for i in range(first, last):
        for j in range(out.shape[1]):
            out[i, j] += (sums_x[i] + sums_y[j] - _city_block(x[i], y[j])) // 2
