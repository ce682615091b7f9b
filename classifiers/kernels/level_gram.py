"""Histogram intersection Gram matrix of small integers (quantised or counted histograms)."""

from math import ceil
from typing import Any

import numpy as np

from visualwords.classifiers.kernels import _intersection_uint8 as loops
from visualwords.classifiers.kernels import unary_gram
from visualwords.classifiers.tables.level_source import LevelSource
from visualwords.processor import counts_bits_in_vectors
from visualwords.threads import in_threads

_ROWS_AT_A_TIME = 64  # these stay in the second-level cache while all columns pass
_BITS_PER_BYTES = 0.8  # vectors of bits that take as long as one of bytes, less the preparation
_BITS_SHARE = 0.11  # of the matrix, that bits may take where levels are let go
_SMALLEST = 256  # rows from which on the preparation pays


def level_gram(
    x: np.ndarray,
    y: np.ndarray | None = None,
    *,
    order: np.ndarray | None = None,
    levels: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return G[i, j] = Σ_k min(x[i, k], y[j, k]) of unsigned integers, exactly.

    Parameters
    ----------
    x : (n, d) uint8 or uint16
    y : (m, d) of the same type, optional
        Default: x, of which half the matrix is computed.
    order : (m,) int, optional
        The rows of x that are wanted, as if x were x[order].
    levels : (g,) int, optional
        Ascending from 0, all that occur among them; found if not given.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    (n, m) float32
        Exact up to 2²⁴, that is, for 65,000 features of 255.

    Notes
    -----
    Where few levels are reached often, as in bags of words, rows become bits that are counted
    (:mod:`~visualwords.classifiers.kernels.unary_gram`). Otherwise minima of bytes are added up:
    values above 255 are cut into slices, min(x, y) = min(x ∧ 255, y ∧ 255) +
    min((x − 255)⁺, (y − 255)⁺), and a slice has only the features that reach it.

    Examples
    --------
    >>> level_gram(np.array([[1, 300], [2, 299]], np.uint16))
    array([[301., 300.],
           [300., 301.]], dtype=float32)
    """
    x, y = np.ascontiguousarray(x), None if y is None else np.ascontiguousarray(y)
    gram = _bit_gram(x, y, order, levels, n_jobs)
    if gram is None:
        gram = _sliced_byte_gram(x if order is None else x[order], y, n_jobs)
    if y is None:
        _mirror(gram, n_jobs)
    return gram


def gram_in_slices(
    source: LevelSource, order: np.ndarray, levels: np.ndarray, n_jobs: int | None = None
) -> np.ndarray:
    """Return the matrix of some rows of a source, which lets its levels go meanwhile.

    Bits are made and counted for some columns at a time, so that they take little memory next to
    the matrix. Where bits do not pay, all levels are needed, and they stay.

    Parameters
    ----------
    source : LevelSource
    order : (m,) int
        The rows that are wanted.
    levels : (g,) int
        Ascending from 0, all that occur among them.
    n_jobs : int or None
        Threads; the result does not depend on it.
    """
    slices = _slices(source, order, levels)
    if not slices:
        return level_gram(source.whole(), order=order, levels=levels, n_jobs=n_jobs)
    source.release()
    gram = np.empty((order.size, order.size), np.float32)
    for k, (columns, plan) in enumerate(slices):

        def read(first: int, last: int, columns: slice = columns) -> Any:
            return source.part(order[first:last], columns), np.arange(last - first)

        rows = unary_gram.unary_rows(read, order.size, plan, n_jobs)
        unary_gram.fill_gram(rows, rows, plan, n_jobs, gram, add=k > 0)
        del rows  # before the next ones are made
    _mirror(gram, n_jobs)
    return gram


def _slices(
    source: LevelSource, order: np.ndarray, levels: np.ndarray
) -> list[tuple[slice, unary_gram.UnaryPlan]]:
    """Columns and their plans, such that bits take a small share of the matrix; [] for bytes."""
    if not counts_bits_in_vectors() or order.size < _SMALLEST:
        return []
    d = source.shape[1]
    sample = source.part(order[:: max(1, order.size // unary_gram.SAMPLE)], slice(None))
    vectors = unary_gram.plan_bits(sample, levels).vectors
    if vectors > _BITS_PER_BYTES * d / loops.WIDTH:
        return []
    count = max(1, ceil(vectors * 64 / (_BITS_SHARE * 4 * order.size)))
    width = -(-d // (64 * count)) * 64
    parts = [slice(first, min(first + width, d)) for first in range(0, d, width)]
    return [(part, unary_gram.plan_bits(sample[:, part], levels)) for part in parts]


def _mirror(gram: np.ndarray, n_jobs: int | None) -> None:
    """Copy the lower half of a matrix to the upper one."""
    in_threads(
        lambda first, last: loops.mirror(gram, first, last), len(gram), _ROWS_AT_A_TIME, n_jobs
    )


def _bit_gram(
    x: np.ndarray,
    y: np.ndarray | None,
    order: np.ndarray | None,
    levels: np.ndarray | None,
    n_jobs: int | None,
) -> np.ndarray | None:
    """The matrix, or its lower half without y, from counted bits if that is faster, or None."""
    n_rows = min(x.shape[0] if rows is None else rows.shape[0] for rows in (order, y))
    if not counts_bits_in_vectors() or n_rows < _SMALLEST:
        return None
    plan = unary_gram.plan_bits(x, unary_gram.present_levels(x, y) if levels is None else levels)
    if plan.vectors > _BITS_PER_BYTES * x.shape[1] / loops.WIDTH:
        return None
    return unary_gram.unary_gram(x, y, plan, n_jobs, order)


def _sliced_byte_gram(x: np.ndarray, y: np.ndarray | None, n_jobs: int | None) -> np.ndarray:
    """The same from minima of bytes, values above 255 in slices."""
    gram = _byte_gram(_slice(x, 0), None if y is None else _slice(y, 0), n_jobs)
    highest = x.max(axis=0, initial=0)
    if y is not None:
        highest = np.minimum(highest, y.max(axis=0, initial=0))
    for start in range(255, int(highest.max(initial=0)), 255):
        reach = highest > start
        other = None if y is None else _slice(y[:, reach], start)
        gram += _byte_gram(_slice(x[:, reach], start), other, n_jobs)
    return gram


def _slice(x: np.ndarray, start: int) -> np.ndarray:
    """The part of the values between start and start + 255, as bytes in C order."""
    if x.dtype == np.uint8:
        return np.ascontiguousarray(x)
    return (np.clip(x, start, start + 255) - start).astype(np.uint8, order="C")


def _byte_gram(x: np.ndarray, y: np.ndarray | None, n_jobs: int | None) -> np.ndarray:
    """Sums of minima of bytes; without y at least for the lower half of the matrix."""
    symmetric = y is None
    other = x if y is None else y
    out = np.zeros((x.shape[0], other.shape[0]), np.float32)  # slices are added in full
    if not loops.WIDTH or x.shape[0] < 2 or other.shape[0] < 4:
        loops.gram_rows_plain(x, other, 0, x.shape[0], out)
        return out
    if x.shape[1] < loops.WIDTH:
        x = _widen(x)
        other = x if symmetric else _widen(other)
    mask = loops.tail_mask(x.shape[1])
    in_threads(
        lambda first, last: loops.gram_rows(x, other, first, last, symmetric, mask, out),
        x.shape[0],
        _ROWS_AT_A_TIME,
        n_jobs,
        last_first=symmetric,
    )
    return out


def _widen(x: np.ndarray) -> np.ndarray:
    """Add columns of zeros up to one vector."""
    return np.pad(x, ((0, 0), (0, loops.WIDTH - x.shape[1])))
