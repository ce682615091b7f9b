"""Signed data as non-negative data of twice the width, and rows of unit sum."""

from typing import Any

import numpy as np
from scipy import sparse


def split_signs(X: Any) -> Any:
    """Give every column two: one for positive values, one for the size of negative ones.

    [Li16], Eq. (1): ũ₂ᵢ₋₁ = uᵢ and ũ₂ᵢ = 0 if uᵢ > 0, else ũ₂ᵢ₋₁ = 0 and ũ₂ᵢ = −uᵢ.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d)

    Returns
    -------
    ndarray or CSR array of shape (n, 2 d), non-negative
        Integers of 8 bits keep their type only if unsigned; −(−128) needs more.

    Examples
    --------
    >>> split_signs(np.array([[-5.0, 3.0]]))
    array([[0., 5., 3., 0.]])
    """
    if sparse.issparse(X):
        columns = 2 * X.indices.astype(np.int64) + (X.data < 0)
        shape = (X.shape[0], 2 * X.shape[1])
        return sparse.csr_array((np.abs(X.data), columns, X.indptr), shape=shape)
    split = np.zeros((X.shape[0], 2 * X.shape[1]), dtype=X.dtype)
    np.maximum(X, 0, out=split[:, 0::2])
    np.maximum(-X, 0, out=split[:, 1::2])
    return split


def has_negative(X: Any) -> bool:
    """Tell whether floating rows have a value below 0; integers here are unsigned."""
    values = X.data if sparse.issparse(X) else X
    return values.dtype.kind == "f" and values.size > 0 and bool(values.min() < 0)


def row_sums(X: Any) -> np.ndarray:
    """Sums of the rows in float64."""
    return np.asarray(X.sum(axis=1, dtype=np.float64)).reshape(-1)


def unit_sum(X: Any) -> Any:
    """Divide every row by its sum ([Li16], Eq. (3)); rows of zeros stay.

    Parameters
    ----------
    X : ndarray or CSR array, floating, non-negative

    Examples
    --------
    >>> unit_sum(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [0.  , 0.  ]])
    """
    sums = row_sums(X)
    sums[sums == 0] = 1.0
    if sparse.issparse(X):
        data = (X.data / np.repeat(sums, np.diff(X.indptr))).astype(X.dtype)
        return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
    return (X / sums[:, None]).astype(X.dtype)
