"""The features of windows: what windows of an image share, and one vector for each window."""

from abc import ABC, abstractmethod

import cv2
import numpy as np

from visualwords.apps.detection import _window_loops as loops
from visualwords.apps.detection._window_loops import SIDE
from visualwords.apps.detection.windows import CELL, MARGIN, WindowShape
from visualwords.classifiers.boosted_trees import BoostedTrees
from visualwords.features._centrist import census_transform
from visualwords.features.hog_blocks import interpolated_blocks, split_planes
from visualwords.features.pixels import as_grey, as_rgb

__all__ = ["CensusFeature", "HogFeature", "TreeFeature", "WindowFeature", "window_features"]

CHANNELS, ANGLES = 10, 6  # numbers of a cell of channel features, the last of them of directions
TURNS = np.arange(ANGLES // 2) * np.pi / ANGLES  # the others mirror them
COSINES, SINES = np.cos(TURNS).astype(np.float32), np.sin(TURNS).astype(np.float32)
WIDEST = np.float32(np.cos(np.pi / ANGLES))  # a gradient counts for angles nearer than the next
WEAK = np.float32(4 * SIDE**2)  # sum of lengths added before dividing, as noise has it
STEPS = np.array([200] + [200 / (1 - WIDEST)] * ANGLES, np.float32)  # levels of the local mean
N_LEVELS, HOG_STEPS = 64, 128  # levels of HOG, and of a unit: values are rarely above 1/2
BLOCK, HOG_ANGLES = 2, 9  # cells of a block's side, and numbers of a cell
CODES = 256


class WindowFeature(ABC):
    """A descriptor of windows.

    ``prepare(image)`` does what windows share; ``vectors`` takes its result. Corners are (y, x) in
    pixels, multiples of a cell of HOG; ``margin`` pixels around a window affect its descriptor.
    """

    name: str
    n_columns: int
    margin = CELL

    def __init__(self, shape: WindowShape):
        self.shape = shape

    @abstractmethod
    def prepare(self, image: np.ndarray) -> np.ndarray:
        """Do the work that all windows of an image share."""

    @abstractmethod
    def vectors(self, prepared: np.ndarray, corners_yx: np.ndarray) -> np.ndarray:
        """The levels of some windows, (n, n_columns) unsigned."""


def window_features(shape: WindowShape) -> list[WindowFeature]:
    """The features of windows, in the order of the cascade.

    Examples
    --------
    >>> [feature.n_columns for feature in window_features(WindowShape(64, 128))]
    [5120, 6144, 3780]
    """
    return [TreeFeature(shape), CensusFeature(shape), HogFeature(shape)]


class TreeFeature(WindowFeature):
    """Aggregated channel features [1]_, in cells of 4 × 4 pixels, which trees compare.

    Ten channels: colour in CIE Luv, the length of the gradient of the colour channel where it is
    longest, and its parts along six directions. The image is smoothed before, the cells after.

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
    margin = MARGIN

    def __init__(self, shape: WindowShape):
        super().__init__(shape)
        self.n_columns = shape.tree_cells[0] * shape.tree_cells[1] * CHANNELS

    def prepare(self, image: np.ndarray) -> np.ndarray:
        """The cells of an image, (h // 4, w // 4, 10) uint8."""
        rows, columns = (side // SIDE for side in image.shape[:2])
        cells = np.empty((rows, columns, CHANNELS), np.uint8)
        if not cells.size:
            return cells
        pixels = as_rgb(image).reshape(image.shape[0], -1)
        means = np.empty((rows, columns, 3), np.uint8)
        sums = np.empty((1 + ANGLES, rows, columns), np.float32)
        loops.sum_cells(pixels, COSINES, SINES, WIDEST, means, sums)
        luv = cv2.cvtColor(means, cv2.COLOR_RGB2Luv)
        colours = cv2.GaussianBlur(luv, (3, 3), 0, borderType=cv2.BORDER_REPLICATE)  # [1 2 1] / 4
        loops.fill_cells(colours, sums, WEAK, STEPS, cells)
        return cells

    def vectors(self, prepared: np.ndarray, corners_yx: np.ndarray) -> np.ndarray:
        """The cells of windows, (n, n_columns) uint8."""
        return _cut(prepared, corners_yx // SIDE, self.shape.tree_cells)

    def grid_scores(
        self, image: np.ndarray, stride: int, trees: BoostedTrees, least: np.ndarray
    ) -> np.ndarray:
        """The sums of leaves of all windows, (rows, columns) float32.

        The trees have as many parts as ``least`` has thresholds. A window whose sum is below the
        threshold after one of them scores −∞.
        """
        grid = self.shape.grid(image, stride)
        scores = np.empty(grid, np.float32)
        if scores.size:
            prepared = self.prepare(image)
            line = prepared.shape[1] * CHANNELS  # bytes of a row of cells
            rows, columns = np.indices(grid) * (stride // SIDE)
            inside = self.shape.tree_cells[1] * CHANNELS
            columns_of = trees.features.astype(np.int64)
            offsets = columns_of + columns_of // inside * (line - inside)
            starts = (rows * line + columns * CHANNELS).reshape(-1)
            parts = starts, offsets, trees.values, trees.leaves, least, scores.reshape(-1)
            loops.sum_trees(prepared.reshape(-1), *parts)
        return scores


class CensusFeature(WindowFeature):
    """CENTRIST: counts of census codes in the super-blocks in the window's middle [Wu10]."""

    name = "census"

    def __init__(self, shape: WindowShape):
        super().__init__(shape)
        self.n_columns = shape.super_blocks[0] * shape.super_blocks[1] * CODES

    def prepare(self, image: np.ndarray) -> np.ndarray:
        """The census codes of an image, (h − 2, w − 2) uint8."""
        return census_transform(as_grey(image))

    def vectors(self, prepared: np.ndarray, corners_yx: np.ndarray) -> np.ndarray:
        """The counts of windows, (n, n_columns) uint16."""
        down, across = self.shape.super_blocks
        x, y = self.shape.census_corner
        vectors = np.empty((len(corners_yx), down * across, CODES), np.uint16)
        rows, columns = corners_yx[:, 0] + y, corners_yx[:, 1] + x
        loops.count_codes(prepared, rows, columns, down, across, vectors)
        return vectors.reshape(len(corners_yx), self.n_columns)


class HogFeature(WindowFeature):
    """Histograms of oriented gradients, as levels 0…63 of 1/128.

    Gradients are OpenCV's, of the colour channel where they are strongest, interpolated between
    angles and cells, in blocks of 2 × 2 cells of 8 × 8 pixels.
    """

    name = "hog"

    def __init__(self, shape: WindowShape):
        super().__init__(shape)
        self.n_columns = shape.blocks[0] * shape.blocks[1] * BLOCK**2 * HOG_ANGLES

    def prepare(self, image: np.ndarray) -> np.ndarray:
        """The levels of all blocks, (ny, nx, 36) uint8."""
        planes = image[None] if image.ndim == 2 else split_planes(image)
        blocks = interpolated_blocks(planes, CELL, BLOCK, HOG_ANGLES)
        levels = blocks * np.float32(HOG_STEPS) + np.float32(0.5)
        return np.minimum(levels, np.float32(N_LEVELS - 1)).astype(np.uint8)

    def vectors(self, prepared: np.ndarray, corners_yx: np.ndarray) -> np.ndarray:
        """The levels of windows, (n, n_columns) uint8."""
        return _cut(prepared, corners_yx // CELL, self.shape.blocks)


def _cut(cells: np.ndarray, corners_yx: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Cells of windows that begin at some of them, row by row, (n, all cells)."""
    rows, columns = size
    vectors = np.empty((len(corners_yx), rows * columns * cells.shape[2]), cells.dtype)
    for vector, (y, x) in zip(vectors, corners_yx.tolist()):
        vector[:] = cells[y : y + rows, x : x + columns].reshape(-1)
    return vectors
