"""Additive kernels of histograms: power mean, χ² and Jensen–Shannon.

Where rows have negative values, each column becomes two by sign, as in ``gmm``. A term with a zero
is 0, its limit.

References
----------
.. [YangWu12] H. Yang, J. Wu, "Practical Large Scale Classification with Additive Kernels", 2012.
"""

import math

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from visualwords.classifiers.kernels.rows import (
    Matrix,
    Rows,
    check_rows,
    has_negative,
    in_stripes,
    on_both,
    power_remap,
    split_signs,
)
from visualwords.compiled import njit

MINIMUM, HARMONIC, POWER, ENTROPY = 0, 1, 2, 3


def power_mean(
    X: Matrix,
    Y: Matrix | None = None,
    *,
    p: float = -1.0,
    a: float = 1.0,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Power mean kernel K(x, y) = Σ_k ((x_kᵖ + y_kᵖ) / 2)^(1/p).

    p = −1 is ``chi2``, p → 0 the geometric mean √(xy), p = −∞ the ``intersection``.

    Parameters
    ----------
    X, Y : array-like or sparse matrix of shape (n, d), (m, d)
        Rows; ``Y`` defaults to ``X``.
    p : float ≤ 0
        Exponent; ``-inf`` is allowed. Above 0 the kernel is not positive semi-definite.
    a : float > 0
        Power remap of the values first.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    K : array of shape (n, m), float32 if both sides are, else float64

    Notes
    -----
    **Deviations from the paper.** None.

    References
    ----------
    [YangWu12], Eq. (4).

    Examples
    --------
    >>> power_mean([[1.0, 4.0], [4.0, 0.0]], p=0)
    array([[5., 2.],
           [2., 4.]])
    """
    if not p <= 0:
        raise ValueError(f"power_mean: p is {p}, but the kernel is one for p ≤ 0 only")
    x, y = _rows(X, Y, "power_mean", a)
    if p == 0:
        x, y = on_both(lambda rows: rows.sqrt(), x, y)
        return (x @ y.T).toarray()
    if p in (-np.inf, -1):
        return list_gram(MINIMUM if p < -1 else HARMONIC, x, y, n_jobs=n_jobs)
    return list_gram(POWER, *on_both(_logarithms, x, y), p=float(p), n_jobs=n_jobs)


def chi2(
    X: Matrix, Y: Matrix | None = None, *, a: float = 1.0, n_jobs: int | None = None
) -> np.ndarray:
    """Additive χ² kernel K(x, y) = Σ_k 2 x_k y_k / (x_k + y_k).

    Parameters and result are those of ``power_mean``, of which it is the case p = −1.

    Notes
    -----
    For rows x, y this is (Σx + Σy)/2 minus half the χ² distance; scikit-learn's
    ``additive_chi2_kernel`` is minus that distance, and its ``chi2_kernel`` an exponential of it.
    **Deviations from the paper.** None.

    References
    ----------
    [YangWu12], Sec. 1.

    Examples
    --------
    >>> chi2([[1.0, 3.0], [3.0, 0.0]])
    array([[4. , 1.5],
           [1.5, 3. ]])
    """
    return list_gram(HARMONIC, *_rows(X, Y, "chi2", a), n_jobs=n_jobs)


def jensen_shannon(
    X: Matrix, Y: Matrix | None = None, *, a: float = 1.0, n_jobs: int | None = None
) -> np.ndarray:
    """Jensen–Shannon kernel K(x, y) = Σ_k x/2 log₂((x+y)/x) + y/2 log₂((x+y)/y).

    Parameters and result are those of ``power_mean``, without p.

    Notes
    -----
    **Deviations from the paper.** None.

    References
    ----------
    [YangWu12], Sec. 3.

    Examples
    --------
    >>> jensen_shannon([[1.0, 0.0], [1.0, 2.0]])
    array([[1., 1.],
           [1., 3.]])
    """
    return list_gram(ENTROPY, *_rows(X, Y, "jensen_shannon", a), n_jobs=n_jobs)


def list_gram(
    kind: int,
    x: Rows,
    y: Rows,
    dtype: DTypeLike | None = None,
    p: float = 0.0,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Sums of the terms of one ``kind`` over the features that both rows have.

    Parameters
    ----------
    kind : int
        One of ``_additive``.
    x, y : ndarray or CSR array of shape (n, d), (m, d)
        Non-negative; ``y is x`` halves the work.
    dtype : float32 or float64
        Of values and result; that of x by default.
    """
    rows = sparse.csr_array(x).astype(dtype or x.dtype, copy=False)
    lists = sparse.csc_array(y).astype(rows.dtype, copy=False)
    lists.sort_indices()
    sides = [(side.indptr, side.indices, side.data) for side in (rows, lists)]
    return in_stripes(
        lambda first, last, out: list_rows(kind, p, *sides, first, last, y is x, out),
        np.empty((x.shape[0], y.shape[0]), rows.dtype),
        y is x,
        n_jobs,
    )


def _rows(X: Matrix, Y: Matrix | None, kernel: str, a: float) -> tuple[Rows, Rows]:
    """Both sides as CSR of one floating type without stored zeros, split by sign if needed."""
    x, y = check_rows(X, Y, kernel)
    dtype = np.result_type(x.dtype, y.dtype)
    if has_negative(x) or has_negative(y):
        x, y = on_both(split_signs, x, y)

    def prepared(rows: Rows) -> Rows:
        rows = sparse.csr_array(rows, dtype=dtype, copy=sparse.issparse(rows))
        rows.eliminate_zeros()  # their logarithms and inverses would be infinite
        return power_remap(rows, a)

    return on_both(prepared, x, y)


def _logarithms(rows: Rows) -> Rows:
    """The same non-zeros with their logarithms as values."""
    return sparse.csr_array((np.log(rows.data), rows.indices, rows.indptr), shape=rows.shape)


@njit()
def _term(kind, x, y, p):
    """One feature's share of the kernel  [YangWu12, Eq. (4) and Sec. 3].

    HARMONIC : 2xy/(x + y)     ENTROPY : x/2 log2((x + y)/x) + y/2 log2((x + y)/y)
    POWER : ((e^px + e^py)/2)^(1/p), values given as logarithms; the smaller one is taken out of
    the mean so that no power overflows
    """
    if kind == HARMONIC:
        return 2.0 * x * y / (x + y)
    if kind == POWER:
        mean = 0.5 * (1.0 + math.exp(p * abs(x - y)))
        return math.exp(min(x, y) + math.log(mean) / p)
    return 0.5 / math.log(2.0) * (x * math.log1p(y / x) + y * math.log1p(x / y))


@njit()
def list_rows(kind, p, rows, lists, first, last, symmetric, out):
    """out[i, j] = sum of the terms of the features that rows i of x and j of y both have.

    rows : indptr, indices, data of x by rows     lists : those of y by columns, rows ascending
    Rows first … last − 1 are filled, of a symmetric matrix only j <= i.
    """
    indptr, indices, data = rows
    starts, members, values = lists
    out[first:last] = 0
    for i in range(first, last):
        for at in range(indptr[i], indptr[i + 1]):
            k, x = indices[at], data[at]
            for q in range(starts[k], starts[k + 1]):
                if symmetric and members[q] > i:
                    break
                term = min(x, values[q]) if kind == MINIMUM else _term(kind, x, values[q], p)
                out[i, members[q]] += term
