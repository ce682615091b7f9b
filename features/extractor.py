"""The contract of everything that turns an image into numbers."""

import os
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from visualwords.errors import ImageError
from visualwords.features.column_places import ColumnPlaces
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets
from visualwords.features.pixels import as_grey, as_rgb, check_image, is_one_image
from visualwords.images import read_image

__all__ = ["Extractor", "as_grey", "as_rgb", "check_image", "is_one_image"]


class Extractor(TransformerMixin, BaseEstimator):
    """Base of all extractors; a custom descriptor is a subclass with one method.

    An extractor that gives one vector an image defines ``describe(image)``. One that gives the
    descriptors of patches defines ``extract(image)`` and sets ``is_local = True``. Parameters are
    stored by ``__init__`` as given and checked when used. Nothing is learned from images.

    Attributes
    ----------
    version : int
        Part of every cache key: raise it whenever the same image gives other numbers.
    is_normalized : bool
        Whether ``describe`` gives numbers that compare between images as they are; False for
        counts, which recipes divide by their sum.
    is_signed : bool
        Whether numbers may be negative, which square roots of descriptors do not take.
    color_mode : "rgb" or "grey"
        The ``mode`` of :func:`visualwords.images.read_image` that suits this extractor. The other
        kind of array is accepted too, and converted by :func:`as_rgb` or :func:`as_grey`.
    is_local : bool
        Whether ``transform`` gives local features (``extract``) or vectors (``describe``).

    Examples
    --------
    >>> import numpy as np
    >>> class MeanColor(Extractor):
    ...     def describe(self, image):
    ...         return as_rgb(image).mean(axis=(0, 1))
    >>> MeanColor().fit_transform([np.full((8, 9, 3), 7, np.uint8)])
    array([[7., 7., 7.]])
    >>> MeanColor().get_feature_names_out()
    array(['meancolor0', 'meancolor1', 'meancolor2'], dtype=object)
    """

    version: ClassVar[int] = 1
    is_normalized: ClassVar[bool] = False
    is_signed: ClassVar[bool] = False

    @property
    def color_mode(self) -> str:
        return "rgb"

    @property
    def is_local(self) -> bool:
        return False

    def describe(self, image: np.ndarray) -> np.ndarray:
        """Return the one vector of an image."""
        raise NotImplementedError(f"{type(self).__name__} gives no vector for a whole image")

    def extract(self, image: np.ndarray) -> LocalFeatures:
        """Return the descriptors of an image's patches."""
        raise NotImplementedError(f"{type(self).__name__} gives no local descriptors")

    def column_places(self, image: np.ndarray) -> ColumnPlaces | None:
        """Return where the columns of ``describe(image)`` come from; None if from no place.

        Explanations need it: the evidence of columns without places is part of the offset.
        """
        return None

    def visualize(self, image: np.ndarray) -> np.ndarray:
        """Return an RGB picture (uint8) of what the extractor sees in an image."""
        return as_rgb(image).copy()

    def check_parameters(self) -> None:
        """Raise ``ValueError`` or ``TypeError`` where a parameter can't be used."""

    def fit(self, images: Any = None, y: Any = None) -> "Extractor":
        """Check the parameters; nothing is learned and ``images`` is not touched."""
        self.check_parameters()
        return self

    def transform(self, images: Iterable[Any]) -> np.ndarray | LocalFeatureSets:
        """Turn images into rows of a matrix, or into ragged sets of local features.

        Parameters
        ----------
        images : iterable of paths, contents of files (bytes) or uint8 arrays
            Arrays are (h, w, 3) RGB or (h, w) grey.

        Returns
        -------
        (n_images, d) array, or LocalFeatureSets where ``is_local``
        """
        self.check_parameters()
        if is_one_image(images):  # an array would be as many images as it has rows
            raise TypeError("one image; give a list of images, even if of one")
        if self.is_local:
            return LocalFeatureSets.concatenate(self.extract(self._pixels(i)) for i in images)
        rows = [self.describe(self._pixels(image)) for image in images]
        for i, row in enumerate(rows):
            if len(row) != len(rows[0]):
                raise ImageError(
                    f"image {i} gives {len(row)} numbers where image 0 gives {len(rows[0])}; "
                    "bring all images to one size first"
                )
        return np.stack(rows) if rows else np.zeros((0, len(self.get_feature_names_out())))

    def _pixels(self, image: Any) -> np.ndarray:
        """Return an array as it is; a file is read as the extractor wants it."""
        if isinstance(image, bytes):
            return read_image(image, self.color_mode)
        if not isinstance(image, str | os.PathLike):
            return image
        try:
            return read_image(image, self.color_mode)
        except ImageError as problem:
            raise ImageError(f"{os.fspath(image)}: {problem}") from None

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name the columns: the class and a number, counted on a black 64×64 image.

        Override it for better names, or where the number of columns depends on the image.
        """
        black = np.zeros((64, 64, 3), np.uint8)
        n = self.extract(black).descriptors.shape[1] if self.is_local else len(self.describe(black))
        return np.array([f"{type(self).__name__.lower()}{i}" for i in range(n)], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        tags.no_validation = True
        return tags
