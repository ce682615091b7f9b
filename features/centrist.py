"""CENTRIST: histograms of the census transform."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from visualwords.estimator import check_choices
from visualwords.features._centrist import census_transform, count_codes, count_codes_of_patches
from visualwords.features.extractor import ColumnPlaces, Extractor, places_of_pixels
from visualwords.features.local_features import (
    LocalFeatures,
    as_windows,
    patch_bounds,
    pyramid_windows,
    unit_centers,
    window_bounds,
)
from visualwords.features.pixels import as_grey, resize_image, sobel_image

_WINDOW = (108, 36)  # rows, columns of a pedestrian window  [Wu10, Sec. 4.2]
_BLOCKS = (9, 4)  # blocks of the window, of 12 × 9 pixels  [Wu10, Sec. 4.2]
_CODES = [f"census{c}" for c in range(256)]


@dataclass(eq=False, repr=False)
class Centrist(Extractor):
    """Histograms of census codes, as integer counts.

    The census code of a pixel has one bit for each of its 8 neighbours, from the top left to the
    bottom right, highest first: 1 where the pixel is at least as bright as the neighbour. Codes do
    not change when brightness or contrast does. Only pixels with 8 neighbours inside the image,
    block or patch are counted.

    Parameters
    ----------
    layout : {"whole", "pyramid", "pedestrian", "dense"}, default "whole"
        - whole: one histogram, 256 columns.
        - pyramid: 31 windows, 7,936 columns: the image, 2×2 windows and one in the middle, 4×4
          windows and 3×3 between them.
        - pedestrian: a window of 108 rows and 36 columns has 9×4 blocks; any neighbouring 2×2 form
          a super-block; 8×3 super-blocks, 6,144 columns, each super-block counting 22×16 = 352
          codes [1]_. An image of another size is first resized to the window.
        - dense: ``transform`` gives local features, a histogram for each patch of a grid.
    patch_size, step : int, default 16 and 8, keyword only
        The grid of ``extract``, in pixels.
    sobel : bool, default False
        Take the census of the image's Sobel magnitude instead of its grey levels.

    Notes
    -----
    Colour images are converted to grey. An image without inner pixels has the histogram 0.

    Deviations from the paper: [2]_ reduces each window's histogram by principal components and
    adds mean and deviation of the grey levels; here all are counts, which is what the
    intersection kernel and codebooks take.

    References
    ----------
    .. [1] J. Wu: A fast dual method for HIK SVM learning, 2010, Section 4.2.
    .. [2] J. Wu, J. M. Rehg: CENTRIST: a visual descriptor for scene categorization, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([[32, 64, 96], [32, 64, 96], [32, 32, 96]], np.uint8)
    >>> Centrist().describe(image).nonzero()[0]  # 0b11010110
    array([214])
    >>> Centrist(layout="pedestrian").describe(np.zeros((108, 36), np.uint8)).shape
    (6144,)
    """

    layout: str = "whole"
    _: KW_ONLY
    patch_size: int = 16
    step: int = 8
    sobel: bool = False

    version = 1
    color_mode = "grey"

    @property
    def is_local(self) -> bool:
        return self.layout == "dense"

    def check_parameters(self) -> None:
        """Raise ``ValueError`` where a parameter can't be used."""
        check_choices(self, layout=("whole", "pyramid", "pedestrian", "dense"))
        if self.patch_size < 3 or self.step < 1:
            raise ValueError(
                f"patch_size={self.patch_size} must be at least 3, step={self.step} at least 1"
            )

    def describe(self, image: np.ndarray) -> np.ndarray:
        """The counts of all windows of the layout (of "whole", where it is "dense").

        Parameters
        ----------
        image : (h, w, 3) RGB or (h, w) grey, uint8

        Returns
        -------
        (256 × number of windows,) uint32
        """
        self.check_parameters()
        grey = as_grey(image)
        if self.layout == "pedestrian":
            return self._count(resize_image(grey, _WINDOW[1], _WINDOW[0]), _super_blocks())
        return self._count(grey, window_bounds(self._windows(), *grey.shape))

    def column_places(self, image: np.ndarray) -> ColumnPlaces | None:
        """The pixels that each column counts; None where images are resized first."""
        if self.layout == "pedestrian":
            return None
        height, width = image.shape[:2]
        inner = _inner(window_bounds(self._windows(), height, width)) + 1  # as pixels of the image
        codes = np.zeros((height, width), np.uint8)
        codes[1:-1, 1:-1] = self.census(image)
        return places_of_pixels(codes, inner, _CODES)

    def extract(self, image: np.ndarray) -> LocalFeatures:
        """The histogram of every patch of the grid: uint8 if counts fit, else uint16."""
        self.check_parameters()
        grey = as_grey(image)
        height, width = grey.shape
        bounds = patch_bounds(height, width, self.patch_size, self.step)
        largest = (self.patch_size - 2) ** 2
        counts = np.zeros((len(bounds), 256), np.min_scalar_type(largest))
        count_codes_of_patches(self.census(grey), _inner(bounds), counts)
        return LocalFeatures(
            counts,
            unit_centers(bounds, height, width),
            np.full(len(bounds), self.patch_size, np.float32),
        )

    def census(self, image: np.ndarray) -> np.ndarray:
        """The codes of the inner pixels, (h − 2, w − 2) uint8.

        Examples
        --------
        >>> import numpy as np
        >>> Centrist().census(np.zeros((3, 4), np.uint8))
        array([[255, 255]], dtype=uint8)
        """
        grey = as_grey(image)
        return census_transform(sobel_image(grey) if self.sobel else grey)

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Name the columns like ``census214``, with the window or super-block in front."""
        self.check_parameters()
        codes = _CODES
        if self.layout == "pyramid":
            codes = [f"window{k}_{code}" for k in range(31) for code in codes]
        elif self.layout == "pedestrian":
            blocks = np.ndindex(_BLOCKS[0] - 1, _BLOCKS[1] - 1)
            codes = [f"block{i}.{j}_{code}" for i, j in blocks for code in codes]
        return np.array(codes, dtype=object)

    def _windows(self) -> np.ndarray:
        return np.vstack(pyramid_windows(31)) if self.layout == "pyramid" else as_windows(None)

    def _count(self, grey: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        counts = np.zeros((len(bounds), 256), np.uint32)
        count_codes(self.census(grey), _inner(bounds), counts)
        return counts.ravel()


def _super_blocks() -> np.ndarray:
    """Pixels x0, y0, x1, y1 of the 8 × 3 super-blocks of 24 × 18 pixels, row after row."""
    height, width = _WINDOW[0] // _BLOCKS[0], _WINDOW[1] // _BLOCKS[1]
    corners = np.array(list(np.ndindex(_BLOCKS[0] - 1, _BLOCKS[1] - 1)))
    low = corners[:, ::-1] * (width, height)
    return np.hstack([low, low + np.array([2 * width, 2 * height])])


def _inner(bounds: np.ndarray) -> np.ndarray:
    """Turn boxes of pixels into boxes of codes of their inner pixels; perhaps without any."""
    low, high = bounds[:, :2], bounds[:, 2:] - 2
    return np.hstack([low, np.maximum(low, high)])
