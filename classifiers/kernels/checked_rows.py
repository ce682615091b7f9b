"""What every kernel function does first: check its two sets of rows, and remap their values."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array


def check_rows(
    X: Any,
    Y: Any = None,
    *,
    kernel: str,
    dtype: Any = (np.float64, np.float32),
    accept_sparse: bool = False,
) -> tuple[Any, Any]:
    """Validate the rows of a Gram matrix; a missing ``Y`` comes back as the very same ``X``.

    Parameters
    ----------
    X, Y : array-like or sparse of shape (n, d) and (m, d)
        Finite numbers; no row at all is allowed.
    kernel : str
        The name for error messages.
    dtype : dtype, tuple of dtypes or None
        What may stay as it is, anything else is converted to the first; None: any number.
    accept_sparse : bool
        Whether scipy matrices pass (as CSR without duplicate entries).

    Returns
    -------
    X, Y : arrays in C order, or CSR arrays
        ``Y is X`` where no ``Y`` was given.
    """
    x = _check(X, kernel, dtype, accept_sparse)
    if Y is None:
        return x, x
    y = _check(Y, kernel, dtype, accept_sparse)
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"{kernel}: X has {x.shape[1]} columns and Y has {y.shape[1]}; they must agree"
        )
    return x, y


def _check(rows: Any, kernel: str, dtype: Any, accept_sparse: bool) -> Any:
    """One side of ``check_rows``."""
    if _is_checked(rows, dtype):
        return rows
    rows = check_array(
        rows,
        accept_sparse="csr" if accept_sparse else False,
        dtype="numeric" if dtype is None else dtype,
        order="C",
        ensure_min_samples=0,
        input_name="X",
    )
    if sparse.issparse(rows):
        rows = sparse.csr_array(rows)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
    return rows


def _is_checked(rows: Any, dtype: Any) -> bool:
    """Whether rows are as ``check_array`` would return them; asking it takes 0.2 ms a block."""
    if dtype is None or type(rows) is not np.ndarray or rows.ndim != 2 or not rows.shape[1]:
        return False
    allowed = dtype if isinstance(dtype, tuple) else (dtype,)
    if not rows.flags.c_contiguous or rows.dtype not in allowed:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(rows.sum()))


def power_remap(X: Any, a: float) -> Any:
    """Raise magnitudes to the power ``a`` and keep signs: xᵃ of [Boughorbel06, Sec. 5].

    Parameters
    ----------
    X : ndarray or CSR array
    a : float > 0
        1 gives ``X`` itself; the paper's 0.25 lifts small histogram bins.
    """
    if not a > 0:
        raise ValueError(f"a is {a}, but a power remap needs a > 0 (0.25 in the GCS paper)")
    if a == 1:
        return X
    if sparse.issparse(X):
        return sparse.csr_array((power_remap(X.data, a), X.indices, X.indptr), shape=X.shape)
    return np.sign(X) * np.abs(X) ** a
