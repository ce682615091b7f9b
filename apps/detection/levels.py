"""The scales at which an image is searched, and the boxes of their windows in the image."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import cv2
import numpy as np

from visualwords.apps.detection.window import CELL, MARGIN, WindowShape
from visualwords.boxes import ScalePyramid, pyramid_scales
from visualwords.features.pixels import as_grey

__all__ = ["Level", "Search", "clip_boxes"]

STRIP_PIXELS = 1 << 22  # a larger level is searched in strips: memory stays bounded


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
    grey : bool
        Whether the image is converted to grey first; for descriptors without colour.
    """

    shape: WindowShape
    object_wh: tuple[float, float]
    stride: int
    scale_factor: float
    min_height: float
    padding: int
    grey: bool = False

    def levels(self, image: np.ndarray) -> Iterator[Level]:
        """Yield the image at every scale, largest first; none if it is smaller than the window."""
        return (make() for make in self.level_makers(image))

    def level_makers(self, image: np.ndarray) -> list[Callable[[], Level]]:
        """Return functions that make the levels, in any order and in several threads."""
        height, width = image.shape[:2]
        if not min(height, width):
            return []
        largest = self.object_wh[1] * self.shape.height / self.min_height
        window_wh = self.shape.width, self.shape.height
        scales = pyramid_scales(
            (width, height), window_wh, self.scale_factor, largest, self.padding
        )
        pyramid = ScalePyramid(as_grey(image) if self.grey else image)
        return [partial(self._level, pyramid, scale) for scale in scales]

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
            Has some cells more on both sides than its windows, as gradients and smoothing look
            further.
        """
        height, width = level.image.shape[:2]
        own = max(STRIP_PIXELS // width - self.shape.height, 1)
        own = -(-own // max(self.stride, CELL)) * max(self.stride, CELL)
        margin = -(-MARGIN // self.stride) * self.stride
        for y in range(0, max(height - self.shape.height, 0) + 1, own):
            start = max(y - margin, 0)
            end = y + own - self.stride + self.shape.height + margin
            strip = level.image[start:end]
            if len(strip) - (y - start) >= self.shape.height:
                yield start, range(y - start, y - start + own), strip

    def boxes(self, level: Level, corners_yx: np.ndarray) -> np.ndarray:
        """Return the boxes, in pixels of the image, of the objects in windows of a level."""
        window_wh = np.array([self.shape.width, self.shape.height])
        centers = corners_yx[:, ::-1] + window_wh / 2 - level.padding
        half = window_wh * self.object_wh / 2
        scale = np.tile(level.scale_xy, 2)
        return np.hstack([centers - half, centers + half]) / scale


def clip_boxes(boxes_xyxy: np.ndarray, image: np.ndarray) -> np.ndarray:
    """Return the parts of boxes inside an image; windows at its border reach into the padding.

    Examples
    --------
    >>> clip_boxes(np.array([[-2.0, 3, 5, 12]]), np.zeros((10, 4), np.uint8)).tolist()
    [[0.0, 3.0, 4.0, 10.0]]
    """
    height, width = image.shape[:2]
    return np.clip(boxes_xyxy, 0, [width, height, width, height])
