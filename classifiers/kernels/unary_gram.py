"""Histogram intersection Gram matrix of small integers, by counting bits that rows share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from visualwords.classifiers.kernels import _unary_gram as loops
from visualwords.threads import in_threads

SAMPLE = 128  # rows that tell how often levels are reached
_FREQUENT = 0.02  # share of the rows that must reach a level of a column for it to get a bit
_MOST_PLANES = 64
_ROWS_AT_A_TIME = 128  # these stay in the second-level cache while all columns pass

Reader = Callable[[int, int], tuple[np.ndarray, np.ndarray]]
"""Gives rows first … last - 1 as an array and which of its rows they are."""


@dataclass(frozen=True)
class UnaryPlan:
    """Which levels of which columns become bits.

    A plane has one bit for each column whose values often reach its height. Planes are made from
    64 columns at a time: an entry is such a part of a plane.

    Attributes
    ----------
    sources : (entries,) int64
        First of the 64 columns.
    heights : (entries,) of the values' type
        Level that a value must reach for its bit.
    masks : (entries,) uint64
        Which of the columns have a bit.
    places : (entries,) int64
        Where the first bit goes in a row of bits.
    bounds, weights : (groups + 1,), (groups,) int64
        Words of planes whose levels rise by the same weight, in eights.
    tops : (d,) of the values' type
        Highest level of each column that has a bit; what exceeds it is the rest.
    """

    sources: np.ndarray
    heights: np.ndarray
    masks: np.ndarray
    places: np.ndarray
    bounds: np.ndarray
    weights: np.ndarray
    tops: np.ndarray

    @property
    def vectors(self) -> int:
        """Vectors of 512 bits a row."""
        return int(self.bounds[-1]) // loops.LANES


def present_levels(x: np.ndarray, y: np.ndarray | None) -> np.ndarray:
    """Return the levels that occur, and 0."""
    present = np.zeros(np.iinfo(x.dtype).max + 1, np.uint8)
    present[0] = 1
    for part in (x,) if y is None else (x, y):
        loops.mark_present(part.reshape(-1), present)
    return np.flatnonzero(present)


def plan_bits(x: np.ndarray, present: np.ndarray) -> UnaryPlan:
    """Give bits to the levels that many rows reach.

    Parameters
    ----------
    x : (n, d) uint8 or uint16
    present : (g,) int
        Ascending levels from 0; all that occur must be among them.
    """
    present = present[: _MOST_PLANES + 1]
    plane_of = np.searchsorted(present, np.arange(np.iinfo(x.dtype).max + 1), side="right") - 1
    step = max(1, x.shape[0] // SAMPLE)
    counts = np.zeros((x.shape[1], present.size), np.int32)
    loops.count_reached(x, step, plane_of.astype(np.uint8), counts)
    needed = _FREQUENT * -(-x.shape[0] // step)
    depth = (counts[:, 1:] > needed).sum(axis=1)
    return _arrange(depth, present, x.dtype)


def _arrange(depth: np.ndarray, present: np.ndarray, dtype: Any) -> UnaryPlan:
    """The plan in which each column has bits in so many planes."""
    d, rises = depth.size, np.diff(present)[: depth.max(initial=0)]
    n_words = -(-d // 64)
    has_bit = np.zeros((rises.size, 64 * n_words), bool)
    has_bit[:, :d] = depth > np.arange(rises.size)[:, None]
    masks = np.packbits(has_bit, axis=1, bitorder="little").view(np.uint64)
    counts = has_bit.reshape(rises.size, n_words, 64).sum(axis=2)
    sources = 64 * np.arange(n_words)
    if d % 64 and d > 64:  # the last 64 columns overlap those before
        sources[-1] = d - 64
        masks[:, -1] <<= np.uint64(-d % 64)
    found, places, bounds = [], [], [0]
    weights = np.unique(rises)
    for weight in weights:
        planes, words = np.nonzero((rises == weight)[:, None] & (counts > 0))
        ends = 64 * bounds[-1] + np.cumsum(counts[planes, words])
        found.append(np.stack([planes, words]))
        places.append(ends - counts[planes, words])
        bounds.append(-(-int(ends[-1]) // (64 * loops.LANES)) * loops.LANES)
    planes, words = np.concatenate(found, axis=1) if found else np.zeros((2, 0), int)
    heights = present[planes + 1].astype(dtype)
    where = np.concatenate([np.zeros(0, int), *places])
    entries = sources[words], heights, masks[planes, words], where
    return UnaryPlan(*entries, np.array(bounds), weights, present[depth].astype(dtype))


@dataclass(frozen=True)
class UnaryRows:
    """Rows as bits, (n, words) uint64, and the rest of their values as a sparse matrix."""

    bits: np.ndarray
    bounds: np.ndarray
    columns: np.ndarray
    values: np.ndarray

    def rest_by_column(self, d: int) -> tuple[np.ndarray, ...]:
        """Return the rest's first entry of every column, rows, values, and places of entries."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.columns, minlength=d))])
        rows, values = np.empty(self.columns.size, np.uint32), np.empty_like(self.values)
        places = np.empty(self.columns.size, np.uint32)
        mine = self.bounds, self.columns, self.values
        loops.by_column(*mine, starts[:-1].copy(), places, rows, values)
        return starts, rows, values, places


def unary_rows(read: Reader, n: int, plan: UnaryPlan, n_jobs: int | None) -> UnaryRows:
    """Return the bits and the rest of n rows."""
    bits = np.zeros((n, plan.bounds[-1]), np.uint64)
    entries = plan.sources, plan.heights, plan.masks, plan.places
    sizes = np.zeros(n + 1, np.int64)
    found: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def pack(first: int, last: int) -> None:
        x, rows = read(first, last)
        wide = x if x.shape[1] >= 64 else np.pad(x, ((0, 0), (0, 64 - x.shape[1])))
        loops.pack(wide, rows, *entries, bits[first:last])
        loops.count_rest(x, rows, plan.tops, sizes[first + 1 : last + 1])
        total = sizes[first + 1 : last + 1].sum()
        found[first] = np.empty(total, np.uint32), np.empty(total, np.float32)
        loops.collect_rest(x, rows, plan.tops, *found[first])

    in_threads(pack, n, _ROWS_AT_A_TIME, n_jobs)
    columns, values = (np.concatenate(part) for part in zip(*(found[k] for k in sorted(found))))
    return UnaryRows(bits, np.cumsum(sizes), columns, values)


def rows_of(x: np.ndarray, order: np.ndarray | None = None) -> Reader:
    """Return what reads the rows of an array, or those of an order."""
    order = np.arange(x.shape[0]) if order is None else order
    return lambda first, last: (x, order[first:last])


def unary_gram(
    x: np.ndarray,
    y: np.ndarray | None,
    plan: UnaryPlan,
    n_jobs: int | None,
    order: np.ndarray | None = None,
) -> np.ndarray:
    """Return G[i, j] = Σ_k min(x[i, k], y[j, k]), exactly; half of it without y.

    x and y have at least four rows, in C order. ``order`` are the rows of x that are wanted.
    """
    n = x.shape[0] if order is None else order.size
    left = unary_rows(rows_of(x, order), n, plan, n_jobs)
    right = left if y is None else unary_rows(rows_of(y), y.shape[0], plan, n_jobs)
    out = np.empty((n, right.bits.shape[0]), np.float32)
    fill_gram(left, right, plan, n_jobs, out)
    return out


def fill_gram(
    left: UnaryRows,
    right: UnaryRows,
    plan: UnaryPlan,
    n_jobs: int | None,
    out: np.ndarray,
    *,
    add: bool = False,
) -> None:
    """Write the sums of minima of two sets of rows to a matrix, or add them to it.

    If both are the same object, only the lower half is touched.
    """
    symmetric = left is right
    starts, *rest, places = right.rest_by_column(plan.tops.size)
    stops = places if symmetric else starts[1:][left.columns]

    def rows(first: int, last: int) -> None:
        loops.gram_rows(
            left.bits, right.bits, first, last, symmetric, plan.bounds, plan.weights, add, out
        )
        mine = left.bounds, left.columns, left.values, stops
        loops.add_rest(*mine, starts, *rest, first, last, out)

    in_threads(rows, out.shape[0], _ROWS_AT_A_TIME, n_jobs, last_first=symmetric)
