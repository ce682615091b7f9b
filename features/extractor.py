"""The contract of everything that turns an image into numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from visualwords.errors import ImageError
from visualwords.estimator import TakesObjects, Transformer
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets
from visualwords.features.pixels import as_grey, as_rgb, check_image
from visualwords.images import read_image
from visualwords.inputs import Source, as_images

__all__ = ["ColumnPlaces", "Extractor", "as_grey", "as_rgb", "check_image"]


BLOCK = 8  # pixels; single pixels are summed in blocks of this side
PIXELS = "each bin's value is shared equally among the pixels counted in it"


@dataclass(frozen=True)
class ColumnPlaces:
    """The places of an image that each column of its vector was computed from.

    Attributes
    ----------
    positions : (n, 2) float32
        Centres (x, y) of the places in the unit square of the image.
    sizes : (n, 2) float32
        Width and height of the places in the unit square.
    shares : (n, n_columns) CSR matrix
        Share of each place in each column: a column sums to 1, or to 0 where nothing was counted.
    names : list of str
        What columns count, whatever the window: bins, codes or angles.
    name_of : (n_columns,) int
        The name of each column, as a position in ``names``.
    method : str
        How columns are shared among places, as a clause for people.
    """

    positions: np.ndarray
    sizes: np.ndarray
    shares: csr_matrix
    names: list[str]
    name_of: np.ndarray
    method: str


class Extractor(Transformer, TakesObjects):
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
        """The one vector of an image."""
        raise NotImplementedError(f"{type(self).__name__} gives no vector for a whole image")

    def extract(self, image: np.ndarray) -> LocalFeatures:
        """The descriptors of an image's patches."""
        raise NotImplementedError(f"{type(self).__name__} gives no local descriptors")

    def column_places(self, image: np.ndarray) -> ColumnPlaces | None:
        """The places that the columns of ``describe(image)`` come from; None if from no place.

        Explanations need it: the evidence of columns without places is part of the offset.
        """
        return None

    def check_parameters(self) -> None:
        """Raise ``ValueError`` or ``TypeError`` where a parameter can't be used."""

    def fit(self, images: Any = None, y: Any = None) -> "Extractor":
        """Check the parameters; nothing is learned and ``images`` is not touched."""
        self.check_parameters()
        return self

    def transform(self, images: Any) -> np.ndarray | LocalFeatureSets:
        """Turn images into rows of a matrix, or into ragged sets of local features.

        Parameters
        ----------
        images : images in any form of `visualwords.inputs`
            Paths, contents of files (bytes), uint8 arrays or PIL images in a list or a pandas
            column; a Hugging Face dataset; or one image, which counts as a list of one.

        Returns
        -------
        (n_images, d) array, or LocalFeatureSets where ``is_local``
        """
        self.check_parameters()
        sources = as_images(images).images
        if self.is_local:
            return LocalFeatureSets.concatenate(self.extract(self._pixels(i)) for i in sources)
        rows = [self.describe(self._pixels(source)) for source in sources]
        for i, row in enumerate(rows):
            if len(row) != len(rows[0]):
                raise ImageError(
                    f"image {i} gives {len(row)} numbers where image 0 gives {len(rows[0])}; "
                    "bring all images to one size first"
                )
        return np.stack(rows) if rows else np.zeros((0, len(self.get_feature_names_out())))

    def _pixels(self, source: Source) -> np.ndarray:
        """An array as it is; a file is read as the extractor wants it."""
        if isinstance(source, np.ndarray):
            return source
        try:
            return read_image(source, self.color_mode)
        except ImageError as problem:
            name = f"{source}: " if isinstance(source, str) else ""
            raise type(problem)(f"{name}{problem}") from None

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
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
        tags.requires_fit = False
        return tags


def places_of_pixels(codes: np.ndarray, bounds: np.ndarray, names: Sequence[str]) -> ColumnPlaces:
    """The places of a histogram that counts pixels in windows, in blocks of pixels.

    Parameters
    ----------
    codes : (h, w) integers
        The bin of each pixel.
    bounds : (n_windows, 4)
        Pixels x0, y0, x1, y1 of the windows; columns are window-major.
    names : sequence of str
        Of the bins.

    Examples
    --------
    >>> codes = np.zeros((8, 16), int)
    >>> codes[:, 12:] = 1
    >>> places = places_of_pixels(codes, np.array([[0, 0, 16, 8]]), ["dark", "light"])
    >>> places.shares.toarray().round(2).tolist()
    [[0.67, 0.0], [0.33, 1.0]]
    """
    (height, width), n_bins = codes.shape, len(names)
    rows, columns = -(-height // BLOCK), -(-width // BLOCK)
    block = (np.arange(height) // BLOCK)[:, None] * columns + np.arange(width) // BLOCK
    places, used, shares = [], [], []
    for k, (x0, y0, x1, y1) in enumerate(bounds):
        inside = codes[y0:y1, x0:x1].ravel().astype(np.int64)
        pairs = block[y0:y1, x0:x1].ravel() * n_bins + inside
        found, times = np.unique(pairs, return_counts=True)
        bins = found % n_bins
        places.append(found // n_bins)
        used.append(k * n_bins + bins)
        shares.append(times / np.bincount(inside, minlength=n_bins)[bins])
    left, top = np.meshgrid(np.arange(columns) * BLOCK, np.arange(rows) * BLOCK)
    low = np.stack([left.ravel(), top.ravel()], axis=1)
    high = np.minimum(low + BLOCK, (width, height))
    entries = np.concatenate(shares), (np.concatenate(places), np.concatenate(used))
    return ColumnPlaces(
        positions=((low + high) / (2.0 * width, 2.0 * height)).astype(np.float32),
        sizes=((high - low) / (width, height)).astype(np.float32),
        shares=csr_matrix(entries, shape=(rows * columns, len(bounds) * n_bins)),
        names=list(names),
        name_of=np.tile(np.arange(n_bins), len(bounds)),
        method=PIXELS,
    )
