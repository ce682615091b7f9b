"""What all codebooks share: which descriptors they take, and how they look from outside."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from visualwords.codebook.fair_shares import balanced_rows
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets

__all__ = ["Codebook", "as_images", "as_sets", "descriptors_of", "has_learned"]


class Codebook(TransformerMixin, BaseEstimator):
    """Base of codebooks: something that gives a descriptor the number of a word.

    A subclass learns in ``fit`` and defines ``predict``, ``transform``, ``get_state`` and
    ``set_state``. It has the parameters ``n_words``, ``random_state`` and ``max_descriptors``.
    """

    n_words: int
    random_state: Any
    max_descriptors: int | None

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name the columns of ``transform``: word0, word1, …"""
        check_is_fitted(self)
        return np.array([f"word{k}" for k in range(self.n_words)], dtype=object)

    def _training_descriptors(self, X: Any, y: Any) -> tuple[np.ndarray, np.random.RandomState]:
        """Descriptors to learn from, at most ``max_descriptors``, and the random generator."""
        random = check_random_state(self.random_state)
        most = self.max_descriptors
        rows = None
        if isinstance(X, LocalFeatureSets) and most is not None:
            rows = balanced_rows(X, y, most, random)
        X = self._check(X, reset=True)
        if rows is None and most is not None and len(X) > most:
            rows = np.sort(random.permutation(len(X))[:most])
        if rows is not None and len(rows) < len(X):
            X = X[rows]
        self._check_number(len(X))
        return X, random

    def _check_number(self, n: int) -> None:
        if not (isinstance(self.n_words, int | np.integer) and self.n_words >= 1):
            raise ValueError(f"n_words={self.n_words!r}; expected a whole number, at least 1")
        if n < self.n_words:
            raise ValueError(
                f"n_samples={n} descriptors are too few for n_words={self.n_words}; give more "
                "images or ask for fewer words"
            )

    def _check(self, X: Any, *, reset: bool = False) -> np.ndarray:
        """Descriptors as a C-ordered array of uint8, uint16 or float32."""
        X = descriptors_of(X)
        empty = isinstance(X, np.ndarray) and X.ndim == 2 and len(X) == 0 and not reset
        X = validate_data(
            self, X, dtype="numeric", order="C", reset=reset, ensure_min_samples=0 if empty else 1
        )
        if X.dtype not in (np.uint8, np.uint16, np.float32):
            X = X.astype(np.float32)
        return X


def descriptors_of(X: Any) -> Any:
    """Return the descriptors of local features; anything else as it is."""
    return X.descriptors if isinstance(X, LocalFeatures | LocalFeatureSets) else X


def as_images(X: Any) -> LocalFeatureSets | list[LocalFeatures]:
    """Return local features of many images as something to go through and to count."""
    if isinstance(X, LocalFeatureSets):
        return X
    if isinstance(X, LocalFeatures):
        raise TypeError("the local features of one image; give a list of images, even if of one")
    if isinstance(X, Iterable):
        images = list(X)
        if all(isinstance(one, LocalFeatures) for one in images):
            return images
    raise TypeError(
        f"local features of images are needed (LocalFeatureSets, or a list of LocalFeatures, as "
        f"extractors give), not {type(X).__name__}"
    )


def as_sets(X: Any) -> LocalFeatureSets:
    """Return local features of many images as ragged sets."""
    images = as_images(X)
    return images if isinstance(images, LocalFeatureSets) else LocalFeatureSets.concatenate(images)


def has_learned(codebook: Any) -> bool:
    """Return whether an estimator is fitted."""
    try:
        check_is_fitted(codebook)
    except NotFittedError:
        return False
    return True
