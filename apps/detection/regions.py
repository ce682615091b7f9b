"""The parts of an image that some windows cover."""

from collections.abc import Iterator

import cv2
import numpy as np

from visualwords.apps.detection.window import CELL, WindowShape

__all__ = ["regions"]

Region = tuple[slice, slice]


def regions(
    corners_yx: np.ndarray, shape: WindowShape, stride: int
) -> Iterator[tuple[Region, np.ndarray]]:
    """Group windows that overlap.

    Parameters
    ----------
    corners_yx : (n, 2)
        At multiples of the stride.
    shape : WindowShape
    stride : int

    Yields
    ------
    region : (slice, slice)
        Pixels of a group's windows and one cell more on each side, as gradients look further. It
        begins at multiples of the stride and of a cell; it may end beyond the image.
    chosen : (m,) int64
        Numbers of the group's windows.

    Examples
    --------
    >>> corners = np.array([[0, 0], [400, 80], [16, 8]])
    >>> [chosen.tolist() for _, chosen in regions(corners, WindowShape(64, 128), 8)]
    [[0, 2], [1]]
    """
    if not len(corners_yx):
        return
    places = corners_yx // stride
    window_hw = np.array([shape.height, shape.width])
    kernel = np.ones(-(-window_hw // stride), np.uint8)
    mask = np.zeros(places.max(axis=0) + kernel.shape, np.uint8)
    mask[tuple(places.T)] = 1
    mask = cv2.dilate(mask, kernel, anchor=(kernel.shape[1] - 1, kernel.shape[0] - 1))
    _, labels = cv2.connectedComponents(mask, connectivity=4)
    own = labels[tuple(places.T)]
    step = max(stride, CELL)
    for label in np.unique(own):
        chosen = np.flatnonzero(own == label)
        first, last = corners_yx[chosen].min(axis=0), corners_yx[chosen].max(axis=0)
        y, x = np.maximum((first - CELL) // step * step, 0)
        bottom, right = last + window_hw + CELL
        yield (slice(int(y), int(bottom)), slice(int(x), int(right))), chosen
