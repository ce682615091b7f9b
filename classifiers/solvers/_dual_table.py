"""Loops of dual coordinate descent on the table T ([Wu10], Algorithm 2), one problem at a time.

The table has a cell for each numbered level of each feature, beginning at multiples of eight
cells; ``heights`` holds the cells' levels. A cell is what sum_i α_i y_i x_ij loses above its level:
lost[j, k] = sum_i α_i y_i max(x_ij - k, 0), so T[j, k] = lost[j, 0] - lost[j, k]. Other than T
itself, this changes with a sample only below the sample's own level, and most are low.

Features lie in blocks that several threads can share: block b has the features from ``edges[b]``
to ``edges[b + 1]``, and sample i the codes ``codes[cuts[i, b] : cuts[i, b + 1]]`` there, of the
features ``indices`` at the same places, or of all features in order where ``indices`` is empty.

Where most codes are small, the first FRONT steps of all features lie apart: front[t, j] is the step
of the table from code t to code t + 1, so a sample adds up those with t < x_j, sixteen features at
a time, and the table begins at code FRONT. The steps t of sixteen features follow each other, then
their steps t + 1, then those of the next features. ``counts`` (n, d) holds the codes as bytes; a
step is of ``rises[t]`` levels for all features.

A visit of a sample takes microseconds, too few for any pool of threads. Helpers look at a board
instead: the pass writes there which sample to add and which to score, every thread does the blocks
that are its own, and the pass goes on when all are done. A block whose thread is held back by the
system is done by the pass itself; and as blocks are the same for any number of threads, so is
every sum.

Nothing here needs numba's counts of references, which threads would have to share: ``_nrt=False``.
"""

from typing import NamedTuple

import numpy as np

from visualwords.classifiers.solvers import _atomic, _table_vectors, _vectors
from visualwords.classifiers.solvers._atomic import fetch, increase, read, write
from visualwords.classifiers.solvers._table_vectors import (
    FRONT,
    add_excess,
    front_score,
    front_turn,
)
from visualwords.compiled import njit

CACHE_LINE = 64  # bytes
LINE = 8  # numbers in one
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

    The memory of ``numbers`` and of ``blocks`` is seen as floats, too: what is read together
    travels together from one processor to the other.
    """

    numbers: np.ndarray
    factors: np.ndarray
    blocks: np.ndarray
    sums: np.ndarray


compiled = njit(inlined=(_atomic, _table_vectors, _vectors), _nrt=False)


@compiled
def gain(offset, code, lost):
    """T[j, k] of the cell with this code, of the feature that begins here."""
    return lost[offset] - lost[offset + code]


@compiled
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


@compiled
def sparse_score(start, stop, codes, indices, offsets, lost):
    """Likewise over the stored features."""
    total = 0.0
    for k in range(start, stop):
        total += gain(offsets[indices[k]], codes[k], lost)
    return total


@compiled
def add_block(i, b, change, codes, indices, cuts, edges, offsets, heights, lost):
    """T_jk += change min(x_j, k) for all levels of block b's features  [Wu10, Eq. 12]."""
    start, stop, first = np.uint64(cuts[i, b]), np.uint64(cuts[i, b + 1]), np.uint64(edges[b])
    for k in range(start, stop):
        j = np.uint64(indices[k]) if indices.size else k - start + first
        cell = offsets[j] + codes[k]
        add_excess(lost, heights, offsets[j], cell, heights[cell], change)


@compiled
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


@compiled
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


@compiled
def do_blocks(
    first, end, codes, indices, cuts, edges, offsets, heights, counts, rises, lost, front, numbers,
    factors, blocks, sums,
):  # fmt: skip
    """Add one sample and score the next, as the board says, in some blocks not yet begun.

    Return how many those were.
    """
    turn, n_done = read(numbers, TURN), 0
    for b in range(first, end):
        if not increase(blocks, b * LINE + TAKEN, turn - 1):
            continue
        fetch_block(numbers[NEXT], b, codes, indices, cuts, edges, counts)
        sums[b * LINE + SUM] = turn_block(
            numbers[ADDED], factors[FACTOR], numbers[SCORED], b, codes, indices, cuts, edges,
            offsets, heights, counts, rises, lost, front,
        )  # fmt: skip
        write(blocks, b * LINE + DONE, turn)
        n_done += 1
    return n_done


@compiled
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
        looks = blocks[b * LINE + AWAY] * WAIT
        while looks < WAIT and read(blocks, b * LINE + TAKEN) < turn:
            looks += 1
        blocks[b * LINE + AWAY] = do_blocks(
            b, b + 1, codes, indices, cuts, edges, offsets, heights, counts, rises, lost, front,
            numbers, factors, blocks, sums,
        )  # fmt: skip
    total = 0.0
    for b in range(n_blocks):
        while read(blocks, b * LINE + DONE) < turn:
            pass
        total += sums[b * LINE + SUM]
    return total


@compiled
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


@compiled
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


@compiled
def add_sample(
    i, factor, codes, indices, cuts, edges, offsets, heights, counts, rises, lost, front
):  # fmt: skip
    """Add factor times sample i to the tables."""
    for b in range(edges.size - 1):
        turn_block(
            i, factor, i, b, codes, indices, cuts, edges, offsets, heights, counts, rises, lost,
            front,
        )  # fmt: skip


@compiled
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


@compiled
def count_rest(first, end, codes, edges, width, cuts):
    """cuts[i, b + 1] = how many codes of row i in block b the front does not cover."""
    for i in range(first, end):
        for b in range(edges.size - 1):
            total = np.int64(0)
            for j in range(edges[b], edges[b + 1]):
                total += np.int64(codes[i, j] > (FRONT if j < width else 0))
            cuts[i, b + 1] = total


@compiled
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
