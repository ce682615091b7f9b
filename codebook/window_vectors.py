"""What encoders share that turn the patches of each window of an image into numbers."""

from typing import Any

import numpy as np

from visualwords.codebook.codebook import as_images, as_sets, choose_rows, descriptors_of
from visualwords.codebook.projection import Projection, check_finite
from visualwords.codebook.spatial_pyramid import SCOPES, SpatialPyramid, as_pyramid, normalize
from visualwords.estimator import Labels, TakesObjects, Transformer, check_choices, check_fitted
from visualwords.features.local_features import LocalFeatures
from visualwords.parallel import with_one_library_thread


class WindowVectors(Transformer, TakesObjects):
    """Base of encoders whose windows are vectors, raised to a power and brought to length 1.

    A subclass learns ``projection_`` in ``fit``, and defines ``_vectors``, the numbers of every
    window of an image, and ``_column_names``. It has the parameters below.
    """

    n_components: int | None
    pyramid: Any
    power: float
    scope: str
    max_descriptors: int | None
    projection_: Projection

    @with_one_library_thread
    def transform(self, X: Any) -> np.ndarray:
        """One vector an image.

        Parameters
        ----------
        X : LocalFeatureSets, or iterable of LocalFeatures

        Returns
        -------
        (n_images, n_windows × numbers of a window) float32
        """
        check_fitted(self, "projection_")
        self._check_parameters()
        images = as_images(X)
        rows = np.empty((len(images), len(self.get_feature_names_out())), np.float32)
        for row, one in zip(rows, images):
            row[:] = self.encode(one)
        return rows

    def encode(self, features: LocalFeatures) -> np.ndarray:
        """The vector of one image."""
        check_finite(features.descriptors)
        windows = self._vectors(features)
        return normalize(windows[None], self._pyramid, "l2", self.scope, self.power).ravel()

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Name the columns like ``level1_window2_…``."""
        check_fitted(self, "projection_")
        names = self._column_names()
        return np.array(
            [f"{window}_{name}" for window in self._pyramid.window_names() for name in names],
            dtype=object,
        )

    def _vectors(self, features: LocalFeatures) -> np.ndarray:
        """The numbers of every window, (n_windows, n) float32, which may be changed."""
        raise NotImplementedError

    def _column_names(self) -> list[str]:
        """The names of a window's numbers."""
        raise NotImplementedError

    @property
    def _pyramid(self) -> SpatialPyramid:
        return as_pyramid(self.pyramid)

    def _sample(self, X: Any, labels: Labels, random: np.random.RandomState) -> np.ndarray:
        """At most ``max_descriptors`` to learn from, balanced if they belong to images."""
        if isinstance(X, np.ndarray) and X.ndim != 2:
            raise ValueError(f"descriptors of shape {X.shape}; expected an (n, d) array")
        given = X if isinstance(X, np.ndarray) else as_sets(X)
        chosen = descriptors_of(given)[choose_rows(given, labels, self.max_descriptors, random)]
        check_finite(chosen)
        return chosen

    def _check_parameters(self) -> None:
        check_choices(self, scope=SCOPES)
        if not self.power > 0:
            raise ValueError(f"power={self.power}; expected a positive number")
