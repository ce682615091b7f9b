"""How an image looks as a whole, whatever is in it: brightness, colours, and edges at three scales.

The features of a recipe distinguish classes, and may not detect noise or a page of
text. These statistics do.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np

from visualwords.apps.pipeline._appearance import measure_colors, measure_edges
from visualwords.apps.pipeline.contents import OpenedImage
from visualwords.apps.pipeline.stages import Step
from visualwords.apps.pipeline.view import View
from visualwords.images import shrink

__all__ = [
    "Appearance",
    "appearance_step",
    "are_grey",
    "measure",
    "measure_image",
]

SIDE = 128  # pixels of the longer side; portraits for near duplicates are drawn from the same
SCALES = 3  # each half as large as the one before
N_STATISTICS = 8 + 5 * SCALES
COLORS = slice(2, 6)  # means and spreads of opponent colours
NO_COLOR = 0.5  # levels
DARK, BRIGHT, FLAT = 8, 247, 4  # grey levels; a gradient below FLAT is no edge
LEAST_VARIANCE = 0.02  # of a direction in standard units, however little it varies in training
EXAMPLES = 1024  # images at most, evenly taken, to which distances are measured
LEAST_SPREAD = np.array(  # of each statistic: what never varies in training may vary a little
    [5, 0.1, 3, 0.1, 3, 0.1, 0.05, 0.05] + SCALES * [0.1, 0.03, 0.1, 0.1, 0.1]
)


def measure(image: np.ndarray) -> np.ndarray:
    """The statistics of an RGB image, (N_STATISTICS,) float32.

    Mean and spread of grey and of two opponent colours, the shares of very dark and very bright
    pixels, and for each scale the mean gradient, the share of flat places, the balance of
    horizontal and vertical edges, the mean Laplacian, and how uneven gradients are.

    Examples
    --------
    >>> black = measure(np.zeros((40, 60, 3), np.uint8))
    >>> float(black[0]), float(black[6])
    (0.0, 1.0)
    """
    small = np.ascontiguousarray(shrink(image, SIDE))
    grey: np.ndarray = np.empty(small.shape[:2], np.float32)
    sums = np.empty(8)
    measure_colors(small, np.float32(DARK), np.float32(BRIGHT), grey, sums)
    sums /= grey.size
    numbers = []
    for mean, square in (sums[0:2], sums[2:4], sums[4:6]):
        numbers += [mean, math.log1p(_spread(mean, square))]
    numbers += [math.sqrt(sums[6]), math.sqrt(sums[7])]
    for _ in range(SCALES):
        numbers += _edges(grey)
        width, height = max(1, grey.shape[1] // 2), max(1, grey.shape[0] // 2)
        grey = cv2.resize(grey, (width, height), interpolation=cv2.INTER_AREA)
    return np.array(numbers, np.float32)


def _edges(grey: np.ndarray) -> list[float]:
    """The statistics of the gradients at one scale."""
    height, width = grey.shape
    if height < 3 or width < 3:
        grey = np.pad(grey, [(0, max(0, 3 - height)), (0, max(0, 3 - width))], mode="edge")
    sums = np.empty(6)
    measure_edges(grey, np.float32(FLAT), sums)
    sums /= (grey.shape[0] - 2) * (grey.shape[1] - 2)
    size, square, across, down, curved, flat = sums.tolist()
    return [
        math.log1p(size),
        flat,
        math.log1p(across) - math.log1p(down),
        math.log1p(curved),
        math.log1p(_spread(size, square)) - math.log1p(size),
    ]


def _spread(mean: float, square: float) -> float:
    """The standard deviation, given the means of numbers and of their squares."""
    return math.sqrt(max(0.0, square - mean * mean))


def appearance_step() -> Step:
    """The step that measures each image."""
    return Step("appearance", {"side": SIDE}, measure_image)


def measure_image(image: OpenedImage) -> np.ndarray:
    """The statistics of an opened image."""
    return measure(image.pixels("rgb", View(SIDE)))


def are_grey(statistics: np.ndarray) -> bool:
    """Whether no image has colours, by the statistics of all; NaN is an unreadable one.

    Examples
    --------
    >>> grey = np.full((40, 60, 3), 90, np.uint8)
    >>> red = np.full((40, 60, 3), (200, 0, 0), np.uint8)
    >>> are_grey(np.array([measure(grey)])), are_grey(np.array([measure(grey), measure(red)]))
    (True, False)
    """
    colors = np.abs(statistics[:, COLORS])
    return not (colors > NO_COLOR).any()


@dataclass(frozen=True)
class Appearance:
    """How training images look, and how much images of one class vary.

    Attributes
    ----------
    examples : (n, N_STATISTICS) float16
        Statistics of training images, or of the means of classes where nothing of a training
        image is to be kept.
    root : (N_STATISTICS, N_STATISTICS) float64
        Lower triangle L, where L·Lᵀ is the inverse of the covariance within classes.
    """

    examples: np.ndarray
    root: np.ndarray

    @classmethod
    def fit(
        cls, statistics: np.ndarray, codes: np.ndarray, keep_images: bool = True
    ) -> "Appearance":
        """Learn from training images; the covariance is shrunk (Ledoit and Wolf [1]_).

        Parameters
        ----------
        statistics : (n, N_STATISTICS)
        codes : (n,) int
            Index of every image's class; every class occurs.
        keep_images : bool
            Whether distances are those to images, or to the means of classes.

        References
        ----------
        .. [1] O. Ledoit, M. Wolf: A well-conditioned estimator for large-dimensional covariance
           matrices, J. Multivariate Analysis 88, 2004.
        """
        from sklearn.covariance import ledoit_wolf

        values = statistics.astype(np.float64)
        n_classes = int(codes.max()) + 1
        sums = np.zeros((n_classes, values.shape[1]))
        np.add.at(sums, codes, values)
        means = sums / np.bincount(codes, minlength=n_classes)[:, None]
        residuals = values - means[codes]
        scale = np.maximum(residuals.std(axis=0), LEAST_SPREAD)
        # One image does not vary, which ledoit_wolf would warn about.
        within = (
            ledoit_wolf(residuals / scale)[0] if len(values) > 1 else np.zeros((len(scale),) * 2)
        )
        variances, directions = np.linalg.eigh(within)
        precision = (directions / np.maximum(variances, LEAST_VARIANCE)) @ directions.T
        step = -(-len(values) // EXAMPLES)
        examples = (values[::step] if keep_images else means).astype(np.float16)
        return cls(examples, np.linalg.cholesky(precision) / scale[:, None])

    @classmethod
    def of_arrays(cls, examples: np.ndarray, root: np.ndarray) -> "Appearance":
        """The appearance of a model file, if its parts fit together."""
        if examples.ndim != 2 or examples.shape[1:] != root.shape[1:] or not len(examples):
            raise ValueError("the appearance of images does not fit together")
        if root.shape != (N_STATISTICS, N_STATISTICS):
            raise ValueError("the appearance of images has other statistics")
        if not (np.isfinite(examples).all() and np.isfinite(root).all()):
            raise ValueError("the appearance of images is not finite")
        return cls(examples, root)

    def distances(self, statistics: np.ndarray) -> np.ndarray:
        """The distance to the nearest example, in spreads within classes, (n,)."""
        found = statistics.astype(np.float64) @ self.root
        squares = (found**2).sum(axis=1)[:, None] + self._lengths - 2 * found @ self._whitened.T
        return np.sqrt(np.maximum(squares.min(axis=1), 0))

    @cached_property
    def _whitened(self) -> np.ndarray:
        return self.examples.astype(np.float64) @ self.root

    @cached_property
    def _lengths(self) -> np.ndarray:
        return (self._whitened**2).sum(axis=1)
