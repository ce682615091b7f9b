"""Loops that score super-blocks of census codes for all windows at once.

Eight super-blocks below each other in a window are scored together: a code has eight numbers, one
a lane, for the eight places that the super-block around it may have. The loops over lanes are
written in LLVM's language, as numba's LLVM tests for overlaps of arrays before every eight numbers.

Super-blocks are boxes of 22 × 16 codes that begin at multiples of 4 rows and of 4 ``skip`` columns
from ``top`` and ``left``; box (m, b) is the one at row 4 m and column 4 skip b.
"""

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from visualwords import simd
from visualwords.compiled import njit
from visualwords.simd import INDEX

ROWS, COLUMNS = 22, 16  # codes of a super-block
LATTICE = 4
LANES = 8
CODES = 256
BOX_STEP = 3  # boxes from a super-block to the next one below: 12 rows
# numbers from one count of a code to the next in tables of steps; a cache line more than they need,
# as caches keep only a few numbers that lie a power of two apart
LEVEL = CODES * LANES + 16

_EIGHT = ir.VectorType(ir.FloatType(), LANES)


@intrinsic
def come(typing, codes, first, places, steps, total):
    """total += steps[places[c]], then places[c] += LEVEL, for the 16 codes c from ``first``."""
    return types.void(codes, types.int64, places, steps, total), _emit_come


@intrinsic
def go(typing, codes, first, places, steps, total):
    """places[c] -= LEVEL, then total -= steps[places[c]], for the 16 codes c from ``first``."""
    return types.void(codes, types.int64, places, steps, total), _emit_go


@intrinsic
def sum_cell(typing, codes, above, below, weights, cells, place):
    """cells[place…] = Σ weights of the 4 codes from ``above`` and of the 4 from ``below``."""
    return types.void(codes, types.int64, types.int64, weights, cells, types.int64), _emit_cell


def _emit_come(context, builder, signature, arguments):
    codes, places, steps, total = _first_of(context, builder, signature, arguments, (0, 2, 3, 4))
    parts = []
    for code in _load_codes(builder, codes, arguments[1], COLUMNS):
        where = builder.gep(places, [code])
        place = builder.load(where)
        builder.store(builder.add(place, place.type(LEVEL)), where)
        parts.append(simd.load(builder, steps, builder.zext(place, INDEX), _EIGHT))
    after = builder.fadd(
        simd.load(builder, total, INDEX(0), _EIGHT), simd.pairwise_sum(builder.fadd, parts)
    )
    simd.store(builder, after, total, INDEX(0))
    return context.get_dummy_value()


def _emit_go(context, builder, signature, arguments):
    codes, places, steps, total = _first_of(context, builder, signature, arguments, (0, 2, 3, 4))
    parts = []
    for code in _load_codes(builder, codes, arguments[1], COLUMNS):
        where = builder.gep(places, [code])
        before = builder.load(where)
        place = builder.sub(before, before.type(LEVEL))
        builder.store(place, where)
        parts.append(simd.load(builder, steps, builder.zext(place, INDEX), _EIGHT))
    after = builder.fsub(
        simd.load(builder, total, INDEX(0), _EIGHT), simd.pairwise_sum(builder.fadd, parts)
    )
    simd.store(builder, after, total, INDEX(0))
    return context.get_dummy_value()


def _emit_cell(context, builder, signature, arguments):
    codes, weights, cells = _first_of(context, builder, signature, arguments, (0, 3, 4))
    parts = [
        simd.load(builder, weights, builder.mul(code, INDEX(LANES)), _EIGHT)
        for first in arguments[1:3]
        for code in _load_codes(builder, codes, first, LATTICE)
    ]
    simd.store(builder, simd.pairwise_sum(builder.fadd, parts), cells, arguments[5])
    return context.get_dummy_value()


def _first_of(context, builder, signature, arguments, which):
    """First elements of arrays."""
    kinds, make = signature.args, context.make_array
    return [make(kinds[k])(context, builder, arguments[k]).data for k in which]


def _load_codes(builder, codes, first, n):
    """Neighbouring codes, each as an index; up to eight are loaded as one word."""
    word, indices = ir.IntType(8 * min(n, 8)), []
    for k in range(0, n, 8):
        where = builder.gep(codes, [builder.add(first, INDEX(k))])
        several = builder.load(builder.bitcast(where, word.as_pointer()), align=1)
        for bit in range(0, word.width, 8):
            code = builder.and_(builder.lshr(several, word(bit)), word(255))
            indices.append(builder.zext(code, INDEX) if word.width < 64 else code)
    return indices


if numba.config.DISABLE_JIT:  # then numba runs the kernels as Python, which has no intrinsics

    def come(codes, first, places, steps, total):
        for code in codes[first : first + COLUMNS]:
            total += steps[places[code] : places[code] + LANES]
            places[code] += LEVEL

    def go(codes, first, places, steps, total):
        for code in codes[first : first + COLUMNS]:
            places[code] -= LEVEL
            total -= steps[places[code] : places[code] + LANES]

    def sum_cell(codes, above, below, weights, cells, place):
        both = [*codes[above : above + LATTICE], *codes[below : below + LATTICE]]
        cells[place : place + LANES] = weights.reshape(CODES, LANES)[both].sum(axis=0)


@njit()
def want_boxes(rows, columns, n_down, skip, wanted):
    """wanted[m, b] = 1 for the boxes of windows: n_down of them below each other."""
    for n in range(rows.size):
        for i in range(n_down):
            wanted[rows[n] * skip + i * BOX_STEP, columns[n]] = 1


@njit(inlined=(simd,))
def slide_down(codes, top, left, skip, wanted, base, steps, boxes):
    """boxes[m, b] = Σ_c table[c, count of code c in box (m, b)], where wanted.

    A box is made from the wanted one above it if few rows lie between them: each code that comes
    or goes changes the sum by one step of its table.

    wanted : (m, columns) uint8      base : (8,) float32, the sums where all counts are 0
    steps : (352 × LEVEL,) float32, from each count to the next, of each code, in each lane
    boxes : (m, columns, 8) float32
    """
    flat, width = codes.reshape(-1), codes.shape[1]
    places, total = np.empty(CODES, np.uint32), np.empty(LANES, np.float32)
    for b in range(boxes.shape[1]):
        first = top * width + left + b * skip * LATTICE
        last = -ROWS
        for m in range(boxes.shape[0]):
            if not wanted[m, b]:
                continue
            y, end = LATTICE * m, LATTICE * m + ROWS
            if 2 * LATTICE * (m - last) < ROWS:
                for r in range(LATTICE * last, y):
                    go(flat, first + r * width, places, steps, total)
                y = LATTICE * last + ROWS
            else:
                total[:] = base
                places[:] = np.arange(0, CODES * LANES, LANES)
            for r in range(y, end):
                come(flat, first + r * width, places, steps, total)
            boxes[m, b] = total
            last = m


@njit()
def add_lanes(boxes, rows, columns, n_down, skip, scores):
    """scores[n] += Σ_i lane i of the i-th box of window (rows[n], columns[n])."""
    for n in range(rows.size):
        m, b = rows[n] * skip, columns[n]
        total = np.float32(0)
        for i in range(n_down):
            total += boxes[m + i * BOX_STEP, b, i]
        scores[n] += total


@njit(inlined=(simd,))
def add_linear(codes, top, left, skip, n_down, weights, scores):
    """scores[a, b] += Σ_i Σ weights[code, i] over the codes of the i-th box of window (a, b).

    Running sums: 16 codes wide and 2 rows high, of which the last twelve are kept, then 22 high.

    weights : (256 × 8,) float32      scores : (rows, columns) float32
    """
    flat, width = codes.reshape(-1), codes.shape[1]
    n_rows, n = scores.shape[0], scores.shape[1] * LANES
    n_cells = (scores.shape[1] - 1) * skip + COLUMNS // LATTICE
    cells, ring = np.empty(n_cells * LANES, np.float32), np.zeros((12, n), np.float32)
    box = np.zeros(n, np.float32)
    for u in range(2 * ((n_rows - 1) * skip + (n_down - 1) * BOX_STEP) + ROWS // 2):
        first = (top + 2 * u) * width + left
        for v in range(n_cells):
            at = first + LATTICE * v
            sum_cell(flat, at, at + width, weights, cells, LANES * v)
        # the place of the row that leaves becomes that of the one that comes, one turn later
        new, old = ring[u % 12], ring[(u + 1) % 12]
        sum_across(cells, skip, new)
        for k in range(n):
            box[k] += new[k] - old[k]
        m, odd = divmod(u - (ROWS // 2 - 1), 2)
        if m >= 0 and not odd:
            spread_lanes(box, m, n_down, skip, scores)


@njit()
def sum_across(cells, skip, pairs):
    """pairs[b] = cells[b skip] + … + cells[b skip + 3], eight lanes each."""
    if skip == 1:  # one long loop
        for k in range(pairs.size):
            left, right = cells[k] + cells[k + LANES], cells[k + 2 * LANES] + cells[k + 3 * LANES]
            pairs[k] = left + right
        return
    for b in range(pairs.size // LANES):
        source, target = cells[b * skip * LANES :], pairs[b * LANES : (b + 1) * LANES]
        for k in range(LANES):
            left, right = source[k] + source[k + 8], source[k + 16] + source[k + 24]
            target[k] = left + right


@njit()
def spread_lanes(box, m, n_down, skip, scores):
    """Add lane i of row m of boxes to the windows whose i-th box it is."""
    for i in range(n_down):
        a, between = divmod(m - i * BOX_STEP, skip)
        if 0 <= a < scores.shape[0] and not between:
            line = scores[a]
            for b in range(line.size):
                line[b] += box[b * LANES + i]
