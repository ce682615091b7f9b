"""Windows: their size, the scales at which an image is searched, and the parts that they cover."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import cv2
import numpy as np

from visualwords.boxes import ScalePyramid, pyramid_scales

__all__ = ["Level", "Search", "WindowShape", "clip_boxes", "regions"]

CELL = 8  # pixels of a side of a HOG cell; windows begin at multiples of it
TREE_CELL = 4  # pixels of a side of a cell of aggregated channel features
BLOCK_ROWS, BLOCK_COLUMNS = 12, 9  # pixels of a census block  [Wu10, Sec. 4.2]
MARGIN_X, MARGIN_Y = 28, 20  # by which 64 × 128 exceed the census window of 36 × 108
MARGIN = 16  # pixels around a window that its features depend on, at most
STRIP_PIXELS = 1 << 22  # a larger level is searched in strips: memory stays bounded


@dataclass(frozen=True)
class WindowShape:
    """A window of pixels with HOG blocks all over it and census super-blocks in its middle.

    The window of 64 × 128 pixels has 7 × 15 HOG blocks [Dalal and Triggs 2005] and, in its middle,
    the 36 × 108 pixels of 3 × 8 census super-blocks [Wu10, Sec. 4.2]. Other windows have as many as
    fit, with the same margins.

    Parameters
    ----------
    width, height : int
        Multiples of 8, at least 48 × 48.

    Examples
    --------
    >>> shape = WindowShape(64, 128)
    >>> shape.blocks, shape.super_blocks, shape.census_corner
    ((15, 7), (8, 3), (14, 10))
    """

    width: int = 64
    height: int = 128

    def __post_init__(self) -> None:
        for side in (self.width, self.height):
            if not isinstance(side, int) or side % CELL or side < 48:
                needed = f"both sides must be multiples of {CELL} and at least 48"
                raise ValueError(f"a window of {self.width}x{self.height} pixels; {needed}")

    @property
    def blocks(self) -> tuple[int, int]:
        """Rows and columns of HOG blocks."""
        return self.height // CELL - 1, self.width // CELL - 1

    @property
    def super_blocks(self) -> tuple[int, int]:
        """Rows and columns of census super-blocks."""
        rows = (self.height - MARGIN_Y) // BLOCK_ROWS
        return rows - 1, (self.width - MARGIN_X) // BLOCK_COLUMNS - 1

    @property
    def census_corner(self) -> tuple[int, int]:
        """Where the census window begins: x, y."""
        rows, columns = self.super_blocks
        x = (self.width - (columns + 1) * BLOCK_COLUMNS) // 2
        return x, (self.height - (rows + 1) * BLOCK_ROWS) // 2

    @property
    def tree_cells(self) -> tuple[int, int]:
        """Rows and columns of cells of aggregated channel features."""
        return self.height // TREE_CELL, self.width // TREE_CELL

    def grid(self, image: np.ndarray, stride: int) -> tuple[int, int]:
        """The rows and columns of windows that fit into an image."""
        rows = (image.shape[0] - self.height) // stride + 1
        columns = (image.shape[1] - self.width) // stride + 1
        return max(rows, 0), max(columns, 0)


@dataclass(frozen=True)
class Level:
    """An image at one scale, with its border repeated around it.

    Attributes
    ----------
    image : (h, w, 3) or (h, w) uint8
    scale_xy : (float, float)
        Pixels of the level for one of the image.
    padding : int
        Pixels added on each side.
    """

    image: np.ndarray
    scale_xy: tuple[float, float]
    padding: int


@dataclass(frozen=True)
class Search:
    """The windows of an image that are scored.

    Attributes
    ----------
    shape : WindowShape
    object_wh : (float, float)
        Shares of the window's width and height that the object in its middle takes.
    stride : int
    scale_factor : float
    min_height : float
        Height in pixels of the smallest objects to look for.
    padding : int
        Pixels around each level, so that windows of objects at the border fit.
    """

    shape: WindowShape
    object_wh: tuple[float, float]
    stride: int
    scale_factor: float
    min_height: float
    padding: int

    def levels(self, image: np.ndarray) -> list[Callable[[], Level]]:
        """Functions that make the image at every scale, largest first.

        There are none if it is smaller than the window. They may run in any order and thread.
        """
        height, width = image.shape[:2]
        if not min(height, width):
            return []
        largest = self.object_wh[1] * self.shape.height / self.min_height
        window_wh = self.shape.width, self.shape.height
        sizes = (width, height), window_wh, self.scale_factor, largest, self.padding
        pyramid = ScalePyramid(image)
        return [partial(self._level, pyramid, scale) for scale in pyramid_scales(*sizes)]

    def _level(self, pyramid: ScalePyramid, scale: float) -> Level:
        level, edge = pyramid.level(scale), self.padding
        height, width = pyramid.image.shape[:2]
        scale_xy = level.shape[1] / width, level.shape[0] / height
        if edge:
            level = cv2.copyMakeBorder(level, edge, edge, edge, edge, cv2.BORDER_REPLICATE)
        return Level(level, scale_xy, edge)

    def strips(self, level: Level) -> Iterator[tuple[int, range, np.ndarray]]:
        """Cut a large level into strips that hold all its windows.

        Yields
        ------
        start : int
            Where the strip begins, in rows of the level.
        rows : range
            Rows of the strip where its own windows begin; others belong to its neighbours.
        strip : ndarray
            Has a margin on both sides of its windows, as gradients and smoothing look further.
        """
        height, width = level.image.shape[:2]
        own = max(STRIP_PIXELS // width - self.shape.height, 1)
        own = -(-own // self.stride) * self.stride
        margin = -(-MARGIN // self.stride) * self.stride
        for y in range(0, height - self.shape.height + 1, own):
            start = max(y - margin, 0)
            end = y + own - self.stride + self.shape.height + margin
            yield start, range(y - start, y - start + own), level.image[start:end]

    def boxes(self, level: Level, corners_yx: np.ndarray) -> np.ndarray:
        """The boxes, in pixels of the image, of the objects in windows of a level."""
        window_wh = np.array([self.shape.width, self.shape.height])
        centers = corners_yx[:, ::-1] + window_wh / 2 - level.padding
        half = window_wh * self.object_wh / 2
        return np.hstack([centers - half, centers + half]) / np.tile(level.scale_xy, 2)


def clip_boxes(boxes_xyxy: np.ndarray, image: np.ndarray) -> np.ndarray:
    """The parts of boxes inside an image; windows at its border reach into the padding.

    Examples
    --------
    >>> clip_boxes(np.array([[-2.0, 3, 5, 12]]), np.zeros((10, 4), np.uint8)).tolist()
    [[0.0, 3.0, 4.0, 10.0]]
    """
    height, width = image.shape[:2]
    return np.clip(boxes_xyxy, 0, [width, height, width, height])


def regions(
    corners_yx: np.ndarray, shape: WindowShape, stride: int, margin: int
) -> Iterator[tuple[tuple[slice, slice], np.ndarray]]:
    """Group windows that overlap.

    Parameters
    ----------
    corners_yx : (n, 2)
        At multiples of the stride.
    shape : WindowShape
    stride : int
    margin : int
        Pixels around the windows that a region has, too, as gradients look further.

    Yields
    ------
    region : (slice, slice)
        Pixels of a group's windows and of their margins. It begins at multiples of the stride and
        may end beyond the image.
    chosen : (m,) int64
        Numbers of the group's windows.

    Examples
    --------
    >>> corners = np.array([[0, 0], [400, 80], [16, 8]])
    >>> [chosen.tolist() for _, chosen in regions(corners, WindowShape(64, 128), 8, 8)]
    [[0, 2], [1]]
    """
    if not len(corners_yx):
        return
    rows, columns = (corners_yx // stride).T
    high, wide = -(-shape.height // stride), -(-shape.width // stride)
    mask = np.zeros((rows.max() + high, columns.max() + wide), np.uint8)
    mask[rows, columns] = 1
    mask = cv2.dilate(mask, np.ones((high, wide), np.uint8), anchor=(wide - 1, high - 1))
    n_labels, labels, boxes, _ = cv2.connectedComponentsWithStats(mask, connectivity=4)
    own = labels[rows, columns]
    for label in range(1, n_labels):  # 0 is what no window covers
        left, top, width, height, _ = boxes[label].tolist()
        y, x = (max((first * stride - margin) // stride * stride, 0) for first in (top, left))
        bottom = (top + height - high) * stride + shape.height + margin
        right = (left + width - wide) * stride + shape.width + margin
        yield (slice(y, bottom), slice(x, right)), np.flatnonzero(own == label)
