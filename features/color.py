"""Colours: joint histograms of images, windows or patches; means and deviations in cells."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import cv2
import numpy as np

from visualwords.estimator import check_choices
from visualwords.features._color import count_colors, describe_cells, sum_colors
from visualwords.features.extractor import ColumnPlaces, Extractor, places_of_pixels
from visualwords.features.local_features import (
    LocalFeatures,
    as_windows,
    check_cells,
    grid_positions,
    patch_bounds,
    unit_centers,
    window_bounds,
)
from visualwords.features.pixels import as_rgb

_CHANNELS = {
    "rgb": ("red", "green", "blue"),
    "hsv": ("hue", "saturation", "value"),
    "lab": ("lightness", "a", "b"),
}
_LARGEST = 1 << 22  # columns of one window; 256³ would be 67 MB an image
_CELLS = 4  # of a patch of colour statistics, in each direction
_LARGEST_BIN = 100  # sums of squares of a cell fit 32 bits up to 257


@dataclass(eq=False, repr=False)
class ColorHistogram(Extractor):
    """Joint histogram of the three colour channels, as integer counts.

    Column (i b₁ + j) b₂ + l of a window counts its pixels whose channels have levels
    i = ⌊b₀ c₀ / 256⌋, j = ⌊b₁ c₁ / 256⌋ and l = ⌊b₂ c₂ / 256⌋.

    Parameters
    ----------
    bins : int or (int, int, int), default 4
        Levels of each channel, 1 to 256.
    space : {"rgb", "hsv", "lab"}, default "rgb"
        Colour space, each channel spread over 0..255 as OpenCV defines it for 8 bits: the hue's
        360° over 256, L* × 2.55, a* + 128, b* + 128.
    windows : None, int, (rows, columns) or (n, 4) array, keyword only
        Where to count: the whole image, an even grid, or boxes x0, y0, x1, y1 in the unit square.
        The histograms follow each other, window after window.
    layout : {"whole", "dense"}, default "whole"
        Whether ``transform`` gives one vector an image, or a histogram for each patch of a grid.
    patch_size, step : int, default 16 and 8
        The grid of ``extract``, in pixels.

    Notes
    -----
    Grey images count as RGB images with three equal channels. 64 bins of RGB are the histogram of
    the experiments on Corel images with the GCS kernel [1]_.

    References
    ----------
    .. [1] S. Boughorbel, J.-P. Tarel, N. Boujemaa: The GCS kernel for SVM-based image
       recognition, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((4, 6, 3), np.uint8)
    >>> image[:, 3:, 0] = 255
    >>> ColorHistogram(bins=2).describe(image)
    array([12,  0,  0,  0, 12,  0,  0,  0], dtype=uint32)
    >>> ColorHistogram(bins=(2, 1, 1), windows=(1, 2)).describe(image)
    array([12,  0,  0, 12], dtype=uint32)
    """

    bins: int | tuple[int, int, int] = 4
    space: str = "rgb"
    _: KW_ONLY
    windows: Any = None
    layout: str = "whole"
    patch_size: int = 16
    step: int = 8

    version = 1

    @property
    def is_local(self) -> bool:
        return self.layout == "dense"

    def check_parameters(self) -> None:
        """Raise ``ValueError`` where a parameter can't be used."""
        self._bins()
        as_windows(self.windows)
        check_choices(self, space=tuple(_CHANNELS), layout=("whole", "dense"))
        if self.patch_size < 1 or self.step < 1:
            raise ValueError(
                f"patch_size={self.patch_size} and step={self.step} must be at least 1"
            )

    def describe(self, image: np.ndarray) -> np.ndarray:
        """The counts of all windows.

        Parameters
        ----------
        image : (h, w, 3) RGB or (h, w) grey, uint8

        Returns
        -------
        (n_windows × b₀ b₁ b₂,) uint32
        """
        self.check_parameters()
        image = self._convert(image)
        bounds = window_bounds(as_windows(self.windows), *image.shape[:2])
        return count_colors(image, np.array(self._bins(), np.uint32), bounds).ravel()

    def codes(self, image: np.ndarray) -> np.ndarray:
        """The column that each pixel is counted in, within its window: (h, w) uint32.

        Examples
        --------
        >>> import numpy as np
        >>> ColorHistogram(bins=2).codes(np.array([[[0, 0, 255], [255, 0, 0]]], np.uint8)).tolist()
        [[1, 4]]
        """
        self.check_parameters()
        bins = np.array(self._bins(), np.uint32)
        first, second, third = np.moveaxis((self._convert(image) * bins) >> 8, 2, 0)
        return (first * bins[1] + second) * bins[2] + third

    def column_places(self, image: np.ndarray) -> ColumnPlaces:
        """The pixels that each column counts; see `Extractor`."""
        codes = self.codes(image)
        bounds = window_bounds(as_windows(self.windows), *codes.shape)
        return places_of_pixels(codes, bounds, self._color_names())

    def extract(self, image: np.ndarray) -> LocalFeatures:
        """The counts of every patch of the grid: uint8 if they fit, else uint16 or more."""
        self.check_parameters()
        image = self._convert(image)
        height, width = image.shape[:2]
        bounds = patch_bounds(height, width, self.patch_size, self.step)
        counts = count_colors(image, np.array(self._bins(), np.uint32), bounds)
        return LocalFeatures(
            counts.astype(np.min_scalar_type(self.patch_size**2)),
            unit_centers(bounds, height, width),
            np.full(len(bounds), self.patch_size, np.float32),
        )

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Name the columns like ``red0_green3_blue1``, with ``window2_`` in front if several."""
        self.check_parameters()
        colors = self._color_names()
        n_windows = 1 if self.is_local else len(as_windows(self.windows))
        if n_windows > 1:
            colors = [f"window{k}_{color}" for k in range(n_windows) for color in colors]
        return np.array(colors, dtype=object)

    def _color_names(self) -> list[str]:
        first, second, third = (
            [f"{channel}{level}" for level in range(b)]
            for channel, b in zip(_CHANNELS[self.space], self._bins())
        )
        return [f"{a}_{b}_{c}" for a in first for b in second for c in third]

    def _bins(self) -> tuple[int, ...]:
        given: Any = self.bins
        bins = (given,) * 3 if np.isscalar(given) else tuple(given)
        fits = all(isinstance(b, int | np.integer) and 1 <= b <= 256 for b in bins)
        if len(bins) != 3 or not fits:
            raise ValueError(f"bins={self.bins!r}; expected 1 to 256 for each of 3 channels")
        if math.prod(bins) > _LARGEST:
            raise ValueError(f"bins={self.bins!r} make {math.prod(bins)} columns; use fewer")
        return bins

    def _convert(self, image: np.ndarray) -> np.ndarray:
        image = as_rgb(image)
        there = {"hsv": cv2.COLOR_RGB2HSV_FULL, "lab": cv2.COLOR_RGB2Lab}
        return image if self.space == "rgb" else cv2.cvtColor(image, there[self.space])


@dataclass(eq=False, repr=False)
class ColorStatistics(Extractor):
    """Means and standard deviations of three colour planes in 4 × 4 cells of patches.

    A patch has 4 × 4 cells of ``bin_size`` pixels. Of each cell, row by row, the descriptor has
    the means of the three planes and twice their standard deviations, rounded to bytes: 96
    numbers. SIFT sees edges and not what is between them; this sees colours and brightness and
    roughly where they are.

    Parameters
    ----------
    bin_size : int or several, default 4
        Width of a cell in pixels, 1 to 100. Several give a grid of patches for each.
    step : int, default 8
        Distance of neighbouring patches in pixels.
    space : {"lab", "rgb"}, default "lab"
        Colour space, as OpenCV defines it for 8 bits: L* × 2.55, a* + 128, b* + 128.

    Notes
    -----
    Patches lie inside the image, from its top left corner on; an image smaller than a patch has
    none. They follow each other scale by scale, row by row. Grey images count as RGB images with
    three equal planes.

    Such descriptors are usual beside SIFT, as local colour statistics (LCS) of RGB; folds of
    training images preferred Lab (docs/lab/defaults.md).

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((16, 24, 3), np.uint8)
    >>> image[:, ::2, 0] = 100
    >>> found = ColorStatistics(space="rgb").extract(image)
    >>> found.descriptors.shape, found.descriptors[0, :6].tolist()
    ((2, 96), [50, 0, 0, 100, 0, 0])
    """

    bin_size: int | Sequence[int] = 4
    step: int = 8
    space: str = "lab"

    version = 1
    is_local = True

    def check_parameters(self) -> None:
        """Raise ``ValueError`` where a parameter can't be used."""
        self._bin_sizes()
        check_choices(self, space=("lab", "rgb"))

    def extract(self, image: np.ndarray) -> LocalFeatures:
        """The descriptors of all patches.

        Parameters
        ----------
        image : (h, w, 3) RGB or (h, w) grey, uint8

        Returns
        -------
        LocalFeatures
            descriptors : (n, 96) uint8; sizes are 4 ``bin_size``.
        """
        self.check_parameters()
        image = as_rgb(image)
        height, width = image.shape[:2]
        if self.space == "lab":
            image = cv2.cvtColor(image, cv2.COLOR_RGB2Lab)
        with np.errstate(over="ignore"):  # sums may wrap around; only uncompiled code would warn
            sums = sum_colors(image)
        scales = []
        for b in self._bin_sizes():
            side = _CELLS * b
            x, y = (np.arange(0, length - side + 1, self.step) for length in (width, height))
            found = np.empty((len(x) * len(y), _CELLS**2, 6), np.uint8)
            with np.errstate(over="ignore"):
                describe_cells(sums, b, x, y, found)
            positions = grid_positions((x + side / 2) / width, (y + side / 2) / height)
            sizes = np.full(len(found), side, np.float32)
            scales.append((found.reshape(len(found), 6 * _CELLS**2), positions, sizes))
        return LocalFeatures(*(np.concatenate(part) for part in zip(*scales)))

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Name the columns like ``cell1.3_mean_lightness``."""
        self.check_parameters()
        cells = [f"cell{i}.{j}" for i in range(_CELLS) for j in range(_CELLS)]
        planes = _CHANNELS[self.space]
        kinds = [f"{kind}_{plane}" for kind in ("mean", "spread") for plane in planes]
        return np.array([f"{cell}_{kind}" for cell in cells for kind in kinds], dtype=object)

    def _bin_sizes(self) -> tuple[int, ...]:
        return check_cells(self.bin_size, self.step, 1, _LARGEST_BIN)
