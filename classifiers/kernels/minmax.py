"""The min–max family: histogram intersection, GInt, GMM and NGMM.

Each takes ``X, Y`` (array-like or sparse matrix of shape (n, d), (m, d); ``Y`` defaults to ``X``)
and ``n_jobs`` threads, on which the result does not depend. It returns (n, m) float32 where both
sides are float32 or integers of at most 16 bits, else float64.

A row of zeros has no mass: its ``gint``, ``gmm`` and ``ngmm`` with any row, itself included, is 0.

References
----------
.. [Li16] P. Li, "Generalized Intersection Kernel", 2016.
"""

import numpy as np
from scipy import sparse

from visualwords import simd
from visualwords.classifiers.kernels import _intersection_uint8
from visualwords.classifiers.kernels.additive import MINIMUM, list_gram
from visualwords.classifiers.kernels.rows import (
    Matrix,
    Rows,
    check_rows,
    dense,
    has_negative,
    in_stripes,
    mirror,
    on_both,
    row_sums,
    split_signs,
    unit_sum,
)
from visualwords.compiled import njit
from visualwords.parallel import in_threads

TILE_ROWS, TILE_COLUMNS = 4, 2  # eight running sums and six loads: what 16 registers hold
DEPTH = 2048  # features at a time: the rows of a tile stay in the nearest caches
BREADTH = 32  # columns at a time: these stay in the second-level cache

EXACT_IN_FLOAT32 = 1 << 24
# Nanoseconds for one minimum on an AVX2 core; only their ratios matter.
_COST_OF_LIST_ENTRY = 2.0
_COST_OF_BYTE = 0.015
_COST_OF_FLOAT = {np.dtype(np.float32): 0.04, np.dtype(np.float64): 0.08}
_BYTE = 255
_ROWS_AT_A_TIME = 64  # these stay in the second-level cache while all columns pass
_COPIED_AT_A_TIME = 16  # rows


def intersection(X: Matrix, Y: Matrix | None = None, *, n_jobs: int | None = None) -> np.ndarray:
    """Histogram intersection kernel K(x, y) = Σ_k min(x_k, y_k).

    Counts are compared exactly, as bytes where they fit.

    Notes
    -----
    **Deviations from the paper.** The mass of the rows is left as it is (``gint`` normalises it).
    Negative values, which no histogram has, count in columns of their own as in ``gint``: the
    sum of minima of signed values would be no kernel.

    References
    ----------
    [Li16], Sec. 1.

    Examples
    --------
    >>> intersection([[1.0, 2.0], [3.0, 0.0]])
    array([[3., 1.],
           [1., 3.]])
    """
    return min_sums(*_rows(X, Y, "intersection"), n_jobs=n_jobs)


def gint(X: Matrix, Y: Matrix | None = None, *, n_jobs: int | None = None) -> np.ndarray:
    """Generalized intersection kernel: intersection of signed rows scaled to unit mass.

    K(u, v) = Σᵢ min(ũᵢ, ṽᵢ), where ũ splits u by sign (``split_signs``) and sums to one; 0 … 1.

    Notes
    -----
    **Deviations from the paper.** Rows of zeros, which can't sum to one.

    References
    ----------
    [Li16], Eq. (1), (3).

    Examples
    --------
    >>> gint([[-5.0, 3.0], [5.0, 3.0]])
    array([[1.   , 0.375],
           [0.375, 1.   ]])
    """
    return min_sums(*on_both(_unit, *_rows(X, Y, "gint")), n_jobs=n_jobs)


def gmm(X: Matrix, Y: Matrix | None = None, *, n_jobs: int | None = None) -> np.ndarray:
    """Generalized min–max kernel K(u, v) = Σᵢ min(ũᵢ, ṽᵢ) / Σᵢ max(ũᵢ, ṽᵢ), 0 … 1.

    Notes
    -----
    **Deviations from the paper.** 0/0, of two rows of zeros, is 0.

    References
    ----------
    [Li16], Eq. (1), (2).

    Examples
    --------
    >>> gmm([[-5.0, 3.0], [5.0, 3.0]]).round(4)
    array([[1.    , 0.2308],
           [0.2308, 1.    ]])
    """
    return _ratios(*_rows(X, Y, "gmm"), n_jobs)


def ngmm(X: Matrix, Y: Matrix | None = None, *, n_jobs: int | None = None) -> np.ndarray:
    """Normalized generalized min–max kernel: ``gmm`` of rows scaled to unit mass.

    K(u, v) = G / (2 − G) with G = ``gint``: a monotone transformation of it.

    Notes
    -----
    **Deviations from the paper.** Rows of zeros, which can't sum to one.

    References
    ----------
    [Li16], Eq. (4), (5).

    Examples
    --------
    >>> ngmm([[-5.0, 3.0], [5.0, 3.0]]).round(4)
    array([[1.    , 0.2308],
           [0.2308, 1.    ]])
    """
    return _ratios(*on_both(_unit, *_rows(X, Y, "ngmm")), n_jobs)


def min_sums(x: Rows, y: Rows, *, n_jobs: int | None = None) -> np.ndarray:
    """G[i, j] = Σ_k min(x[i, k], y[j, k]) of non-negative rows; ``y is x`` halves the work.

    Small whole numbers (of any type) are compared as bytes; mostly empty columns by inverted
    lists; the rest in dense tiles. The choice follows from the counts of non-zeros.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0], [3.0, 0.0]])
    >>> min_sums(x, x)
    array([[3., 1.],
           [1., 3.]])
    """
    narrow = all(_float_type(side) == np.float32 for side in (x, y))
    dtype = np.dtype(np.float32 if narrow else np.float64)
    if 0 in (x.shape[0], y.shape[0], x.shape[1]):
        return np.zeros((x.shape[0], y.shape[0]), dtype)
    counts = _column_counts(x)
    in_lists = float(counts @ (counts if y is x else _column_counts(y)))
    n_bytes = _byte_columns(x, y)
    a_pair = _COST_OF_BYTE * n_bytes if n_bytes else _COST_OF_FLOAT[dtype] * x.shape[1]
    if _COST_OF_LIST_ENTRY * in_lists < a_pair * x.shape[0] * y.shape[0]:
        return list_gram(MINIMUM, x, y, dtype, n_jobs=n_jobs)
    if n_bytes:
        kind = np.uint8 if max(side.max() for side in (x, y)) <= _BYTE else np.uint16
        a, b = on_both(lambda side: dense(side.astype(kind, copy=False)), x, y)
        return level_gram(a, None if b is a else b, n_jobs=n_jobs).astype(dtype, copy=False)
    a, b = on_both(lambda side: np.ascontiguousarray(dense(side).astype(dtype, copy=False)), x, y)
    return in_stripes(
        lambda first, last, out: dense_rows(a, b, first, last, b is a, out),
        np.empty((x.shape[0], y.shape[0]), dtype),
        b is a,
        n_jobs,
    )


def level_gram(
    x: np.ndarray,
    y: np.ndarray | None = None,
    *,
    rows: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """G[i, j] = Σ_k min(x[i, k], y[j, k]) of unsigned integers, exactly.

    Parameters
    ----------
    x : (n, d) uint8 or uint16
    y : (m, d) of the same type, optional
        Default: x, of which half the matrix is computed.
    rows : (n,) int, optional
        Of x: these instead of all.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    (n, m) float32
        Exact up to 2²⁴, that is, for 65,000 features of 255.

    Notes
    -----
    Minima of bytes are added up. Values above s = 255 are cut into slices, min(x, y) =
    min(x ∧ s, y ∧ s) + min((x − s)⁺, (y − s)⁺), and a slice has only the features that reach it.

    Examples
    --------
    >>> level_gram(np.array([[1, 300], [2, 299]], np.uint16))
    array([[301., 300.],
           [300., 301.]], dtype=float32)
    """
    rows = np.arange(x.shape[0]) if rows is None else rows
    gram = np.zeros((rows.size, rows.size if y is None else y.shape[0]), np.float32)
    if 0 in (*gram.shape, x.shape[1]):
        return gram
    highest = x.max(axis=0) if y is None else np.minimum(x.max(axis=0), y.max(axis=0))
    for start in range(0, int(highest.max()), _BYTE):
        reach = None if start == 0 else highest > start
        a = _slice(x, rows, reach, start)
        b = a if y is None else _slice(y, np.arange(y.shape[0]), reach, start)
        _add_byte_gram(a, b, gram, n_jobs)
    if y is None:
        mirror(gram)
    return gram


def _slice(x: np.ndarray, rows: np.ndarray, reach: np.ndarray | None, start: int) -> np.ndarray:
    """The part of the values between start and start + 255, as bytes.

    Zeros fill up the rows and their number, so that vectors never cross cache lines and blocks of
    rows are whole.
    """
    d = x.shape[1] if reach is None else int(reach.sum())
    multiple = _intersection_uint8.MULTIPLE
    out = simd.aligned_zeros((-(-rows.size // 4) * 4, -(-d // multiple) * multiple), np.uint8)
    for first in range(0, rows.size, _COPIED_AT_A_TIME):
        some = x[rows[first : first + _COPIED_AT_A_TIME]]
        if reach is not None:
            some = np.maximum(some[:, reach], start) - start
        out[first : first + len(some), :d] = np.minimum(some, _BYTE)
    return out


def _add_byte_gram(x: np.ndarray, y: np.ndarray, out: np.ndarray, n_jobs: int | None) -> None:
    """Add sums of minima of bytes to out; if y is x, at least to the lower half."""
    sums = [] if _intersection_uint8.WIDTH else [side.sum(1, dtype=np.int64) for side in (x, y)]

    def fill(first: int, last: int) -> None:
        if _intersection_uint8.WIDTH:
            _intersection_uint8.gram_rows(x, y, first, last, y is x, out)
        else:
            _intersection_uint8.gram_rows_plain(x, y, *sums, first, last, out)

    in_threads(fill, out.shape[0], _ROWS_AT_A_TIME, n_jobs, last_first=y is x)


def _byte_columns(x: Rows, y: Rows) -> int:
    """Columns of bytes that hold both sides exactly (255 levels each); 0 if they can't."""
    n_columns = 0
    for side in (x,) if y is x else (x, y):
        values = side.data if sparse.issparse(side) else side
        if values.dtype.kind == "f" and not np.all(values == np.rint(values)):
            return 0
        highest = dense(side.max(axis=0))
        if highest.max() > np.iinfo(np.uint16).max or row_sums(side).max() >= EXACT_IN_FLOAT32:
            return 0
        n_columns = max(n_columns, int(np.ceil(np.maximum(highest, 1) / _BYTE).sum()))
    return n_columns


def _column_counts(x: Rows) -> np.ndarray:
    """How many rows have each column, as float64."""
    if sparse.issparse(x):
        return np.bincount(x.indices, minlength=x.shape[1]).astype(np.float64)
    return np.count_nonzero(x, axis=0).astype(np.float64)


def _rows(X: Matrix, Y: Matrix | None, kernel: str) -> tuple[Rows, Rows]:
    """Both sides checked and, if either has negative values, split by sign."""
    x, y = on_both(_unsigned_or_float, *check_rows(X, Y, kernel, "numeric"))
    return on_both(split_signs, x, y) if has_negative(x) or has_negative(y) else (x, y)


def _float_type(x: Rows) -> type:
    """The narrowest of float32 and float64 that holds every value of x."""
    return np.float32 if np.can_cast(x.dtype, np.float32) else np.float64


def _unsigned_or_float(x: Rows) -> Rows:
    """Signed integers become floats, whose negation can't overflow."""
    return x if x.dtype in (np.uint8, np.uint16) else x.astype(_float_type(x), copy=False)


def _unit(x: Rows) -> Rows:
    return unit_sum(x.astype(_float_type(x), copy=False))


def _ratios(x: Rows, y: Rows, n_jobs: int | None) -> np.ndarray:
    """Sums of minima over sums of maxima; the latter are what the former leave of both sums."""
    gram = min_sums(x, y, n_jobs=n_jobs)
    of_x, of_y = on_both(row_sums, x, y)
    for row, mass in zip(gram, of_x):
        maxima = mass + of_y - row
        np.divide(row, maxima, out=row, where=maxima > 0, casting="same_kind")
    if y is x:
        np.fill_diagonal(gram, of_x > 0)
    return gram


@njit(fastmath=True)
def _tile(rows, columns, i, j, out):
    """out[i + r, j + c] += sum_k min(x_r[k], y_c[k]); the compiler keeps the sums in vectors."""
    (x0, x1, x2, x3), (y0, y1) = rows, columns
    a = b = c = d = e = f = g = h = x0.dtype.type(0)
    for k in range(x0.size):
        p, q = y0[k], y1[k]
        a += min(x0[k], p)
        b += min(x1[k], p)
        c += min(x2[k], p)
        d += min(x3[k], p)
        e += min(x0[k], q)
        f += min(x1[k], q)
        g += min(x2[k], q)
        h += min(x3[k], q)
    out[i, j] += a
    out[i + 1, j] += b
    out[i + 2, j] += c
    out[i + 3, j] += d
    out[i, j + 1] += e
    out[i + 1, j + 1] += f
    out[i + 2, j + 1] += g
    out[i + 3, j + 1] += h


@njit(fastmath=True)
def _pair(x, y):
    """sum_k min(x[k], y[k])."""
    total = x.dtype.type(0)
    for k in range(x.size):
        total += min(x[k], y[k])
    return total


@njit()
def dense_rows(x, y, first, last, symmetric, out):
    """out[i, j] = sum_k min(x[i, k], y[j, k])  [Li16, Eq. (3)].

    x, y : (n, d), (m, d) float32 or float64, C order, finite     out : (n, m), same type
    """
    out[first:last] = 0
    columns = min(last, y.shape[0]) if symmetric else y.shape[0]
    for k in range(0, x.shape[1], DEPTH):
        end = min(k + DEPTH, x.shape[1])
        for left in range(0, columns, BREADTH):
            right = min(left + BREADTH, columns)
            for i in range(first, last, TILE_ROWS):
                if not symmetric or i + TILE_ROWS > left:
                    _row_of_tiles(x, y, (i, min(i + TILE_ROWS, last)), (left, right), (k, end), out)


@njit()
def _row_of_tiles(x, y, rows, columns, features, out):
    """Some features of up to four rows of x against rows of y; ranges are (first, end)."""
    (top, bottom), (left, right), (k, end) = rows, columns, features
    whole = right - (right - left) % TILE_COLUMNS
    if bottom - top < TILE_ROWS:
        whole = left
    else:
        four = x[top, k:end], x[top + 1, k:end], x[top + 2, k:end], x[top + 3, k:end]
        for j in range(left, whole, TILE_COLUMNS):
            _tile(four, (y[j, k:end], y[j + 1, k:end]), top, j, out)
    for j in range(whole, right):
        for i in range(top, bottom):
            out[i, j] += _pair(x[i, k:end], y[j, k:end])
