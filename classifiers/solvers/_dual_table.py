"""Loops of dual coordinate descent on the table T ([Wu10], Algorithm 2), one problem at a time.

The table has a cell for each numbered level of each feature, beginning at multiples of eight
cells; ``heights`` holds the cells' levels. A cell is what sum_i α_i y_i x_ij loses above its level:
lost[j, k] = sum_i α_i y_i max(x_ij - k, 0), so T[j, k] = lost[j, 0] - lost[j, k]. Other than T
itself, this changes with a sample only below the sample's own level, and most are low.

Features lie in blocks that several threads can share:
block b has the features from ``edges[b]`` to ``edges[b + 1]``, and sample i the codes
``codes[cuts[i, b] : cuts[i, b + 1]]`` there, of the features ``indices`` at the same places, or of
all features in order where ``indices`` is empty.

Where most codes are small, the first FRONT steps of all features lie apart: front[t, j] is the step
of the table from code t to code t + 1, so a sample adds up those with t < x_j, eight features at a
time, and the table begins at code FRONT. ``counts`` (n, d) holds the codes as bytes; a step of
``rises[t]`` levels is the same for all features.

The innermost loops are written in LLVM's language: some have so few turns that their preparation
would cost more than their work, and from the others numba's LLVM makes no good vectors.

A visit of a sample takes microseconds, too few for any pool of threads. Helpers look at a board
instead: the pass writes which sample to add and which to score, all take blocks by an atomic
counter, and the pass goes on when all blocks are done. It never waits for a block that nobody has
begun, so helpers that the system holds back cost nothing; and as blocks are the same for any
number of threads, so is every sum.
"""

from contextlib import contextmanager
from typing import NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from visualwords.compiled import njit

LANES = 8
FRONT = 4
FRONT_LANES = 16
CACHE_LINE = 64
TURN, ADDED, SCORED, NEXT, FACTOR, OWN = range(6)  # on the board
TAKEN, DONE, SUM, AWAY = range(4)  # of every block
WAIT = 1000  # looks, about two microseconds


class Samples(NamedTuple):
    """Samples as the loops want them."""

    codes: np.ndarray
    indices: np.ndarray
    cuts: np.ndarray
    edges: np.ndarray
    offsets: np.ndarray
    heights: np.ndarray
    counts: np.ndarray
    rises: np.ndarray


class Board(NamedTuple):
    """What is to be done next, and how far it is, each in a cache line of its own.

    The memory of ``numbers`` and ``blocks`` as floats, too: what is read together
    travels together from one processor to the other.
    """

    numbers: np.ndarray
    factors: np.ndarray
    blocks: np.ndarray
    sums: np.ndarray


@intrinsic
def add_excess(typing, lost, heights, start, stop, height, factor):
    """lost[k] += factor max(height - heights[k], 0), start <= k < stop, eight at a time."""
    number = lost.dtype
    arguments = (lost, heights, types.int64, types.int64, types.float32, number)
    return types.void(*arguments), _emit_add_excess


def _emit_add_excess(context, builder, signature, arguments):
    lost, heights = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1)
    )
    number = context.get_value_type(signature.args[5])
    single, vector = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(number, LANES)
    height = _everywhere(builder, arguments[4], single)
    factor = _everywhere(builder, arguments[5], vector)
    zeros = ir.Constant(single, [0.0] * LANES)
    step = ir.Constant(arguments[2].type, LANES)
    with cgutils.for_range_slice(builder, *arguments[2:4], step, inc=True) as (k, _):
        where = builder.bitcast(builder.gep(lost.data, [k]), vector.as_pointer())
        other = builder.bitcast(builder.gep(heights.data, [k]), single.as_pointer())
        excess = builder.fsub(height, builder.load(other, align=4))
        excess = builder.select(builder.fcmp_ordered(">", excess, zeros), excess, zeros)
        if number != ir.FloatType():
            excess = builder.fpext(excess, vector)
        added = builder.fadd(builder.load(where, align=4), builder.fmul(excess, factor))
        builder.store(added, where, align=4)
    return context.get_dummy_value()


@intrinsic
def front_score(typing, counts, i, start, stop, front):
    """sum over t and start <= j < stop of front[t, j] where counts[i, j] > t."""
    return front.dtype(counts, *[types.int64] * 3, front), _emit_front_score


def _emit_front_score(context, builder, signature, arguments):
    counts, front = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 4)
    )
    vector = ir.VectorType(context.get_value_type(signature.return_type), FRONT_LANES)
    sums = _Sums(builder, vector)
    with _features(builder, *arguments[2:4]) as j:
        codes = _codes(builder, counts, arguments[1], j)
        for t in range(FRONT):
            steps = builder.load(_step_address(builder, front, t, j, vector), align=4)
            sums.add(t, _above(builder, codes, t), steps)
    return sums.total()


@intrinsic
def front_turn(typing, counts, added, scored, start, stop, rises, factor, front):
    """front[t, j] += factor rises[t] where counts[added, j] > t, then score another sample."""
    integers = [types.int64] * 4
    return front.dtype(counts, *integers, rises, front.dtype, front), _emit_front_turn


def _emit_front_turn(context, builder, signature, arguments):
    counts, rises, front = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 5, 7)
    )
    number = context.get_value_type(signature.return_type)
    vector = ir.VectorType(number, FRONT_LANES)
    changes = []
    for t in range(FRONT):
        rise = builder.load(builder.gep(rises.data, [ir.IntType(64)(t)]))
        if number != ir.FloatType():
            rise = builder.fpext(rise, number)
        changes.append(_everywhere(builder, builder.fmul(rise, arguments[6]), vector))
    sums = _Sums(builder, vector)
    with _features(builder, *arguments[3:5]) as j:
        added, scored = (_codes(builder, counts, arguments[k], j) for k in (1, 2))
        for t, change in enumerate(changes):
            where = _step_address(builder, front, t, j, vector)
            steps = builder.load(where, align=4)
            more = builder.fadd(steps, change)
            steps = builder.select(_above(builder, added, t), more, steps)
            builder.store(steps, where, align=4)
            sums.add(t, _above(builder, scored, t), steps)
    return sums.total()


class _Sums:
    """Sums of vectors, one for each step of the front, that do not wait for each other."""

    def __init__(self, builder, vector):
        self.builder, self.vector = builder, vector
        self.zeros = ir.Constant(vector, [0.0] * vector.count)
        self.places = [cgutils.alloca_once_value(builder, self.zeros) for _ in range(FRONT)]

    def add(self, t, chosen, values):
        """Add those values that are chosen."""
        values = self.builder.select(chosen, values, self.zeros)
        sums = self.builder.fadd(self.builder.load(self.places[t]), values)
        self.builder.store(sums, self.places[t])

    def total(self):
        """The sum of all."""
        total = self.zeros
        for where in self.places:
            total = self.builder.fadd(total, self.builder.load(where))
        lanes = range(self.vector.count)
        parts = [self.builder.extract_element(total, ir.IntType(32)(k)) for k in lanes]
        while len(parts) > 1:
            parts = [self.builder.fadd(a, b) for a, b in zip(parts[::2], parts[1::2])]
        return parts[0]


@contextmanager
def _features(builder, start, stop):
    """Loop over features of the front."""
    step = ir.Constant(start.type, FRONT_LANES)
    with cgutils.for_range_slice(builder, start, stop, step, inc=True) as (j, _):
        yield j


def _codes(builder, counts, i, j):
    """Codes of sample i from feature j on, as 32-bit numbers."""
    d = cgutils.unpack_tuple(builder, counts.shape)[1]
    bytes_type = ir.VectorType(ir.IntType(8), FRONT_LANES)
    place = builder.gep(counts.data, [builder.add(builder.mul(i, d), j)])
    codes = builder.load(builder.bitcast(place, bytes_type.as_pointer()), align=1)
    return builder.zext(codes, ir.VectorType(ir.IntType(32), FRONT_LANES))


def _above(builder, codes, t):
    """Which codes are greater than t."""
    limit = ir.Constant(codes.type, [t] * codes.type.count)
    return builder.icmp_unsigned(">", codes, limit)


def _step_address(builder, front, t, j, vector):
    """Address of the steps t of the features from j on, as that of a vector."""
    place = builder.add(
        builder.mul(j, ir.Constant(j.type, FRONT)), ir.Constant(j.type, t * FRONT_LANES)
    )
    return builder.bitcast(builder.gep(front.data, [place]), vector.as_pointer())


def _everywhere(builder, value, vector):
    """A vector of one value."""
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, nothing, zeros)


@intrinsic
def read(typing, numbers, place):
    """numbers[place] as all threads see it."""
    return types.int64(numbers, types.int64), _emit_read


def _emit_read(context, builder, signature, arguments):
    return builder.load_atomic(_place(context, builder, signature, arguments), "acquire", 8)


@intrinsic
def write(typing, numbers, place, value):
    """numbers[place] = value, after all that was written before."""
    return types.void(numbers, types.int64, types.int64), _emit_write


def _emit_write(context, builder, signature, arguments):
    where = _place(context, builder, signature, arguments)
    builder.store_atomic(arguments[2], where, "release", 8)
    return context.get_dummy_value()


@intrinsic
def increase(typing, numbers, place, old):
    """Add one to numbers[place] if it is ``old``; return whether it was, at one stroke."""
    return types.boolean(numbers, types.int64, types.int64), _emit_increase


def _emit_increase(context, builder, signature, arguments):
    where, old = _place(context, builder, signature, arguments), arguments[2]
    new = builder.add(old, ir.Constant(old.type, 1))
    return builder.extract_value(builder.cmpxchg(where, old, new, "acq_rel", "acquire"), 1)


@intrinsic
def fetch(typing, array, place):
    """Bring array[place] into the cache; it is not waited for."""
    return types.void(array, types.int64), _emit_fetch


def _emit_fetch(context, builder, signature, arguments):
    number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    where = builder.bitcast(_place(context, builder, signature, arguments), byte)
    builder.call(function, [where, number(0), number(3), number(1)])  # to read, to keep, data
    return context.get_dummy_value()


def _place(context, builder, signature, arguments):
    numbers = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(numbers.data, [arguments[1]])


def _plain_add_excess(lost, heights, start, stop, height, factor):
    whole = slice(start, start + -(-(stop - start) // LANES) * LANES)
    lost[whole] += factor * np.maximum(height - heights[whole], 0)


def _plain_front_score(counts, i, start, stop, front):
    reached = counts[i, start:stop].reshape(-1, 1, FRONT_LANES) > np.arange(FRONT)[:, None]
    steps = front[FRONT * start : FRONT * stop].reshape(reached.shape)
    return steps[reached].sum()


def _plain_front_turn(counts, added, scored, start, stop, rises, factor, front):
    reached = counts[added, start:stop].reshape(-1, 1, FRONT_LANES) > np.arange(FRONT)[:, None]
    steps = front[FRONT * start : FRONT * stop].reshape(reached.shape)
    steps += factor * reached * rises[:, None]
    return _plain_front_score(counts, scored, start, stop, front)


def _plain_read(numbers, place):
    return numbers[place]


def _plain_write(numbers, place, value):
    numbers[place] = value


def _plain_fetch(array, place):
    pass


def _plain_increase(numbers, place, old):
    is_old = numbers[place] == old
    numbers[place] += is_old
    return is_old


if numba.config.DISABLE_JIT:  # then numba runs the kernels as Python, which has no intrinsics
    add_excess = _plain_add_excess
    front_score, front_turn = _plain_front_score, _plain_front_turn
    read, write, increase = _plain_read, _plain_write, _plain_increase
    fetch = _plain_fetch


@njit(_nrt=False)
def gain(offset, code, lost):
    """T[j, k] of the cell with this code, of the feature that begins here."""
    return lost[offset] - lost[offset + code]


@njit(_nrt=False)
def score(start, stop, codes, shift, offsets, lost):
    """sum_j T[j, x_j] over all features from ``shift``  [Wu10, Eq. 6], in four sums at a time."""
    a = b = c = d = 0.0
    whole = stop - (stop - start) % np.uint64(4)
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    for k in range(start, whole, np.uint64(4)):
        j = k - start + shift
        a += gain(offsets[j], codes[k], lost)
        b += gain(offsets[j + one], codes[k + one], lost)
        c += gain(offsets[j + two], codes[k + two], lost)
        d += gain(offsets[j + three], codes[k + three], lost)
    for k in range(whole, stop):
        a += gain(offsets[k - start + shift], codes[k], lost)
    return (a + b) + (c + d)


@njit(_nrt=False)
def sparse_score(start, stop, codes, indices, offsets, lost):
    """Likewise over the stored features."""
    total = 0.0
    for k in range(start, stop):
        total += gain(offsets[indices[k]], codes[k], lost)
    return total


@njit(_nrt=False)
def add_block(i, b, change, codes, indices, cuts, edges, offsets, heights, lost):
    """T_jk += change min(x_j, k) for all levels of block b's features  [Wu10, Eq. 12]."""
    start, stop, first = np.uint64(cuts[i, b]), np.uint64(cuts[i, b + 1]), np.uint64(edges[b])
    for k in range(start, stop):
        j = np.uint64(indices[k]) if indices.size else k - start + first
        cell = offsets[j] + codes[k]
        add_excess(lost, heights, offsets[j], cell, heights[cell], change)


@njit(_nrt=False)
def fetch_block(i, b, codes, indices, cuts, edges, counts):
    """Bring what block b has of sample i into the cache."""
    start, stop = cuts[i, b], cuts[i, b + 1]
    for k in range(start, stop, CACHE_LINE // codes.itemsize):
        fetch(codes, k)
    if indices.size:
        for k in range(start, stop, CACHE_LINE // indices.itemsize):
            fetch(indices, k)
    if counts.size:
        row = i * counts.shape[1]
        for j in range(row + edges[b], row + edges[b + 1], CACHE_LINE):
            fetch(counts, j)


@njit(_nrt=False)
def turn_block(
    added, factor, scored, b, codes, indices, cuts, edges, offsets, heights, counts, rises, lost,
    front,
):  # fmt: skip
    """Add a multiple of one sample to block b; return what b then adds to another's score."""
    change = lost.dtype.type(factor)
    if factor != 0.0:
        add_block(added, b, change, codes, indices, cuts, edges, offsets, heights, lost)
    start, stop = np.uint64(cuts[scored, b]), np.uint64(cuts[scored, b + 1])
    if indices.size:
        value = sparse_score(start, stop, codes, indices, offsets, lost)
    else:
        value = score(start, stop, codes, np.uint64(edges[b]), offsets, lost)
    if front.size:
        first, last = edges[b], min(edges[b + 1], front.size // FRONT)
        if factor != 0.0:
            value += front_turn(counts, added, scored, first, last, rises, change, front)
        else:
            value += front_score(counts, scored, first, last, front)
    return value


@njit(_nrt=False)
def do_blocks(
    first, end, codes, indices, cuts, edges, offsets, heights, counts, rises, lost, front, numbers,
    factors, blocks, sums,
):  # fmt: skip
    """Add one sample and score the next, as the board says, in some blocks not yet begun.

    Return how many those were.
    """
    turn, n_done = read(numbers, TURN), 0
    for b in range(first, end):
        if not increase(blocks, b * LANES + TAKEN, turn - 1):
            continue
        fetch_block(numbers[NEXT], b, codes, indices, cuts, edges, counts)
        sums[b * LANES + SUM] = turn_block(
            numbers[ADDED], factors[FACTOR], numbers[SCORED], b, codes, indices, cuts, edges,
            offsets, heights, counts, rises, lost, front,
        )  # fmt: skip
        write(blocks, b * LANES + DONE, turn)
        n_done += 1
    return n_done


@njit(_nrt=False)
def visit(
    added, factor, scored, following, codes, indices, cuts, edges, offsets, heights, counts, rises,
    lost, front, numbers, factors, blocks, sums,
):  # fmt: skip
    """Add a multiple of one sample, then return the score of another.

    A block that a helper has not begun is done here: after a while, since its tables are in the
    helper's cache, and at once if that helper was away at the last visit.
    """
    n_blocks = edges.size - 1
    if n_blocks == 1:
        return turn_block(
            added, factor, scored, 0, codes, indices, cuts, edges, offsets, heights, counts, rises,
            lost, front,
        )  # fmt: skip
    turn = numbers[TURN] + 1
    numbers[ADDED], numbers[SCORED], numbers[NEXT] = added, scored, following
    factors[FACTOR] = factor
    write(numbers, TURN, turn)
    do_blocks(
        0, numbers[OWN], codes, indices, cuts, edges, offsets, heights, counts, rises, lost, front,
        numbers, factors, blocks, sums,
    )  # fmt: skip
    for b in range(numbers[OWN], n_blocks):
        looks = blocks[b * LANES + AWAY] * WAIT
        while looks < WAIT and read(blocks, b * LANES + TAKEN) < turn:
            looks += 1
        blocks[b * LANES + AWAY] = do_blocks(
            b, b + 1, codes, indices, cuts, edges, offsets, heights, counts, rises, lost, front,
            numbers, factors, blocks, sums,
        )  # fmt: skip
    total = 0.0
    for b in range(n_blocks):
        while read(blocks, b * LANES + DONE) < turn:
            pass
        total += sums[b * LANES + SUM]
    return total


@njit(_nrt=False)
def help_out(
    first, end, codes, indices, cuts, edges, offsets, heights, counts, rises, lost, front, numbers,
    factors, blocks, sums, patience,
):  # fmt: skip
    """Do these blocks as they come; return whether all is over, or else after looks in vain."""
    last, looks = 0, 0
    while looks < patience:
        turn = read(numbers, TURN)
        if turn < 0:
            return True
        if turn == last:
            looks += 1
            continue
        do_blocks(
            first, end, codes, indices, cuts, edges, offsets, heights, counts, rises, lost, front,
            numbers, factors, blocks, sums,
        )  # fmt: skip
        last, looks = turn, 0
    return False


@njit(_nrt=False)
def epoch(
    codes, indices, cuts, edges, offsets, heights, counts, rises, y, diagonal, curvature, upper,
    order, bounds, alpha, lost, front, numbers, factors, blocks, sums,
):  # fmt: skip
    """Visit the samples of ``order`` once; return how many were kept, and the extremes of PG.

    A sample at a bound whose gradient points out of the box by more than ``bounds`` is dropped:
    ``order`` keeps the others in front  [LIBLINEAR's shrinking].
    """
    largest, smallest, kept = -np.inf, np.inf, 0
    last, factor = order[0], 0.0
    for place in range(order.size):
        i, following = order[place], order[min(place + 1, order.size - 1)]
        value = visit(
            last, factor, i, following, codes, indices, cuts, edges, offsets, heights, counts,
            rises, lost, front, numbers, factors, blocks, sums,
        )  # fmt: skip
        factor = 0.0
        old = alpha[i]
        gradient = y[i] * value - 1.0 + diagonal[i] * old
        if (old <= 0.0 and gradient > bounds[0]) or (old >= upper[i] and gradient < bounds[1]):
            continue
        order[kept] = i
        kept += 1
        projected = gradient
        if old <= 0.0:
            projected = min(gradient, 0.0)
        elif old >= upper[i]:
            projected = max(gradient, 0.0)
        largest, smallest = max(largest, projected), min(smallest, projected)
        if projected != 0.0:
            alpha[i] = min(max(old - gradient / curvature[i], 0.0), upper[i])
            last, factor = i, (alpha[i] - old) * y[i]
    if factor != 0.0:
        add_sample(
            last, factor, codes, indices, cuts, edges, offsets, heights, counts, rises, lost, front
        )
    return kept, largest, smallest


@njit(_nrt=False)
def add_sample(
    i, factor, codes, indices, cuts, edges, offsets, heights, counts, rises, lost, front
):  # fmt: skip
    """Add factor times sample i to the tables."""
    for b in range(edges.size - 1):
        turn_block(
            i, factor, i, b, codes, indices, cuts, edges, offsets, heights, counts, rises, lost,
            front,
        )  # fmt: skip


@njit(_nrt=False)
def fill_tables(
    rows, coefficients, codes, indices, cuts, edges, offsets, heights, counts, rises, lost, front
):  # fmt: skip
    """Add T of these coefficients to the tables."""
    for i in rows:
        if coefficients[i] != 0.0:
            add_sample(
                i, coefficients[i], codes, indices, cuts, edges, offsets, heights, counts, rises,
                lost, front,
            )  # fmt: skip


@njit(_nrt=False)
def count_rest(first, end, codes, edges, width, cuts):
    """cuts[i, b + 1] = how many codes of row i in block b the front does not cover."""
    for i in range(first, end):
        for b in range(edges.size - 1):
            total = np.int64(0)
            for j in range(edges[b], edges[b + 1]):
                total += np.int64(codes[i, j] > (FRONT if j < width else 0))
            cuts[i, b + 1] = total


@njit(_nrt=False)
def collect_rest(first, end, codes, width, cuts, rest, indices):
    """Codes that the front does not cover, less FRONT where it covers a part, and features."""
    for i in range(first, end):
        k = cuts[i, 0]
        for j in range(codes.shape[1]):
            code = codes[i, j]
            covered = FRONT if j < width else 0
            if code > covered:
                rest[k] = code - covered
                indices[k] = j
                k += 1
