"""The min–max family: histogram intersection, GInt, GMM and NGMM.

References
----------
.. [Li16] P. Li, "Generalized Intersection Kernel", 2016.
"""

from typing import Any

import numpy as np

from visualwords.classifiers.kernels._min_sums import ratio_rows
from visualwords.classifiers.kernels.checked_rows import check_rows
from visualwords.classifiers.kernels.min_sums import min_sums
from visualwords.classifiers.kernels.signed import (
    has_negative,
    row_sums,
    split_signs,
    unit_sum,
)


def intersection(
    X: Any, Y: Any = None, *, diag: bool = False, n_jobs: int | None = None
) -> np.ndarray:
    """Histogram intersection kernel K(x, y) = Σ_k min(x_k, y_k).

    Parameters
    ----------
    X, Y : array-like or sparse matrix of shape (n, d), (m, d)
        Rows; ``Y`` defaults to ``X``. Counts are compared exactly, as bytes where they fit.
    diag : bool
        Return only K(x, x) of every row of ``X``, shape (n,).
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    K : array of shape (n, m)
        float32 where both sides are float32 or integers of at most 16 bits, else float64.

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
    x, y = _rows(X, Y, "intersection", diag=diag)
    if diag:
        return row_sums(x).astype(_float_type(x))
    return min_sums(x, y, n_jobs=n_jobs)


def gint(X: Any, Y: Any = None, *, diag: bool = False, n_jobs: int | None = None) -> np.ndarray:
    """Generalized intersection kernel: intersection of signed rows scaled to unit mass.

    K(u, v) = Σᵢ min(ũᵢ, ṽᵢ), where ũ splits u by sign (``split_signs``) and sums to one.

    Parameters
    ----------
    X, Y : array-like or sparse matrix of shape (n, d), (m, d)
        Rows of any sign; ``Y`` defaults to ``X``.
    diag : bool
        Return only K(x, x) of every row of ``X``, shape (n,).
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    K : array of shape (n, m), 0 … 1
        float32 where both sides are float32 or integers of at most 16 bits, else float64.

    Notes
    -----
    **Deviations from the paper.** A row of zeros can't sum to one; its similarity to every row,
    itself included, is 0.

    References
    ----------
    [Li16], Eq. (1), (3).

    Examples
    --------
    >>> gint([[-5.0, 3.0], [5.0, 3.0]])
    array([[1.   , 0.375],
           [0.375, 1.   ]])
    """
    x, y = _rows(X, Y, "gint", diag=diag)
    return _has_mass(x) if diag else min_sums(*_unit(x, y), n_jobs=n_jobs)


def gmm(X: Any, Y: Any = None, *, diag: bool = False, n_jobs: int | None = None) -> np.ndarray:
    """Generalized min–max kernel K(u, v) = Σᵢ min(ũᵢ, ṽᵢ) / Σᵢ max(ũᵢ, ṽᵢ).

    Parameters
    ----------
    X, Y : array-like or sparse matrix of shape (n, d), (m, d)
        Rows of any sign; ``Y`` defaults to ``X``.
    diag : bool
        Return only K(x, x) of every row of ``X``, shape (n,).
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    K : array of shape (n, m), 0 … 1
        float32 where both sides are float32 or integers of at most 16 bits, else float64.

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
    x, y = _rows(X, Y, "gmm", diag=diag)
    return _has_mass(x) if diag else _ratios(x, y, n_jobs)


def ngmm(X: Any, Y: Any = None, *, diag: bool = False, n_jobs: int | None = None) -> np.ndarray:
    """Normalized generalized min–max kernel: ``gmm`` of rows scaled to unit mass.

    K(u, v) = G / (2 − G) with G = ``gint``: a monotone transformation of it.

    Parameters
    ----------
    X, Y : array-like or sparse matrix of shape (n, d), (m, d)
        Rows of any sign; ``Y`` defaults to ``X``.
    diag : bool
        Return only K(x, x) of every row of ``X``, shape (n,).
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    K : array of shape (n, m), 0 … 1
        float32 where both sides are float32 or integers of at most 16 bits, else float64.

    Notes
    -----
    **Deviations from the paper.** A row of zeros can't sum to one; its similarity to every row,
    itself included, is 0.

    References
    ----------
    [Li16], Eq. (4), (5).

    Examples
    --------
    >>> ngmm([[-5.0, 3.0], [5.0, 3.0]]).round(4)
    array([[1.    , 0.2308],
           [0.2308, 1.    ]])
    """
    x, y = _rows(X, Y, "ngmm", diag=diag)
    return _has_mass(x) if diag else _ratios(*_unit(x, y), n_jobs)


def _rows(X: Any, Y: Any, kernel: str, *, diag: bool) -> tuple[Any, Any]:
    """Both sides checked and, if either has negative values, split by sign."""
    if diag and Y is not None:
        raise ValueError(f"{kernel}: diag=True gives K(x, x) of the rows of X; leave out Y")
    X, Y = check_rows(X, Y, kernel=kernel, dtype=None, accept_sparse=True)
    x = _unsigned_or_float(X)
    y = x if Y is X else _unsigned_or_float(Y)
    if has_negative(x) or has_negative(y):
        split = split_signs(x)
        return split, split if y is x else split_signs(y)
    return x, y


def _float_type(x: Any) -> type:
    """The narrowest of float32 and float64 that holds every value of x."""
    return np.float32 if np.can_cast(x.dtype, np.float32) else np.float64


def _unsigned_or_float(x: Any) -> Any:
    """x in C order; signed integers become floats, whose negation can't overflow."""
    return x if x.dtype in (np.uint8, np.uint16) else x.astype(_float_type(x), copy=False)


def _has_mass(x: Any) -> np.ndarray:
    """1 for every row with a non-zero, else 0: the diagonal of all normalised kernels."""
    return (row_sums(x) > 0).astype(_float_type(x))


def _unit(x: Any, y: Any) -> tuple[Any, Any]:
    """Both sides with rows of unit sum."""
    a = unit_sum(x.astype(_float_type(x), copy=False))
    return a, a if y is x else unit_sum(y.astype(_float_type(y), copy=False))


def _ratios(x: Any, y: Any, n_jobs: int | None) -> np.ndarray:
    """Sums of minima over sums of maxima; the latter are what the former leave of both sums."""
    sums = min_sums(x, y, n_jobs=n_jobs)
    sx = row_sums(x)
    ratio_rows(sums, sx, sx if y is x else row_sums(y), 0, len(sums))
    if y is x:
        np.fill_diagonal(sums, sx > 0)
    return sums
