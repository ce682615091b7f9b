"""Feature values → rows of (column, level) pairs: what the low-rank solver reads.

A value is scaled to [0, 1] and becomes the nearest of ``top + 1`` levels; zeros are not stored. A
pair takes 4 bytes where there are at most 65,536 columns, else 6.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers import _level_rows as loops

_ENTRIES_AT_A_TIME = 1 << 20
_LARGEST = 1e30
_SAMPLE = 1 << 16  # entries that stand for the distribution of all
_FEW = 1 << 13  # entries that stand for the rounding errors of all
_FINER = 0.5  # of the rounding error: the least gain for which levels are even in the root


@dataclass(frozen=True)
class LevelRows:
    """Samples as pairs: row i has the positions ``bounds[i] … bounds[i + 1] - 1``."""

    columns: np.ndarray
    levels: np.ndarray
    bounds: np.ndarray

    def __len__(self) -> int:
        return self.bounds.size - 1

    def sums(self, by_level: np.ndarray) -> np.ndarray:
        """Return Σ_q by_level[level_q] of every row, float32."""
        out = np.empty(len(self), np.float32)
        loops.row_sums(self.levels, self.bounds, np.asarray(by_level, np.float64), out)
        return out


@dataclass(frozen=True)
class Survey:
    """What has to be known of all the data before its values can become levels."""

    low: np.ndarray
    high: np.ndarray
    columns: np.ndarray
    values: np.ndarray

    def joined(self, other: "Survey") -> "Survey":
        """Return the survey of both parts of the data; a sample that grows too long is thinned."""
        columns = np.concatenate([self.columns, other.columns])
        values = np.concatenate([self.values, other.values])
        step = 2 if columns.size > 8 * _SAMPLE else 1
        return Survey(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            columns[::step],
            values[::step],
        )


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
        return np.clip((values - shift) * factor, 0, 1)


def survey(X: Any, scaling: str) -> Survey:
    """Return the limits of the values and a sample of the entries that are not zero.

    Parameters
    ----------
    X : array or CSR matrix
    scaling : {"global", "feature", "none"}
    """
    sparse_input = sparse.issparse(X)
    if scaling == "feature":
        low, high = (
            _single(m.toarray() if sparse_input else m) for m in (X.min(axis=0), X.max(axis=0))
        )
    else:
        values = X.data if sparse_input else X
        low, high = _single(values.min(initial=0)), _single(values.max(initial=0))
    if sparse_input and low.min(initial=0) < 0:
        raise ValueError(
            "sparse data with negative values: moving them to 0 … 1 would fill the matrix; pass a "
            "dense array, or make the values non-negative"
        )
    size = X.data.size if sparse_input else X.size
    step = max(1, size // _SAMPLE)
    while gcd(step, X.shape[1]) > 1:  # or a dense matrix would show some of its columns only
        step += 1
    where = np.arange(0, size, step)
    if sparse_input:
        return Survey(low, high, X.indices[where].astype(np.int64), X.data[where].astype(float))
    columns = where % X.shape[1]
    sample = X[where // X.shape[1], columns].astype(float)
    stored = sample != (0 if low.size == 1 else np.minimum(low, 0)[columns])
    return Survey(low, high, columns[stored], sample[stored])


def _single(limits: Any) -> np.ndarray:
    """Return limits with 32 bits; ``ValueError`` where these could not tell them from 0 or ∞."""
    limits = np.ravel(limits)
    sizes = np.abs(limits[limits != 0]).astype(np.float64)
    if sizes.size and not (1 / _LARGEST <= sizes.min() <= sizes.max() <= _LARGEST):
        raise ValueError(
            f"values as large as {sizes.max():g} and as small as {sizes.min():g}, but levels are "
            f"computed with 32 bits; multiply X (or its columns) by a constant so that the largest "
            f"values lie between {1 / _LARGEST:g} and {_LARGEST:g}"
        )
    return limits.astype(np.float32)


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
    shares = scale.shares(found.columns[few], found.values[few])
    even = np.abs(np.rint(shares * top) / top - shares).mean() if shares.size else 0.0
    rooted = np.abs((np.rint(np.sqrt(shares) * top) / top) ** 2 - shares).mean() if even else 0.0
    return LevelScale(shift, factor, top, bool(rooted < _FINER * even))


def level_weights(found: Survey, scale: LevelScale) -> np.ndarray:
    """Return how often each level occurs in the survey's sample."""
    shares = scale.shares(found.columns, found.values)
    positions = np.sqrt(shares) if scale.root else shares
    weights = np.bincount(np.rint(positions * scale.top).astype(np.int64), minlength=scale.top + 1)
    weights[0] = 0
    return weights


def frequent_first(found: Survey, n_columns: int) -> np.ndarray:
    """Return the new place of every column, the most frequent first, so that they share caches."""
    counts = np.bincount(found.columns, minlength=n_columns)
    place = np.empty(n_columns, np.uint32)
    place[np.argsort(-counts, kind="stable")] = np.arange(n_columns, dtype=np.uint32)
    return place


def level_rows(X: Any, scale: LevelScale, place: np.ndarray) -> LevelRows:
    """Return the pairs of all rows of X.

    Parameters
    ----------
    X : array or canonical CSR matrix without stored zeros
        Read a part at a time; never copied as a whole.
    scale : LevelScale
    place : (n_columns,) uint32
        New column of every old one.
    """
    column_type = np.uint16 if X.shape[1] <= 1 << 16 else np.uint32
    top, root = np.float32(scale.top), scale.root
    if sparse.issparse(X):
        columns, levels = np.empty(X.nnz, column_type), np.empty(X.nnz, np.uint16)
        for start in range(0, X.nnz, _ENTRIES_AT_A_TIME):
            some = slice(start, start + _ENTRIES_AT_A_TIME)
            indices, values = _plain(X.indices[some], np.int32), _plain(X.data[some], np.float32)
            loops.level_pairs(
                indices, values, place, scale.factor, top, root, columns[some], levels[some]
            )
        return LevelRows(columns, levels, X.indptr.astype(np.int64))
    counts = np.empty(X.shape[0], np.int64)
    for rows, part in _row_parts(X):
        loops.count_dense(part, scale.shift, counts[rows])
    bounds = np.concatenate([[0], np.cumsum(counts)])
    columns, levels = np.empty(bounds[-1], column_type), np.empty(bounds[-1], np.uint16)
    for rows, part in _row_parts(X):
        entries = slice(bounds[rows.start], bounds[rows.stop])
        loops.dense_pairs(
            part, place, scale.shift, scale.factor, top, root, columns[entries], levels[entries]
        )
    return LevelRows(columns, levels, bounds)


def canonical(X: Any) -> Any:
    """Return X; if sparse, without stored zeros and repeated entries (then copied)."""
    if sparse.issparse(X) and (not X.has_canonical_format or not X.data.all()):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


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
