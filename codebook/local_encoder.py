"""What encoders of signed image vectors share: projection, windows, normalisation."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from visualwords.codebook.codebook import as_images, as_sets
from visualwords.codebook.fair_shares import balanced_rows
from visualwords.codebook.projection import Projection, check_finite
from visualwords.codebook.spatial_pyramid import as_pyramid
from visualwords.codebook.weighting import SCOPES, normalize
from visualwords.features.local_features import LocalFeatures
from visualwords.progress import Progress

__all__ = ["LocalEncoder"]


class LocalEncoder(TransformerMixin, BaseEstimator):
    """Base of encoders that turn the descriptors of each window into one signed vector.

    A subclass defines ``_learn(projected, random, progress)``, ``_encode(descriptors, cells)``,
    which returns (n_windows, m), ``_n_columns``, which is m, ``_names()`` of these columns,
    ``get_state`` and ``set_state``.
    """

    n_components: int | None
    pyramid: Any
    power: float
    scope: str
    max_descriptors: int | None
    random_state: Any

    def fit(self, X: Any, y: Any = None, *, progress: Progress | None = None) -> Any:
        """Learn the projection and what describes the descriptors' distribution.

        Parameters
        ----------
        X : LocalFeatureSets, iterable of LocalFeatures, or (n, d) array of descriptors
        y : sequence of one label an image, optional
            Classes, and the images of a class, have equal shares in the training descriptors. Not
            used with an array, which is taken as a sample.
        progress : Progress, optional
        """
        self._check_parameters()
        random = check_random_state(self.random_state)
        descriptors = _training_sample(X, y, self.max_descriptors, random)
        check_finite(descriptors)
        self.projection_ = self._projection(descriptors)
        self._learn(self.projection_.apply(descriptors), random, progress)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return one row an image.

        Parameters
        ----------
        X : LocalFeatureSets, or iterable of LocalFeatures

        Returns
        -------
        (n_images, n_windows × m) float32
        """
        check_is_fitted(self, "projection_")
        self._check_parameters()
        images = as_images(X)
        rows = np.empty((len(images), self._pyramid.n_windows * self._n_columns), np.float32)
        for row, one in zip(rows, images):
            row[:] = self.encode(one)
        return rows

    def encode(self, features: LocalFeatures) -> np.ndarray:
        """Return the row of one image."""
        pyramid = self._pyramid
        check_finite(features.descriptors)
        windows = self._encode(features.descriptors, pyramid.cells(features.positions))
        return normalize(windows[None], pyramid, "l2", self.scope, self.power).ravel()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name the columns: window, then what the subclass names."""
        check_is_fitted(self, "projection_")
        names = self._names()
        return np.array(
            [f"{window}_{name}" for window in self._pyramid.window_names() for name in names],
            dtype=object,
        )

    @property
    def _pyramid(self):
        return as_pyramid(self.pyramid)

    def _projection(self, descriptors: np.ndarray) -> Projection:
        d = descriptors.shape[1]
        if self.n_components is None:
            return Projection(np.zeros(d), np.eye(d))
        learned = Projection.learn(descriptors, self.n_components)
        return learned.rounded() if descriptors.dtype == np.uint8 else learned

    def _projection_state(self) -> dict[str, np.ndarray]:
        return {"mean": self.projection_.mean, "directions": self.projection_.directions}

    def _check_parameters(self) -> None:
        if self.scope not in SCOPES:
            raise ValueError(f"scope={self.scope!r}; there are {', '.join(SCOPES)}")
        if not self.power > 0:
            raise ValueError(f"power={self.power}; needed is a positive number")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    def _learn(self, projected, random, progress) -> None:
        raise NotImplementedError

    def _encode(self, descriptors: np.ndarray, cells: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    @property
    def _n_columns(self) -> int:
        raise NotImplementedError

    def _names(self) -> list[str]:
        raise NotImplementedError


def _training_sample(
    X: Any, labels: Any, most: int | None, random: np.random.RandomState
) -> np.ndarray:
    """At most ``most`` descriptors to learn from, balanced if they belong to images."""
    if isinstance(X, np.ndarray):
        if X.ndim != 2:
            raise ValueError(f"descriptors of shape {X.shape}; needed is an (n, d) array")
        few = most is None or len(X) <= most
        return X if few else X[np.sort(random.permutation(len(X))[:most])]
    sets = as_sets(X)
    if most is None or len(sets.descriptors) <= most:
        return sets.descriptors
    return sets.descriptors[balanced_rows(sets, labels, most, random)]
