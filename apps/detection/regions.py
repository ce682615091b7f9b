"""The parts of an image that some windows cover."""

from collections.abc import Iterator

import cv2
import numpy as np

from visualwords.apps.detection.window import CELL, WindowShape

__all__ = ["regions"]

Region = tuple[slice, slice]


def regions(
    corners_yx: np.ndarray, shape: WindowShape, stride: int, margin: int = CELL
) -> Iterator[tuple[Region, np.ndarray]]:
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
        of a cell; it may end beyond the image.
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
    rows, columns = places.T
    high, wide = -(-shape.height // stride), -(-shape.width // stride)
    mask = np.zeros((rows.max() + high, columns.max() + wide), np.uint8)
    mask[rows, columns] = 1
    mask = cv2.dilate(mask, np.ones((high, wide), np.uint8), anchor=(wide - 1, high - 1))
    n_labels, labels, boxes, _ = cv2.connectedComponentsWithStats(mask, connectivity=4)
    own, step = labels[rows, columns], max(stride, CELL)
    for label in range(1, n_labels):  # 0 is what no window covers
        left, top, width, height, _ = boxes[label].tolist()
        y, x = (max((first * stride - margin) // step * step, 0) for first in (top, left))
        bottom = (top + height - high) * stride + shape.height + margin
        right = (left + width - wide) * stride + shape.width + margin
        yield (slice(y, bottom), slice(x, right)), np.flatnonzero(own == label)
