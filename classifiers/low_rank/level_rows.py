"""Feature values → rows of (column, level) pairs: what the low-rank solver reads.

A value is scaled to [0, 1] and becomes the nearest of ``top + 1`` levels; zeros are not stored. A
pair takes 4 bytes where there are less than 65,536 columns, else 6.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.low_rank import _level_rows as loops
from visualwords.classifiers.low_rank._level_rows import MULTIPLE
from visualwords.classifiers.low_rank.level_survey import Survey

_ENTRIES_AT_A_TIME = 1 << 20
_FEW = 1 << 11  # entries that stand for the rounding errors of all
_FINER = 0.5  # of the rounding error: the least gain for which levels are even in the root


@dataclass(frozen=True)
class LevelRows:
    """Samples as pairs: row i has the positions ``bounds[i] … bounds[i + 1] - 1``.

    Row i is sample ``order[i]``, or sample i if there is no order.
    """

    columns: np.ndarray
    levels: np.ndarray
    bounds: np.ndarray
    order: np.ndarray | None = None

    def __len__(self) -> int:
        return self.bounds.size - 1

    @property
    def samples(self) -> np.ndarray:
        """The sample that each row is."""
        return np.arange(len(self)) if self.order is None else self.order

    def sums(self, by_level: np.ndarray) -> np.ndarray:
        """Return Σ_q by_level[level_q] of every row, float32."""
        out = np.empty(len(self), np.float32)
        loops.level_sums(self.levels, self.bounds, np.asarray(by_level, np.float64), out)
        return out


@dataclass(frozen=True)
class LevelScale:
    """How values become levels: ``top × (value − shift) × factor``, or the root of the share.

    ``shift`` and ``factor`` have one number, or one a feature.
    """

    shift: np.ndarray
    factor: np.ndarray
    top: int
    root: bool = False

    def values(self) -> np.ndarray:
        """Return the number in [0, 1] that each level stands for."""
        share = np.arange(self.top + 1) / self.top
        return share**2 if self.root else share

    def shares(self, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the values of some entries, scaled to [0, 1]."""
        shift, factor = (a if a.size == 1 else a[columns] for a in (self.shift, self.factor))
        return np.minimum(np.maximum((values - shift) * factor, 0), 1)


def level_scale(found: Survey, scaling: str, top: int, spacing: str) -> LevelScale:
    """Return the scale that maps the surveyed data to levels.

    Values are divided by the largest ("global") or by their feature's largest ("feature");
    negative ones are moved to 0 first. ``spacing="auto"`` takes levels that are even in the root
    where that halves the mean rounding error, which is so where most values are small.
    """
    shift = np.minimum(found.low, 0).astype(np.float32)
    width = (found.high - shift).astype(np.float64)
    factor = np.divide(1.0, width, out=np.zeros_like(width), where=width > 0).astype(np.float32)
    if scaling == "none":
        if found.low[0] < 0 or found.high[0] > 1:
            raise ValueError(
                f"scaling='none' needs values in 0 … 1, but they are in {found.low[0]:g} … "
                f"{found.high[0]:g}; use scaling='global' or 'feature'"
            )
        shift, factor = np.zeros(1, np.float32), np.ones(1, np.float32)
    scale = LevelScale(shift, factor, top, spacing == "root")
    if spacing != "auto":
        return scale
    few = slice(None, None, max(1, found.values.size // _FEW))
    even, rooted = loops.rounding_errors(scale.shares(found.columns[few], found.values[few]), top)
    return LevelScale(shift, factor, top, rooted < _FINER * even)


def level_weights(found: Survey, scale: LevelScale) -> np.ndarray:
    """Return how often each level occurs in the survey's sample."""
    weights = np.zeros(scale.top + 1, np.int64)
    shares = scale.shares(found.columns, found.values)
    loops.count_levels(shares, scale.top, scale.root, weights)
    weights[0] = 0
    return weights


def level_rows(X: Any, scale: LevelScale, place: np.ndarray) -> LevelRows:
    """Return the pairs of all rows of X.

    Parameters
    ----------
    X : array or canonical CSR matrix without stored zeros
        Read a part at a time; never copied as a whole.
    scale : LevelScale
    place : (n_columns + 1,) uint32
        New column of every old one; empty: they keep theirs.
    """
    bounds = _bounds(_lengths(X, scale))
    return LevelRows(*_pairs(X, scale, place, bounds[:-1], bounds[-1], 1), bounds)


def rows_by_length(X: Any, scale: LevelScale, place: np.ndarray) -> LevelRows:
    """Return the same, short rows first: neighbours are about equally long.

    That is what processors can foresee. Rows are filled up to a multiple of `MULTIPLE` pairs with
    the column ``n_columns``, which X lacks, at level 0.
    """
    order, starts, bounds = arrange_by_length(_lengths(X, scale))
    return LevelRows(*_pairs(X, scale, place, starts, bounds[-1], MULTIPLE), bounds, order)


def arrange_by_length(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the order of rows by length, where each begins, and the bounds of the sorted rows."""
    order, starts = np.empty((2, lengths.size), np.int64)
    bounds = np.empty(lengths.size + 1, np.int64)
    loops.arrange_by_length(lengths, lengths.max(), order, starts, bounds)
    return order, starts, bounds


def _pairs(
    X: Any, scale: LevelScale, place: np.ndarray, starts: np.ndarray, size: int, multiple: int
) -> tuple[np.ndarray, np.ndarray]:
    """Columns and levels, so many; row i of X from ``starts[i]`` on."""
    none = X.shape[1]
    columns = np.empty(size, np.uint16 if none < 1 << 16 else np.uint32)
    levels = np.empty(size, np.uint16)
    fill, how = (multiple - 1, none), (np.float32(scale.top), scale.root, columns, levels)
    if sparse.issparse(X):
        for rows, *arrays in _sparse_parts(X):
            loops.sparse_pairs(*arrays, starts[rows], *fill, scale.factor, *how)
    else:
        for rows, part in _row_parts(X):
            loops.dense_pairs(part, starts[rows], *fill, scale.shift, scale.factor, *how)
    if place.size:
        loops.move_columns(columns, place)
    return columns, levels


def _lengths(X: Any, scale: LevelScale) -> np.ndarray:
    """Number of pairs of every row."""
    if sparse.issparse(X):
        return np.diff(X.indptr)
    counts = np.empty(X.shape[0], np.int64)
    for rows, part in _row_parts(X):
        loops.count_dense(part, scale.shift, counts[rows])
    return counts


def _bounds(lengths: np.ndarray) -> np.ndarray:
    """Where rows of some lengths begin and end, (n + 1,) int64."""
    bounds = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=bounds[1:])
    return bounds


def _sparse_parts(X: Any) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
    """Some rows of a CSR matrix at a time: which, their indices, values and bounds."""
    wanted = np.arange(_ENTRIES_AT_A_TIME, X.nnz, _ENTRIES_AT_A_TIME)
    cuts = [0, *np.searchsorted(X.indptr, wanted).tolist(), X.shape[0]]
    for start, stop in pairwise(cuts):
        entries = slice(X.indptr[start], X.indptr[stop])
        bounds = _plain(X.indptr[start : stop + 1] - X.indptr[start], np.int64)
        indices, values = X.indices[entries], X.data[entries]
        yield slice(start, stop), _plain(indices, np.int32), _plain(values, np.float32), bounds


def _row_parts(X: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Some rows of a dense matrix at a time, as float32 in C order."""
    height = max(1, _ENTRIES_AT_A_TIME // max(1, X.shape[1]))
    for start in range(0, X.shape[0], height):
        rows = slice(start, min(start + height, X.shape[0]))
        yield rows, _plain(X[rows], np.float32)


def _plain(array: np.ndarray, dtype: Any) -> np.ndarray:
    """The array as the compiled loops take it: of this type, in C order, not read-only."""
    array = np.asarray(array, dtype)
    return array if array.flags.c_contiguous and array.flags.writeable else array.copy(order="C")
