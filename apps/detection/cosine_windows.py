"""Local cosines of fine channel features of windows: how colour and gradients change in places."""

import cv2
import numpy as np

from visualwords.apps.detection._acf_cells import fill_planes, sum_cells, transform_planes
from visualwords.apps.detection.acf_windows import (
    ANGLES,
    COLOURS,
    COSINES,
    SINES,
    STEPS,
    WIDEST,
    AcfWindows,
    smooth_colours,
)
from visualwords.apps.detection.window import ACF_CELL, ACF_CHANNELS, COSINE_CHANNELS
from visualwords.features.pixels import as_rgb

__all__ = ["CosineWindows"]

FINE = ACF_CELL // 2  # pixels of a side of a fine cell
WEAK = np.float32(4 * FINE**2)
# the even one sums 36 cells; a step of one unit across the middle gives 2 × 54 and 4 × 81
GAINS = np.array([1 / 36, 1 / 54, 1 / 54, 1 / 81], np.float32)


class CosineWindows(AcfWindows):
    """Channel features as trees of `AcfWindows` see them, but of cells of 2 × 2 pixels.

    Every 4 pixels, of 6 × 6 fine cells around: the mean of each channel, its slopes along x and y,
    and the slope of the slope. A tree that compares one of them with a threshold looks at a local
    pattern, where single cells, which are much alike, would need many comparisons [1]_.

    Notes
    -----
    Deviation from the paper: the first cosines in place of the eigenvectors of local covariances,
    which are much the same for smooth channels and need no training.

    References
    ----------
    .. [1] W. Nam, P. Dollár, J. H. Han: Local decorrelation for improved pedestrian detection,
       2014.
    """

    name = "cosines"
    n_channels = COSINE_CHANNELS

    def prepare(self, image: np.ndarray) -> np.ndarray:
        """Return the cosines of an image, (h // 4, w // 4, 40) uint8."""
        rows, columns = (side // ACF_CELL for side in image.shape[:2])
        cells = np.empty((rows, columns, COSINE_CHANNELS), np.uint8)
        if not cells.size:
            return cells
        pixels = as_rgb(image).reshape(image.shape[0], -1)
        means = np.empty((2 * rows, 2 * columns, COLOURS), np.uint8)
        sums = np.empty((1 + ANGLES, 2 * rows, 2 * columns), np.float32)
        sum_cells(pixels, tuple(range(FINE)), COSINES, SINES, WIDEST, means, sums)
        colours = smooth_colours(cv2.cvtColor(means, cv2.COLOR_RGB2Luv))
        planes = np.empty((ACF_CHANNELS, 2 * rows, 2 * columns), np.float32)
        fill_planes(colours, sums, WEAK, STEPS, planes)
        transform_planes(planes, GAINS, cells)
        return cells
