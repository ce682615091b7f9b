"""Local colour statistics: means and standard deviations of colours in the cells of patches."""

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from visualwords.features._color_statistics import describe_cells, sum_colors
from visualwords.features.extractor import Extractor, as_rgb
from visualwords.features.local_features import LocalFeatures, check_cells

__all__ = ["ColorStatistics"]

_CELLS = 4  # in each direction
_LARGEST_BIN = 100  # sums of squares of a cell fit 32 bits up to 257
_PLANES = {"rgb": ("red", "green", "blue"), "lab": ("lightness", "a", "b")}


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
    training images preferred Lab (docs/choices.md).

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((16, 24, 3), np.uint8)
    >>> image[:, ::2, 0] = 100
    >>> found = ColorStatistics(space="rgb").extract(image)
    >>> found.descriptors.shape, found.descriptors[0, :6].tolist()
    ((2, 96), [50, 0, 0, 100, 0, 0])
    """

    version = 1

    def __init__(
        self, bin_size: int | Sequence[int] = 4, step: int = 8, space: str = "lab"
    ) -> None:
        self.bin_size = bin_size
        self.step = step
        self.space = space

    @property
    def is_local(self) -> bool:
        return True

    def check_parameters(self) -> None:
        """Raise ``ValueError`` where a parameter can't be used."""
        check_cells(self.bin_size, self.step, _LARGEST_BIN)
        if self.space not in _PLANES:
            raise ValueError(f"space={self.space!r}; choose one of {', '.join(_PLANES)}")

    def extract(self, image: np.ndarray) -> LocalFeatures:
        """Return the descriptors of all patches.

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
        descriptors = [np.zeros((0, 6 * _CELLS**2), np.uint8)]
        positions, sizes = [np.zeros((0, 2), np.float32)], [np.zeros(0, np.float32)]
        for b in self._bin_sizes():
            side = _CELLS * b
            x, y = (np.arange(0, length - side + 1, self.step) for length in (width, height))
            found = np.empty((len(x) * len(y), _CELLS**2, 6), np.uint8)
            with np.errstate(over="ignore"):
                describe_cells(sums, b, x, y, found)
            xy = np.meshgrid((x + side / 2) / width, (y + side / 2) / height)
            descriptors.append(found.reshape(len(found), 6 * _CELLS**2))
            positions.append(np.stack([v.ravel() for v in xy], axis=1).astype(np.float32))
            sizes.append(np.full(len(found), side, np.float32))
        return LocalFeatures(*(np.concatenate(part) for part in (descriptors, positions, sizes)))

    def visualize(self, image: np.ndarray) -> np.ndarray:
        """Return the image in cells of the first ``bin_size``, each in its mean colour."""
        self.check_parameters()
        pixels, b = as_rgb(image), self._bin_sizes()[0]
        height, width = pixels.shape[:2]
        size_wh = max(1, width // b), max(1, height // b)
        small = cv2.resize(pixels, size_wh, interpolation=cv2.INTER_AREA)
        return cv2.resize(small, (width, height), interpolation=cv2.INTER_NEAREST)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name the columns like ``cell1.3_mean_lightness``."""
        self.check_parameters()
        cells = [f"cell{i}.{j}" for i in range(_CELLS) for j in range(_CELLS)]
        kinds = [f"{kind}_{plane}" for kind in ("mean", "spread") for plane in _PLANES[self.space]]
        return np.array([f"{cell}_{kind}" for cell in cells for kind in kinds], dtype=object)

    def _bin_sizes(self) -> tuple[Any, ...]:
        return tuple(np.atleast_1d(self.bin_size).tolist())
