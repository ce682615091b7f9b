"""What has to be known of feature values before they become levels: limits, and a sample."""

from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from visualwords.classifiers.low_rank import _level_rows as loops

UNMOVED = np.empty(0, np.uint32)  # places of columns: where they are
_LARGEST = 1e30
_SAMPLE = 1 << 13  # entries at least that stand for the distribution of all
_SAMPLE_OF_A_COLUMN = 2  # entries at least, if there are many columns
_FEW_COLUMNS = 1 << 14  # whose weights are in a processor's own cache


@dataclass(frozen=True)
class Survey:
    """What has to be known of all the data before its values can become levels."""

    low: np.ndarray
    high: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    has_zeros: bool = False

    def joined(self, other: "Survey") -> "Survey":
        """Return the survey of both parts of the data; a sample that grows too long is thinned."""
        columns = np.concatenate([self.columns, other.columns])
        values = np.concatenate([self.values, other.values])
        step = 2 if columns.size > 64 * _SAMPLE else 1
        return Survey(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            columns[::step],
            values[::step],
        )


def surveyed(X: Any, scaling: str) -> tuple[Any, Survey]:
    """Return X in canonical form, and its survey.

    Parameters
    ----------
    X : array or CSR matrix
    scaling : {"global", "feature", "none"}
    """
    if sparse.issparse(X) and not X.has_canonical_format:
        X = canonical(X)
    found = survey(X, scaling)
    if sparse.issparse(X) and found.has_zeros:
        X = canonical(X)
        found = survey(X, scaling)
    return X, found


def survey(X: Any, scaling: str) -> Survey:
    """Return the limits of the values and a sample of the entries that are not zero."""
    smallest, largest = _limits(X.data if sparse.issparse(X) else X)
    if sparse.issparse(X) and smallest < 0:
        raise ValueError(
            "sparse data with negative values: moving them to 0 … 1 would fill the matrix; pass a "
            "dense array, or make the values non-negative"
        )
    low, high = min(smallest, 0), max(largest, 0)
    if scaling == "feature":
        low, high = X.min(axis=0), X.max(axis=0)
        low, high = (m.toarray() if sparse.issparse(X) else m for m in (low, high))
    sample = _sample(X, np.ravel(low))
    return Survey(_single(low), _single(high), *sample, smallest == 0)


def _sample(X: Any, low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of some entries that are stored, or differ from the lowest or 0."""
    size = X.data.size if sparse.issparse(X) else X.size
    enough = _SAMPLE_OF_A_COLUMN * X.shape[1] if X.shape[1] > _FEW_COLUMNS else 0
    step = max(1, size // max(_SAMPLE, enough))
    while gcd(step, X.shape[1]) > 1:  # or a dense matrix would show some of its columns only
        step += 1
    if sparse.issparse(X):
        return X.indices[::step].copy(), X.data[::step].astype(float)
    where = np.arange(0, size, step)
    columns = where % X.shape[1]
    sample = X[where // X.shape[1], columns].astype(float)
    stored = sample != (0 if low.size == 1 else np.minimum(low, 0)[columns])
    return columns[stored], sample[stored]


def _limits(values: np.ndarray) -> tuple[float, float]:
    """Smallest and largest value; (1, 0) if there are none. All must be finite."""
    if not values.size:
        return 1.0, 0.0
    if values.flags.c_contiguous and values.flags.writeable:
        bits = values.reshape(-1).view(np.uint32 if values.dtype == np.float32 else np.uint64)
        low, high = np.array(loops.limits_of_bits(bits), bits.dtype).view(values.dtype).tolist()
        if 0 <= low <= high < np.inf:  # otherwise some are negative or not finite
            return low, high
    low, high = float(values.min()), float(values.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        assert_all_finite(values, input_name="X")
    return low, high


def _single(limits: Any) -> np.ndarray:
    """Return limits with 32 bits; ``ValueError`` where 32 bits would round them to 0 or ∞."""
    limits = np.ravel(limits)
    sizes = np.abs(limits[limits != 0]).astype(np.float64)
    if sizes.size and not (1 / _LARGEST <= sizes.min() <= sizes.max() <= _LARGEST):
        raise ValueError(
            f"values as large as {sizes.max():g} and as small as {sizes.min():g}, but levels are "
            f"computed with 32 bits; multiply X (or its columns) by a constant so that the largest "
            f"values lie between {1 / _LARGEST:g} and {_LARGEST:g}"
        )
    return limits.astype(np.float32)


def canonical(X: Any) -> Any:
    """Return X; if sparse, without stored zeros and repeated entries (then copied)."""
    if sparse.issparse(X) and not (X.has_canonical_format and X.data.all()):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def frequent_first(found: Survey, n_columns: int) -> np.ndarray:
    """Return the new place of every column, the most frequent first, so that they share caches.

    Few columns stay where they are: their weights are in a cache in any case. Otherwise
    (n_columns + 1,) uint32; the last one stands for the column that fills rows.
    """
    if n_columns <= _FEW_COLUMNS:
        return UNMOVED
    counts = np.bincount(found.columns, minlength=n_columns)
    place = np.arange(n_columns + 1, dtype=np.uint32)
    place[np.argsort(-counts, kind="stable")] = np.arange(n_columns, dtype=np.uint32)
    return place
