"""Aggregated channel features of windows: colour and gradients in cells, scored by trees."""

import cv2
import numpy as np

from visualwords.apps.detection._acf_cells import fill_cells, sum_cells
from visualwords.apps.detection._acf_windows import partial_sums, sum_trees
from visualwords.apps.detection.window import ACF_CELL, ACF_CHANNELS, MARGIN, WindowShape
from visualwords.classifiers.boosted_trees import BoostedTrees
from visualwords.features.pixels import as_rgb

__all__ = ["AcfWindows", "smooth_colours", "sums_of_parts"]

COLOURS, ANGLES = 3, ACF_CHANNELS - 4  # between them one channel of lengths
TURNS = np.arange(ANGLES // 2) * np.pi / ANGLES  # the others mirror them
COSINES, SINES = np.cos(TURNS).astype(np.float32), np.sin(TURNS).astype(np.float32)
WIDEST = np.float32(np.cos(np.pi / ANGLES))  # a gradient counts for angles nearer than the next
WEAK = np.float32(4 * ACF_CELL**2)  # sum of lengths added before dividing, as noise has it
N_PARTS = 64  # of the trees; after each, windows with a low sum are rejected
STEPS = np.array([200] + [200 / (1 - WIDEST)] * ANGLES, np.float32)  # levels of the local mean
NO_THRESHOLD = np.array([-np.inf], np.float32)


class AcfWindows:
    """Aggregated channel features of windows [1]_, in cells of 4 × 4 pixels.

    Ten channels: colour in CIE Luv, the length of the gradient of the colour channel where it is
    longest, and its parts along six directions. The image is smoothed before, the cells after.

    Parameters
    ----------
    shape : WindowShape
    stride : int
        Pixels from one window to the next, a multiple of 4.

    Notes
    -----
    Deviations from the paper: gradients are those of RGB; cells, not pixels, are divided by the
    local mean length and converted to Luv, at a sixteenth of the cost; a gradient is shared among
    directions by |cos δ| − cos 30°, which needs no arc tangent; channels are rounded to bytes.

    References
    ----------
    .. [1] P. Dollár, R. Appel, S. Belongie, P. Perona: Fast feature pyramids for object detection,
       2014.
    """

    name = "acf"
    n_channels = ACF_CHANNELS
    margin = MARGIN

    def __init__(self, shape: WindowShape, stride: int):
        self.shape = shape
        self.stride = stride
        self.n_columns = shape.acf_cells[0] * shape.acf_cells[1] * self.n_channels

    def prepare(self, image: np.ndarray) -> np.ndarray:
        """Return the cells of an image, (h // 4, w // 4, 10) uint8."""
        rows, columns = (side // ACF_CELL for side in image.shape[:2])
        cells = np.empty((rows, columns, ACF_CHANNELS), np.uint8)
        if not cells.size:
            return cells
        pixels = as_rgb(image).reshape(image.shape[0], -1)
        means = np.empty((rows, columns, COLOURS), np.uint8)
        sums = np.empty((1 + ANGLES, rows, columns), np.float32)
        sum_cells(pixels, tuple(range(ACF_CELL)), COSINES, SINES, WIDEST, means, sums)
        colours = smooth_colours(cv2.cvtColor(means, cv2.COLOR_RGB2Luv))
        fill_cells(colours, sums, WEAK, STEPS, cells)
        return cells

    def vectors(self, prepared: np.ndarray, corners_yx: np.ndarray) -> np.ndarray:
        """Return the cells of windows at multiples of 4 pixels, (n, n_columns) uint8."""
        rows, columns = self.shape.acf_cells
        vectors = np.empty((len(corners_yx), self.n_columns), np.uint8)
        for vector, (y, x) in zip(vectors, corners_yx // ACF_CELL):
            vector[:] = prepared[y : y + rows, x : x + columns].reshape(-1)
        return vectors

    def arrange(self, tables: BoostedTrees) -> BoostedTrees:
        """Return trees in the form that the methods below take."""
        return tables

    def scores_at(
        self, prepared: np.ndarray, corners_yx: np.ndarray, tables: BoostedTrees
    ) -> np.ndarray:
        """Return the sums of leaves of windows at multiples of 4 pixels."""
        line = prepared.shape[1] * self.n_channels
        starts = corners_yx // ACF_CELL @ np.array([line, self.n_channels])
        return self._sums(prepared, starts, tables, NO_THRESHOLD)

    def table_scores(
        self, prepared: np.ndarray, tables: BoostedTrees, least: np.ndarray = NO_THRESHOLD
    ) -> np.ndarray:
        """Return the sums of leaves of all windows, (rows, columns) float32.

        The trees have as many parts as ``least`` has thresholds. A window whose sum is below the
        threshold after one of them scores −∞.
        """
        height, width = (side * ACF_CELL for side in prepared.shape[:2])
        grid = self.shape.positions(height, width, self.stride)
        step = self.stride // ACF_CELL * self.n_channels
        rows = np.arange(grid[0])[:, None] * (step * prepared.shape[1])
        starts = (rows + np.arange(grid[1]) * step).reshape(-1)
        return self._sums(prepared, starts, tables, least).reshape(grid)

    def _sums(
        self, prepared: np.ndarray, starts: np.ndarray, trees: BoostedTrees, least: np.ndarray
    ) -> np.ndarray:
        """Sums of windows that begin at some bytes of the cells."""
        scores = np.empty(len(starts), np.float32)
        if scores.size:
            # bytes of a row of cells that are inside and outside the window
            inside = self.shape.acf_cells[1] * self.n_channels
            outside = prepared.shape[1] * self.n_channels - inside
            features = trees.features.astype(np.int64)
            offsets = features + features // inside * outside
            flat = prepared.reshape(-1)
            sum_trees(flat, starts, offsets, trees.values, trees.leaves, least, scores)
        return scores


def sums_of_parts(trees: BoostedTrees, vectors: np.ndarray) -> np.ndarray:
    """Return the sums of windows after each part of the trees, (n, `N_PARTS`) float32."""
    sums = np.empty((len(vectors), N_PARTS), np.float32)
    partial_sums(vectors, trees.features, trees.values, trees.leaves, sums)
    return sums


def smooth_colours(cells: np.ndarray) -> np.ndarray:
    """Return the colours of cells, smoothed by [1 2 1] / 4 along both axes."""
    return cv2.GaussianBlur(cells, (3, 3), 0, borderType=cv2.BORDER_REPLICATE)
