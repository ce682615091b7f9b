"""Checks of arrays and estimators; scikit-learn's take longer than the work on one image."""

from typing import Any

import numpy as np

__all__ = ["check_fitted", "is_plain"]


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
