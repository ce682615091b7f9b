"""Photographs with boxes as training data: crops of the objects, and parts without any."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import cv2
import numpy as np

from visualwords.apps.annotations.boxed_image import BoxedImage
from visualwords.apps.detection.detector import ENLARGEMENT, PedestrianDetector
from visualwords.apps.detection.windows import CELL
from visualwords.boxes import area, suppress
from visualwords.errors import FolderError
from visualwords.features.pixels import resize_image
from visualwords.images import read_image

__all__ = ["Region", "TrainingRegions", "empty_parts", "fitting_parameters", "training_regions"]

WINDOW_PIXELS = 64 * 128  # of a window that is made for a class: that of the pedestrians'
SHARE = 0.75  # of the window that the object has, at least in one direction
LOWEST_SIDE = 48  # of a window
MOST_PARTS = 4  # of one photograph
MOST_FREE = 200  # rectangles that are compared


@dataclass(frozen=True)
class Region:
    """A part of an image file that is read when it is needed.

    Attributes
    ----------
    path : str
    box_xyxy : tuple of float
        In pixels of the image; beyond its border, the border is repeated.
    size_wh : (int, int) or None
        Resized to it.
    """

    path: str
    box_xyxy: tuple[float, float, float, float]
    size_wh: tuple[int, int] | None = None

    def __call__(self) -> np.ndarray:
        """Read the image and return the part."""
        image = read_image(self.path)
        x0, y0, x1, y1 = (round(value) for value in self.box_xyxy)
        height, width = image.shape[:2]
        edges = max(0, -y0), max(0, y1 - height), max(0, -x0), max(0, x1 - width)
        if any(edges):
            image = cv2.copyMakeBorder(image, *edges, cv2.BORDER_REPLICATE)
        top, left = edges[0], edges[2]
        part = np.ascontiguousarray(image[y0 + top : y1 + top, x0 + left : x1 + left])
        return part if self.size_wh is None else resize_image(part, *self.size_wh)

    def __str__(self) -> str:
        return self.path


class TrainingRegions(NamedTuple):
    """What `PedestrianDetector.fit` takes.

    Attributes
    ----------
    crops, backgrounds : list of Region
    skipped : list of (path, reason)
        Objects that are too small to be learned from.
    """

    crops: list[Region]
    backgrounds: list[Region]
    skipped: list[tuple[str, str]]


def training_regions(
    photographs: Sequence[BoxedImage], detector: PedestrianDetector, label: str
) -> TrainingRegions:
    """Windows around the objects, and the largest parts of photographs without them.

    Parameters
    ----------
    photographs : sequence of BoxedImage
        With paths as names, and with sizes, as `find_photographs` gives them.
    detector : PedestrianDetector
        Its window and its objects' share of it are used.
    label : str
        Boxes of other labels are background. Ignored boxes are neither object nor background.
    """
    window_wh = np.array(detector.window, float)
    object_wh = window_wh * detector.object_share
    by = int(object_wh.argmax())  # the side that decides an object's scale
    least = object_wh[by] / ENLARGEMENT
    crops, backgrounds, skipped = [], [], []
    for image in photographs:
        boxes, ignored = image.boxes_of(label)
        for box in boxes:
            center, size = (box[:2] + box[2:]) / 2, box[2:] - box[:2]
            if size[by] < least:
                found = f"an object {size[by]:.0f} pixels {('wide', 'high')[by]}"
                skipped.append((image.name, f"{found}; at least {least:.0f} are needed"))
                continue
            half = (window_wh / 2 + CELL) * size[by] / object_wh[by]
            corners = np.concatenate([center - half, center + half])
            wide = detector.window[0] + 2 * CELL, detector.window[1] + 2 * CELL
            crops.append(Region(image.name, tuple(corners.tolist()), wide))
        parts = empty_parts(image.size_wh, np.vstack([boxes, ignored]), window_wh / ENLARGEMENT)
        backgrounds += [Region(image.name, tuple(part)) for part in parts.tolist()]
    return TrainingRegions(crops, backgrounds, skipped)


def empty_parts(
    size_wh: tuple[int, int] | None, boxes_xyxy: np.ndarray, least_wh: Sequence[float] | np.ndarray
) -> np.ndarray:
    """The largest rectangles of an image that meet no box, (n, 4) whole pixels.

    Empty rectangles are found by cutting those that meet a box, box by box; of two that share more
    than half of the smaller one, only the larger is kept. The largest comes first.

    Examples
    --------
    >>> empty_parts((100, 50), np.array([[40, 0, 60, 50]]), (20, 20)).tolist()
    [[0.0, 0.0, 40.0, 50.0], [60.0, 0.0, 100.0, 50.0]]
    """
    if size_wh is None:
        raise FolderError("the sizes of photographs are needed to find parts without objects")
    free = np.array([[0, 0, *size_wh]], float)
    for x0, y0, x1, y1 in np.hstack([np.floor(boxes_xyxy[:, :2]), np.ceil(boxes_xyxy[:, 2:])]):
        meets = (free[:, 0] < x1) & (free[:, 2] > x0) & (free[:, 1] < y1) & (free[:, 3] > y0)
        cut = np.repeat(free[meets], 4, axis=0).reshape(-1, 4, 4)
        for side, (column, value) in enumerate([(2, x0), (0, x1), (3, y0), (1, y1)]):
            cut[:, side, column] = value
        free = np.vstack([free[~meets], cut.reshape(-1, 4)])
        free = np.unique(free[(free[:, 2:] - free[:, :2] >= least_wh).all(axis=1)], axis=0)
        free = free[np.argsort(-area(free), kind="stable")[:MOST_FREE]]
    free = free[(free[:, 2:] - free[:, :2] >= least_wh).all(axis=1)]
    return free[suppress(free, area(free))[:MOST_PARTS]]


def fitting_parameters(photographs: Sequence[BoxedImage], label: str) -> dict[str, Any]:
    """A window for objects of these shapes, their share of it, and the smallest height.

    The window has as many pixels as that of pedestrians and the shape of the median object, which
    takes three quarters of it.

    Examples
    --------
    >>> square = BoxedImage("a.jpg", np.array([[0, 0, 90, 90]]), ("mug",))
    >>> fitting_parameters([square], "mug")
    {'window': (88, 88), 'object_share': (0.75, 0.75), 'min_height': 66.0}
    """
    boxes = np.vstack([np.empty((0, 4)), *(one.boxes_of(label)[0] for one in photographs)])
    if not len(boxes):
        raise FolderError(f"no box is labelled {label!r}")
    width, height = (boxes[:, 2:] - boxes[:, :2]).T
    shape = float(np.median(width / height))
    sides = np.sqrt(WINDOW_PIXELS * np.array([shape, 1 / shape]))
    window = np.maximum(np.rint(sides / CELL) * CELL, LOWEST_SIDE)
    object_height = SHARE * min(window[1], window[0] / shape)
    share = float(object_height * shape / window[0]), float(object_height / window[1])
    smallest = float(np.clip(np.quantile(height, 0.05), object_height / 2, object_height))
    window_wh, shares = (int(window[0]), int(window[1])), (round(share[0], 4), round(share[1], 4))
    return {"window": window_wh, "object_share": shares, "min_height": round(smallest, 1)}
