"""Feature values → rows of (column, level) pairs: what the low-rank solver reads.

A value is scaled to [0, 1] and becomes the nearest of ``top + 1`` levels; zeros are not stored. A
pair takes 4 bytes where there are at most 65,536 columns, else 6.
"""

from collections.abc import Iterator
from math import gcd
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from visualwords.compiled import njit

_ENTRIES_AT_A_TIME = 1 << 20
_LARGEST = 1e30  # value that is not rounded to ∞ or 0 by 32 bits
_SAMPLE = 1 << 13  # entries that stand for the distribution of all
_FINER = 0.5  # of the rounding error: the least gain for which levels are even in the root


class LevelRows(NamedTuple):
    """Samples as pairs: row i has the positions ``bounds[i] … bounds[i + 1] - 1``."""

    columns: np.ndarray
    levels: np.ndarray
    bounds: np.ndarray

    def sums(self, by_level: np.ndarray) -> np.ndarray:
        """Σ_q by_level[level_q] of every row, float32."""
        out = np.empty(self.bounds.size - 1, np.float32)
        level_sums(self.levels, self.bounds, np.asarray(by_level, np.float64), out)
        return out


class LevelScale(NamedTuple):
    """How values become levels: ``top × (value − shift) × factor``, or the root of the share.

    ``shift`` and ``factor``, float32, have one number, or one a feature.
    """

    shift: np.ndarray
    factor: np.ndarray
    top: int
    root: bool = False

    def values(self) -> np.ndarray:
        """The number in [0, 1] that each level stands for."""
        share = np.arange(self.top + 1) / self.top
        return share**2 if self.root else share

    def shares(self, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The values of some entries, scaled to [0, 1]."""
        shift, factor = (a if a.size == 1 else a[columns] for a in (self.shift, self.factor))
        return np.minimum(np.maximum((values - shift) * factor, 0), 1)


class Survey(NamedTuple):
    """What has to be known of all values before they become levels: limits, and a sample.

    Attributes
    ----------
    low, high : (1,) or (d,) float32
        Of all values, 0 included, or of every feature.
    columns, values : (m,)
        Some entries that are stored, or differ from the lowest and 0.
    """

    low: np.ndarray
    high: np.ndarray
    columns: np.ndarray
    values: np.ndarray


def survey(X: Any, scaling: str) -> Survey:
    """The limits of the values and a sample of the entries that are not zero.

    Parameters
    ----------
    X : array or canonical CSR matrix
    scaling : {"global", "feature", "none"}
    """
    stored = X.data if sparse.issparse(X) else X
    smallest, largest = (stored.min(), stored.max()) if stored.size else (0.0, 0.0)
    if not (np.isfinite(smallest) and np.isfinite(largest)):
        from sklearn.utils import assert_all_finite

        assert_all_finite(stored, input_name="X")
    if sparse.issparse(X) and smallest < 0:
        raise ValueError(
            "sparse data with negative values: moving them to 0 … 1 would fill the matrix; pass a "
            "dense array, or make the values non-negative"
        )
    low, high = np.array([min(smallest, 0)]), np.array([max(largest, 0)])
    if scaling == "feature":
        limits = X.min(axis=0), X.max(axis=0)
        low, high = (np.ravel(m.toarray() if sparse.issparse(m) else m) for m in limits)
    return Survey(_single(low), _single(high), *_sample(X, low))


def _sample(X: Any, low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of some entries that are stored, or differ from the lowest or 0."""
    size = X.data.size if sparse.issparse(X) else X.size
    step = max(1, size // _SAMPLE)
    while gcd(step, X.shape[1]) > 1:  # or a dense matrix would show some of its columns only
        step += 1
    if sparse.issparse(X):
        return X.indices[::step].copy(), X.data[::step].astype(float)
    where = np.arange(0, size, step)
    columns = where % X.shape[1]
    sample = X[where // X.shape[1], columns].astype(float)
    stored = sample != (0 if low.size == 1 else np.minimum(low, 0)[columns])
    return columns[stored], sample[stored]


def _single(limits: np.ndarray) -> np.ndarray:
    """Limits with 32 bits; ``ValueError`` where 32 bits would round them to 0 or ∞."""
    sizes = np.abs(limits[limits != 0]).astype(np.float64)
    if sizes.size and not (1 / _LARGEST <= sizes.min() <= sizes.max() <= _LARGEST):
        raise ValueError(
            f"values as large as {sizes.max():g} and as small as {sizes.min():g}, but levels are "
            f"computed with 32 bits; multiply X (or its columns) by a constant so that the largest "
            f"values lie between {1 / _LARGEST:g} and {_LARGEST:g}"
        )
    return limits.astype(np.float32)


def canonical(X: Any) -> Any:
    """X; if sparse, without stored zeros and repeated entries (then copied)."""
    if sparse.issparse(X) and not (X.has_canonical_format and X.data.all()):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def level_scale(found: Survey, scaling: str, top: int, spacing: str) -> LevelScale:
    """The scale that maps the surveyed data to levels.

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
    shares = scale.shares(found.columns, found.values)
    even = np.abs(np.rint(shares * top) / top - shares).sum()
    rooted = np.abs((np.rint(np.sqrt(shares) * top) / top) ** 2 - shares).sum()
    return scale._replace(root=bool(rooted < _FINER * even))


def level_weights(found: Survey, scale: LevelScale) -> np.ndarray:
    """The number of times that each level occurs in the survey's sample."""
    shares = scale.shares(found.columns, found.values)
    levels = np.rint((np.sqrt(shares) if scale.root else shares) * scale.top).astype(np.int64)
    weights = np.bincount(levels, minlength=scale.top + 1)
    weights[0] = 0
    return weights


def level_rows(X: Any, scale: LevelScale) -> LevelRows:
    """The pairs of all rows of X.

    Parameters
    ----------
    X : array or canonical CSR matrix
        Read a part at a time; never copied as a whole.
    scale : LevelScale
    """
    is_sparse = sparse.issparse(X)
    if is_sparse:
        bounds = X.indptr.astype(np.int64)
    else:
        counts = [np.count_nonzero(part != scale.shift, axis=1) for part in _parts(X)]
        bounds = np.cumsum(np.concatenate([np.zeros(1, np.int64), *counts]))
    columns = np.empty(bounds[-1] + 1, np.uint16 if X.shape[1] <= 1 << 16 else np.uint32)
    levels = np.empty(bounds[-1] + 1, np.uint16)
    for start in range(0, X.nnz if is_sparse else 0, _ENTRIES_AT_A_TIME):
        here = slice(start, min(start + _ENTRIES_AT_A_TIME, X.nnz))
        indices, values = _plain(X.indices[here], np.int32), _plain(X.data[here], np.float32)
        sparse_pairs(indices, values, scale, columns[here], levels[here])
    first = 0
    for part in () if is_sparse else _parts(X):
        last = first + len(part)
        here = slice(bounds[first], bounds[last] + 1)
        dense_pairs(part, scale, columns[here], levels[here])
        first = last
    return LevelRows(columns[:-1], levels[:-1], bounds)


def distinct_rows(X: Any, scale: LevelScale) -> tuple[LevelRows, np.ndarray]:
    """Pairs whose level is the number of the value among the distinct ones, and these."""
    if not sparse.issparse(X):
        X = sparse.csr_matrix(np.asarray(X, np.float32) - scale.shift)
        scale = scale._replace(shift=np.zeros(1, np.float32))
    shares = scale.shares(X.indices, X.data.astype(np.float64))
    distinct, levels = np.unique(shares, return_inverse=True)
    columns, bounds = X.indices.astype(np.uint32), X.indptr.astype(np.int64)
    return LevelRows(columns, levels.astype(np.uint32), bounds), distinct


def _parts(X: np.ndarray) -> Iterator[np.ndarray]:
    """Some rows of an array at a time, as float32 in C order."""
    height = max(1, _ENTRIES_AT_A_TIME * len(X) // max(1, X.size))
    for start in range(0, len(X), height):
        yield _plain(X[start : start + height], np.float32)


def _plain(array: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """The array as the compiled loops take it: of this type, in C order, not read-only."""
    array = np.asarray(array, dtype)
    return array if array.flags.c_contiguous and array.flags.writeable else array.copy(order="C")


# Loops


@njit()
def level_of(share, scale):
    """Nearest level of a number in [0, 1], clipped to that; levels may be even in the root."""
    share = share if share < np.float32(1) else np.float32(1)
    share = share if share > np.float32(0) else np.float32(0)
    if scale.root:
        share = np.sqrt(share)
    return np.int32(share * np.float32(scale.top) + np.float32(0.5))


@njit()
def fill_levels(columns, values, scale, levels):
    """Levels of some entries, by the columns that they are of."""
    if scale.shift.size == scale.factor.size == 1:  # which LLVM turns into vector instructions
        shift, factor = scale.shift[0], scale.factor[0]
        for k in range(np.uint64(values.size)):
            levels[k] = level_of((values[k] - shift) * factor, scale)
    else:
        for k in range(np.uint64(values.size)):
            j = np.uint64(columns[k])
            shift = scale.shift[j if scale.shift.size > 1 else np.uint64(0)]
            factor = scale.factor[j if scale.factor.size > 1 else np.uint64(0)]
            levels[k] = level_of((values[k] - shift) * factor, scale)


@njit()
def sparse_pairs(indices, values, scale, columns, levels):
    """Pairs of the stored entries of a sparse matrix."""
    for k in range(np.uint64(values.size)):
        columns[k] = indices[k]
    fill_levels(columns, values, scale, levels)


@njit()
def dense_pairs(x, scale, columns, levels):
    """Pairs of the entries of a dense matrix that differ from the shift, which is level 0.

    columns, levels : with room for one pair more, since there is no branch that could be foreseen
    """
    values, start = np.empty(x.shape[1] + 1, np.float32), np.uint64(0)
    single, first = scale.shift.size == 1, scale.shift[0]
    for i in range(x.shape[0]):
        row, here, count = x[i], columns[start:], np.uint64(0)
        for j in range(np.uint64(row.size)):
            here[count], values[count] = j, row[j]
            count += np.uint64(row[j] != (first if single else scale.shift[j]))
        fill_levels(here[:count], values[:count], scale, levels[start:])
        start += count


@njit()
def level_sums(levels, bounds, by_level, out):
    """out[i] = sum over the levels of row i of by_level[level]."""
    for i in range(out.size):
        total = 0.0
        for q in range(np.uint64(bounds[i]), np.uint64(bounds[i + 1])):
            total += by_level[levels[q]]
        out[i] = total
