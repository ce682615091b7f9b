"""Limits and quantiles of all values of a matrix, in as few passes as can be."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, gcd, sqrt
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.tables import _quantize
from visualwords.threads import in_threads

_CHUNK = 1 << 18  # values treated at a time
_SAMPLE = 1 << 13  # values that tell where a quantile is
_LARGE_SAMPLE = 1 << 15  # values that tell which of few values a quantile is
_DEVIATIONS = 4  # of the sample's quantile from the true one
_NUDGE = 1 + 2.0**-50  # exact multiples of a level's width must not fall below it by rounding
COMPILED_TYPES = (np.float32, np.float64, np.uint8, np.uint16)


@dataclass(frozen=True)
class ValueSurvey:
    """The smallest and the largest of all values; ``quantile()`` finds the one asked for.

    Nothing is meant by it unless all values are ``finite``. ``levels`` are those of the values
    between the smallest and the quantile ([Wu10], Eq. 13) if they were asked for and came with it.
    """

    lowest: float
    highest: float
    quantile: Callable[[], float]
    finite: bool = True
    levels: np.ndarray | None = None


def level_scale(lowest: float, highest: float, top: int) -> float:
    """Return levels a unit where the values from lowest to highest become 0 … top."""
    return top / (highest - lowest) * _NUDGE if highest > lowest else 0.0


def survey_values(
    X: Any,
    weight: np.ndarray | None,
    share: float,
    n_jobs: int | None = None,
    *,
    top: int | None = None,
) -> ValueSurvey:
    """Look through all values once; twice if the quantile lies among many different values.

    Parameters
    ----------
    X : array or CSR matrix
        Zeros that are not stored are values too. Whether all are finite is found out for dense
        arrays without weights, and taken for granted otherwise.
    weight : (n,), optional
        Of the rows.
    share : float in (0, 1]
        The quantile is the smallest value v such that values ≤ v have this share of the weight; of
        those above the smallest value if that is the smallest itself.
    n_jobs : int or None
        Threads; the result does not depend on it.
    top : int, optional
        Highest level. Levels are made on the way if a sample of the values has its smallest one
        and its quantile several times, as counts have: then these are probably those of all.
    """
    plain = weight is None and not sparse.issparse(X) and X.size > 0
    if plain and top is not None:
        found = _survey_with_levels(X, share, top, n_jobs)
        if found is not None:
            return found
    if plain:
        lowest, highest, finite, quantile = _survey_dense(X, share, n_jobs)
    else:
        finite = True
        values = X.data if sparse.issparse(X) else X
        zeros = [0.0] if values.size < X.shape[0] * X.shape[1] or not values.size else []
        limits = [float(v) for v in (values.min(), values.max())] if values.size else []
        lowest, highest = min(limits + zeros), max(limits + zeros)
        quantile = partial(_quantile_of_values, X, weight, share)

    def with_a_range() -> float:
        found = quantile()
        if lowest == found < highest:
            return _quantile_above(X, weight, share, lowest)
        return found

    return ValueSurvey(lowest, highest, with_a_range, finite)


def as_compiled(values: np.ndarray) -> np.ndarray:
    """Values of a type that the loops take as it is."""
    return values if values.dtype in COMPILED_TYPES else values.astype(np.float64)


def _survey_dense(
    X: np.ndarray, share: float, n_jobs: int | None
) -> tuple[float, float, bool, Callable[[], float]]:
    """Limits, whether all are finite, and what finds the quantile."""
    values = np.ascontiguousarray(X).reshape(-1)
    marks = _marks(values, share, X.shape[-1])
    n_chunks = -(-values.size // _CHUNK)
    limits = np.tile([np.inf, -np.inf, 0.0], (n_chunks, 1))
    counts = np.zeros((n_chunks, 2, marks.size), np.int64)

    def look(start: int, end: int) -> None:
        k = start // _CHUNK
        _quantize.survey(as_compiled(values[start:end]), marks, limits[k], counts[k])

    in_threads(look, values.size, _CHUNK, n_jobs)
    lowest, highest = float(limits[:, 0].min()), float(limits[:, 1].max())
    rank = _rank(values.size, share)
    finite = not limits[:, 2].any()  # NaN counts as true
    return lowest, highest, finite, partial(_by_rank, values, rank, marks, counts)


def _survey_with_levels(
    X: np.ndarray, share: float, top: int, n_jobs: int | None
) -> ValueSurvey | None:
    """Survey and quantise in one pass by limits guessed from a sample; None if they are wrong."""
    values = np.ascontiguousarray(X).reshape(-1)
    sample = _sample(values, X.shape[-1], _LARGE_SAMPLE)
    lowest, quantile = sample[0], sample[_rank(sample.size, share)]
    if sample[1:2] != lowest or lowest == quantile or np.sum(sample == quantile) < 2:
        return None
    n_chunks = -(-values.size // _CHUNK)
    limits = np.tile([np.inf, -np.inf, 0.0], (n_chunks, 1))
    counts = np.zeros((n_chunks, 2, 1), np.int64)
    levels = np.empty(values.size, np.uint8 if top <= 255 else np.uint16)
    line = float(lowest), level_scale(lowest, quantile, top), float(top)

    def look(start: int, end: int) -> None:
        k = start // _CHUNK
        some = as_compiled(values[start:end]), np.array([quantile]), limits[k], counts[k]
        _quantize.survey_and_quantize(*some, *line, levels[start:end])

    in_threads(look, values.size, _CHUNK, n_jobs)
    below, up_to = counts.sum(axis=(0, 2))
    right = limits[:, 0].min() == lowest and below <= _rank(values.size, share) < up_to
    if limits[:, 2].any() or not right:  # NaN counts as true
        return None
    highest = float(limits[:, 1].max())
    known = float(quantile)
    return ValueSurvey(float(lowest), highest, lambda: known, levels=levels.reshape(X.shape))


def _rank(size: int, share: float) -> int:
    """How many values are below the quantile, if all are different."""
    return max(ceil(share * size) - 1, 0)


def _by_rank(values: np.ndarray, rank: int, marks: np.ndarray, counts: np.ndarray) -> float:
    """The value of a rank: one of the marks, or among the values between two of them."""
    below, up_to = counts.sum(axis=0)
    for k, mark in enumerate(marks):
        if below[k] <= rank < up_to[k]:
            return float(mark)
        if k and up_to[k - 1] <= rank < below[k]:
            inside = _collect(values, marks[k - 1], mark, counts[:, 0, k] - counts[:, 1, k - 1])
            return float(np.partition(inside, rank - up_to[k - 1])[rank - up_to[k - 1]])
    return float(np.partition(values, rank)[rank])


def _marks(values: np.ndarray, share: float, n_columns: int) -> np.ndarray:
    """The quantile of a sample, and two values between which that of all lies almost surely."""
    sample = _sample(values, n_columns, _SAMPLE)
    spread = _DEVIATIONS * sqrt(share * (1 - share) / sample.size)
    ranks = [int(sample.size * (share + sign * spread)) for sign in (-1, 0, 1)]
    return sample[np.clip(ranks, 0, sample.size - 1)]


def _sample(values: np.ndarray, n_columns: int, size: int) -> np.ndarray:
    """About as many of the values, ascending, float64."""
    step = max(1, values.size // size)
    while gcd(step, n_columns) > 1:  # or the sample would show some of the columns only
        step += 1
    return np.sort(values[::step].astype(np.float64))


def _collect(values: np.ndarray, low: float, high: float, counts: np.ndarray) -> np.ndarray:
    """The values between two others; how many there are in each chunk is known."""
    parts = []
    for k in np.flatnonzero(counts):
        parts.append(np.empty(counts[k]))
        chunk = as_compiled(values[k * _CHUNK : (k + 1) * _CHUNK])
        _quantize.collect_between(chunk, low, high, parts[-1])
    return np.concatenate(parts)


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


def _quantile_of_values(X: Any, weight: np.ndarray | None, share: float) -> float:
    """Quantile of all values of X, the zeros of a sparse matrix included."""
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
