"""Arrays as loops take them: checks, types and rows by number.

scikit-learn's checks take longer than the work on one image.
"""

from typing import Any

import numpy as np

__all__ = ["as_compiled", "check_fitted", "is_plain", "take"]

COMPILED_TYPES = (np.float32, np.float64, np.uint8, np.uint16)


def check_fitted(estimator: Any, learned: str) -> None:
    """Raise scikit-learn's ``NotFittedError`` unless an estimator has an attribute it learns."""
    if not hasattr(estimator, learned):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, learned)


def is_plain(estimator: Any, X: Any, kinds: str = "fiu") -> bool:
    """Return whether scikit-learn's ``validate_data`` would give an array back as it is.

    Infinite numbers and NaN aside, which it may be asked to refuse.

    Parameters
    ----------
    estimator : object
        Fitted, with ``n_features_in_``.
    X : object
        What was given to it.
    kinds : str
        Of NumPy types that are fine: f for real numbers, i and u for whole ones.

    Examples
    --------
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> scaler = MinMaxScaler().fit([[1.0, 2.0], [3.0, 4.0]])
    >>> is_plain(scaler, np.zeros((5, 2))), is_plain(scaler, np.zeros((5, 3)))
    (True, False)
    """
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and len(X) > 0
        and X.shape[1] == estimator.n_features_in_
        and X.dtype.kind in kinds
        and X.dtype.itemsize <= 8  # longer ones are no types of compiled loops
        and X.flags.c_contiguous
        and not hasattr(estimator, "feature_names_in_")  # which X should have, too
    )


def as_compiled(values: np.ndarray) -> np.ndarray:
    """Return values of a type that compiled loops take as it is."""
    return values if values.dtype in COMPILED_TYPES else values.astype(np.float64)


def take(X: Any, indices: np.ndarray) -> Any:
    """Return rows of a matrix, or members of a list of sets, by number.

    Examples
    --------
    >>> take(["a", "b", "c"], np.array([2, 0]))
    ['c', 'a']
    """
    return [X[i] for i in indices] if isinstance(X, list | tuple) else X[indices]
