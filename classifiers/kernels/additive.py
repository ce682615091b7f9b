"""Additive kernels of histograms: power mean, χ² and Jensen–Shannon.

References
----------
.. [YangWu12] H. Yang, J. Wu, "Practical Large Scale Classification with Additive Kernels", 2012.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.kernels import _additive as loops
from visualwords.classifiers.kernels.checked_rows import check_rows, power_remap
from visualwords.classifiers.kernels.min_sums import in_stripes, min_sums
from visualwords.classifiers.kernels.signed import has_negative, split_signs


def power_mean(
    X: Any, Y: Any = None, *, p: float = -1.0, a: float = 1.0, n_jobs: int | None = None
) -> np.ndarray:
    """Power mean kernel K(x, y) = Σ_k ((x_kᵖ + y_kᵖ) / 2)^(1/p).

    p = −1 is ``chi2``, p → 0 the geometric mean √(xy), p = −∞ the ``intersection``.

    Parameters
    ----------
    X, Y : array-like or sparse matrix of shape (n, d), (m, d)
        Rows; ``Y`` defaults to ``X``. Where there are negative values, each column becomes two by
        sign, as in ``gmm``.
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
    **Deviations from the paper.** None; a term with a zero is 0, its limit.

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
    if p == -np.inf:
        return min_sums(x, y, n_jobs=n_jobs)
    if p == 0:
        roots = x.sqrt()
        return (roots @ (roots if y is x else y.sqrt()).T).toarray()
    if p == -1:
        return _additive_gram(loops.HARMONIC, x, y, n_jobs)
    logs = _map(x, np.log)
    others = logs if y is x else _map(y, np.log)
    return _additive_gram(loops.POWER, logs, others, n_jobs, float(p))


def chi2(X: Any, Y: Any = None, *, a: float = 1.0, n_jobs: int | None = None) -> np.ndarray:
    """Additive χ² kernel K(x, y) = Σ_k 2 x_k y_k / (x_k + y_k).

    Parameters
    ----------
    X, Y : array-like or sparse matrix of shape (n, d), (m, d)
        Rows; ``Y`` defaults to ``X``. Where there are negative values, each column becomes two by
        sign, as in ``gmm``.
    a : float > 0
        Power remap of the values first.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    K : array of shape (n, m), float32 if both sides are, else float64

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
    x, y = _rows(X, Y, "chi2", a)
    return _additive_gram(loops.HARMONIC, x, y, n_jobs)


def jensen_shannon(
    X: Any, Y: Any = None, *, a: float = 1.0, n_jobs: int | None = None
) -> np.ndarray:
    """Jensen–Shannon kernel K(x, y) = Σ_k x/2 log₂((x+y)/x) + y/2 log₂((x+y)/y).

    Parameters
    ----------
    X, Y : array-like or sparse matrix of shape (n, d), (m, d)
        Rows; ``Y`` defaults to ``X``. Where there are negative values, each column becomes two by
        sign, as in ``gmm``.
    a : float > 0
        Power remap of the values first.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    K : array of shape (n, m), float32 if both sides are, else float64

    Notes
    -----
    **Deviations from the paper.** None; a term with a zero is 0, its limit.

    References
    ----------
    [YangWu12], Sec. 3.

    Examples
    --------
    >>> jensen_shannon([[1.0, 0.0], [1.0, 2.0]])
    array([[1., 1.],
           [1., 3.]])
    """
    x, y = _rows(X, Y, "jensen_shannon", a)
    return _additive_gram(loops.ENTROPY, x, y, n_jobs)


def _rows(X: Any, Y: Any, kernel: str, a: float) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Both sides checked, as CSR of one floating type, split by sign if either has negatives."""
    X, Y = check_rows(X, Y, kernel=kernel, accept_sparse=True)
    dtype = np.result_type(X.dtype, Y.dtype)
    if has_negative(X) or has_negative(Y):
        split = split_signs(X)
        X, Y = split, split if Y is X else split_signs(Y)
    x = power_remap(_nonzeros(X, dtype), a)
    return x, x if Y is X else power_remap(_nonzeros(Y, dtype), a)


def _nonzeros(rows: Any, dtype: np.dtype) -> sparse.csr_array:
    """CSR without stored zeros, of which logarithms and inverses would be infinite."""
    rows = sparse.csr_array(rows).astype(dtype, copy=False)
    if rows.nnz and not rows.data.all():
        rows = rows.copy()
        rows.eliminate_zeros()
    return rows


def _map(rows: sparse.csr_array, function: Callable[[np.ndarray], np.ndarray]) -> sparse.csr_array:
    """The same non-zeros with other values."""
    return sparse.csr_array((function(rows.data), rows.indices, rows.indptr), shape=rows.shape)


def _additive_gram(kind: int, x: Any, y: Any, n_jobs: int | None, p: float = 0.0) -> np.ndarray:
    """Run the compiled loop over all rows."""
    lists = sparse.csc_array(y)
    lists.sort_indices()
    a = (x.indptr, x.indices, x.data, lists.indptr, lists.indices, lists.data)
    return in_stripes(
        lambda first, last, out: loops.additive_rows(kind, p, *a, first, last, y is x, out),
        np.empty((x.shape[0], y.shape[0]), x.dtype),
        y is x,
        n_jobs,
    )
