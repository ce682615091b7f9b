"""The compiled loops of the kernel SVM: sequential minimal optimisation.

With β = y α the dual is: minimise ½ βᵀKβ − yᵀβ subject to Σβ = 0 and l <= β <= u, where [l, u]
is [0, C] for y = 1 and [−C, 0] for y = −1. v = y − Kβ is minus its gradient.

A step moves the pair of second-order working set selection [Fan05, WSS 2]. Both passes over the
samples are free of branches: a sample that can't grow carries −∞, one that can't shrink +∞. A pass
looks for the best value block by block, which the processor does on several samples at once, and
only then for its place in the best block.
"""

import math
from typing import NamedTuple

import numpy as np

from visualwords.compiled import njit

BLOCK = 128  # samples among which the best is found before its place
FLAT = 1e-12  # least curvature along a pair, as in LIBSVM
NO_NAN = {"nnan", "nsz"}  # infinities stay: they mark bounds
NOT_SIGN = np.int64(2**63 - 1)  # all bits of a number but its sign


class Blocks(NamedTuple):
    """A symmetric matrix as blocks [[first, cross], [crossᵀ, second]], or some rows of one.

    All of one type, float32 or float64, in C order; `cross` and `second` are (0, 0) where `first`
    has everything.
    """

    first: np.ndarray
    cross: np.ndarray
    second: np.ndarray


class Rows(NamedTuple):
    """The Gram matrix of m samples; rows are copied from the source when they are first used."""

    source: Blocks
    places: np.ndarray
    """(m,) int64: the samples' rows of the source."""
    columns: np.ndarray
    """(m,) int64: the samples' columns of the source."""
    copies: np.ndarray
    """(m, m), or (0, 0) where rows of the source are used as they are."""
    copied: np.ndarray
    """(m,) uint8: whether a copy is there."""


class Point(NamedTuple):
    """Where the optimisation stands, all (m,) float64 and changed by the loops."""

    v: np.ndarray
    beta: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    grow: np.ndarray
    """0 where β < u, else −∞."""
    shrink: np.ndarray
    """0 where β > l, else +∞."""


@njit()
def mark(point, k):
    """Note which way sample k can move."""
    point.grow[k] = 0.0 if point.beta[k] < point.upper[k] else -math.inf
    point.shrink[k] = 0.0 if point.beta[k] > point.lower[k] else math.inf


@njit(inline="always")
def _key(x):
    """A whole number that is ordered like x: compilers find maxima of such on several lanes."""
    bits = np.float64(x).view(np.int64)
    return bits ^ (NOT_SIGN if bits < 0 else np.int64(0))


@njit(fastmath=NO_NAN)
def _extremes(v, grow, shrink):
    """The sample with the largest v that can grow, that v, and the least v that can shrink."""
    place, highest, lowest = 0, _key(-math.inf), _key(math.inf)
    for start in range(0, v.size, BLOCK):
        top = _key(-math.inf)
        for k in range(start, min(start + BLOCK, v.size)):
            top = max(top, _key(v[k] + grow[k]))
            lowest = min(lowest, _key(v[k] + shrink[k]))
        if top > highest:
            place, highest = start, top
    i = place
    while i < v.size - 1 and _key(v[i] + grow[i]) < highest:
        i += 1
    least = np.int64(lowest ^ (NOT_SIGN if lowest < 0 else np.int64(0))).view(np.float64)
    return i, v[i] + grow[i], least


@njit(fastmath=NO_NAN)
def _partner(row, diagonal, v, shrink, i, highest):
    """The sample that promises the largest decrease together with i, or −1."""
    place, best, own = -1, np.int64(0), diagonal[i]
    for start in range(0, v.size, BLOCK):
        top = np.int64(0)
        for k in range(start, min(start + BLOCK, v.size)):
            rise = max(highest - (v[k] + shrink[k]), 0.0)
            bend = max(own + diagonal[k] - 2.0 * row[k], FLAT)
            top = max(top, np.float64(rise * rise / bend).view(np.int64))
        if top > best:
            place, best = start, top
    if place < 0:
        return -1
    j, gain = -1, -1.0
    for k in range(place, min(place + BLOCK, v.size)):
        rise = max(highest - (v[k] + shrink[k]), 0.0)
        bend = max(own + diagonal[k] - 2.0 * row[k], FLAT)
        if rise * rise / bend > gain:
            j, gain = k, rise * rise / bend
    return j


@njit(fastmath=NO_NAN)
def _follow(row_i, row_j, size, v):
    """Update v after a step."""
    for k in range(v.size):
        v[k] -= size * (np.float64(row_i[k]) - np.float64(row_j[k]))


@njit()
def _step(point, i, j, bend):
    """Move β of a pair as far as the curvature and the bounds say; return how far."""
    size = (point.v[i] - point.v[j]) / max(bend, FLAT)
    room_i, room_j = point.upper[i] - point.beta[i], point.beta[j] - point.lower[j]
    size = min(size, min(room_i, room_j))
    # Bounds are reached exactly, so that they are recognised.
    point.beta[i] = point.upper[i] if size == room_i else point.beta[i] + size
    point.beta[j] = point.lower[j] if size == room_j else point.beta[j] - size
    mark(point, i)
    mark(point, j)
    return size


@njit()
def read_row(source, place, columns, out):
    """out = row ``place`` of the blocks at some columns; ascending, where there are several blocks.

    source : Blocks     columns : (m,) int64     out : (m,)
    """
    height, width = source.first.shape
    split = np.searchsorted(columns, width) if source.cross.size else columns.size
    if place < height:
        near = source.first[place]
        for c in range(split):
            out[c] = near[columns[c]]
        for c in range(split, columns.size):
            out[c] = source.cross[place, columns[c] - width]
    else:
        far = source.second[place - height]
        for c in range(split):
            out[c] = source.cross[columns[c], place - height]
        for c in range(split, columns.size):
            out[c] = far[columns[c] - width]


@njit()
def _row(rows, k):
    """Row k of the samples' Gram matrix."""
    if rows.copies.shape[0] == 0:
        return rows.source.first[rows.places[k]]
    if not rows.copied[k]:
        read_row(rows.source, rows.places[k], rows.columns, rows.copies[k])
        rows.copied[k] = 1
    return rows.copies[k]


@njit()
def minimise(rows, diagonal, point, goal, max_steps):
    """Move towards the optimum; return the number of steps and the violation max v − min v.

    rows : Rows     diagonal : (m,) float64     point : Point
    """
    for k in range(point.v.size):
        mark(point, k)
    i, highest, lowest = _extremes(point.v, point.grow, point.shrink)
    for step in range(max_steps):
        if highest - lowest <= goal:
            return step, highest - lowest
        row_i = _row(rows, i)
        j = _partner(row_i, diagonal, point.v, point.shrink, i, highest)
        if j < 0:
            return step, highest - lowest
        size = _step(point, i, j, diagonal[i] + diagonal[j] - 2.0 * row_i[j])
        row_j = _row(rows, j)
        _follow(row_i, row_j, size, point.v)
        i, highest, lowest = _extremes(point.v, point.grow, point.shrink)
    return max_steps, highest - lowest


@njit()
def minimise_sparse(starts, columns, values, diagonal, point, goal, max_steps):
    """`minimise` for a CSR matrix: a step reads the non-zeros of two rows.

    starts, columns, values : the matrix     diagonal : (m,) float64     point : Point
    """
    for k in range(point.v.size):
        mark(point, k)
    row = np.zeros(point.v.size)
    i, highest, lowest = _extremes(point.v, point.grow, point.shrink)
    for step in range(max_steps):
        if highest - lowest <= goal:
            return step, highest - lowest
        for e in range(starts[i], starts[i + 1]):
            row[columns[e]] = values[e]
        j = _partner(row, diagonal, point.v, point.shrink, i, highest)
        bend = diagonal[i] + diagonal[j] - 2.0 * row[j]
        for e in range(starts[i], starts[i + 1]):
            row[columns[e]] = 0.0
        if j < 0:
            return step, highest - lowest
        size = _step(point, i, j, bend)
        for e in range(starts[i], starts[i + 1]):
            point.v[columns[e]] -= size * values[e]
        for e in range(starts[j], starts[j + 1]):
            point.v[columns[e]] += size * values[e]
        i, highest, lowest = _extremes(point.v, point.grow, point.shrink)
    return max_steps, highest - lowest


@njit()
def subtract_rows(source, places, changes, columns, v):
    """v −= Σ_r changes[r] · source[places[r], columns].

    source : Blocks     places : (r,) int64     changes : (r,) float64     columns : (m,) int64
    v : (m,), changed
    """
    in_order = columns.size == source.first.shape[1] and source.cross.size == 0
    copy = np.empty(0 if in_order else v.size, source.first.dtype)
    for r in range(places.size):
        if not in_order:
            read_row(source, places[r], columns, copy)
        row, change = source.first[places[r]] if in_order else copy, changes[r]
        for k in range(v.size):
            v[k] -= change * row[k]
