"""Limits and quantiles of all values of a matrix, which decide how they become levels."""

from math import ceil, gcd, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from visualwords.classifiers.tables import _levels
from visualwords.compiled import as_compiled
from visualwords.parallel import in_threads

_CHUNK = 1 << 16  # values treated at a time: they stay in the second-level cache
_SAMPLE = 1 << 13  # values that locate a quantile
_DEVIATIONS = 4  # of the sample's quantile from the true one


class Limits(NamedTuple):
    """The smallest and the largest of all values; NaN if one is NaN."""

    lowest: float
    highest: float

    @property
    def finite(self) -> bool:
        """Whether all values are finite."""
        return bool(np.isfinite(self.lowest) and np.isfinite(self.highest))


def value_limits(X: Any) -> Limits:
    """Return the limits of an array or CSR matrix, whose unstored zeros are values too."""
    values = X.data if sparse.issparse(X) else X
    zeros = [0.0] if values.size < X.shape[0] * X.shape[1] or not values.size else []
    found = [float(values.min()), float(values.max())] if values.size else []
    return Limits(min(found[:1] + zeros), max(found[1:] + zeros))


def value_quantile(
    X: Any, weight: np.ndarray | None, share: float, limits: Limits, n_jobs: int | None = None
) -> float:
    """Return the smallest value v such that values ≤ v have at least this share of the weight.

    If that is the smallest of all values, the values above the smallest are taken instead.

    Parameters
    ----------
    X : array or CSR matrix
        All finite. Zeros that are not stored are values too.
    weight : (n,), optional
        Of the rows.
    share : float in (0, 1]
    limits : Limits
        Of X.
    n_jobs : int or None
        Threads; the result does not depend on it.
    """
    if weight is None and not sparse.issparse(X) and X.size:
        found = _plain_quantile(np.ascontiguousarray(X).reshape(-1), share, X.shape[-1], n_jobs)
    else:
        found = _quantile_of_rows(X, weight, share)
    if limits.lowest == found < limits.highest:
        return _quantile_above(X, weight, share, limits.lowest)
    return found


def _plain_quantile(values: np.ndarray, share: float, n_columns: int, n_jobs: int | None) -> float:
    """The quantile of values of equal weight: among those near the quantile of a sample."""
    rank = max(ceil(share * values.size) - 1, 0)
    low, high = _bracket(values, share, n_columns)
    n_chunks = -(-values.size // _CHUNK)
    below, inside = np.zeros(n_chunks, np.int64), [np.empty(0)] * n_chunks

    def collect(start: int, end: int) -> None:
        k, room = start // _CHUNK, np.empty(end - start)
        below[k], found = _levels.collect_between(as_compiled(values[start:end]), low, high, room)
        inside[k] = room[:found].copy()

    in_threads(collect, values.size, _CHUNK, n_jobs)
    near, place = np.concatenate(inside), rank - int(below.sum())
    if not 0 <= place < near.size:  # the sample was not like the rest
        return float(np.partition(values, rank)[rank])
    return float(np.partition(near, place)[place])


def _bracket(values: np.ndarray, share: float, n_columns: int) -> tuple[float, float]:
    """Two values between which the quantile lies almost surely, from a sample."""
    step = max(1, values.size // _SAMPLE)
    while gcd(step, n_columns) > 1:  # or the sample would show some of the columns only
        step += 1
    sample = np.sort(values[::step].astype(np.float64))
    spread = _DEVIATIONS * sqrt(share * (1 - share) / sample.size)
    ranks = [int(sample.size * (share + sign * spread)) for sign in (-1, 1)]
    low, high = sample[np.clip(ranks, 0, sample.size - 1)]
    return float(low), float(high)


def _quantile_above(X: Any, weight: np.ndarray | None, share: float, lowest: float) -> float:
    """The quantile of the values above the lowest."""
    if sparse.issparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        values = X.data
    else:
        rows = np.repeat(np.arange(X.shape[0]), X.shape[1])
        values = X.reshape(-1)
    above = values > lowest
    each = np.ones(X.shape[0]) if weight is None else weight
    return _weighted_quantile(values[above], each[rows[above]], share)


def _quantile_of_rows(X: Any, weight: np.ndarray | None, share: float) -> float:
    """Quantile of all values of weighted rows, the zeros of a sparse matrix included."""
    n, d = X.shape
    each = np.ones(n) if weight is None else weight
    if not sparse.issparse(X):
        return _weighted_quantile(X.reshape(-1), each.repeat(d), share)
    stored = np.diff(X.indptr)
    zeros = float(((d - stored) * each).sum())
    values = np.append(X.data, 0)
    return _weighted_quantile(values, np.append(np.repeat(each, stored), zeros), share)


def _weighted_quantile(values: np.ndarray, weight: np.ndarray, share: float) -> float:
    """Smallest value v such that values ≤ v have at least this share of the weight."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    index = np.searchsorted(reached, share * reached[-1] * (1 - 1e-12))
    return float(values[order[min(index, values.size - 1)]])
