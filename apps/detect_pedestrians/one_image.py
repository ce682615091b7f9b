"""What is done with each image; images don't depend on each other, so any worker may take one."""

from dataclasses import dataclass

import numpy as np

from visualwords.apps.detection.detector import PedestrianDetector
from visualwords.apps.detection.pictures import draw_detections
from visualwords.errors import ImageError
from visualwords.images import read_image

__all__ = ["Found", "search_file", "search_image"]


@dataclass(frozen=True)
class Found:
    """Detections in one image.

    Attributes
    ----------
    boxes : (n, 4) float64
    confidences : (n,) float64
    picture : (h, w, 3) uint8 or None
        The image with the boxes drawn, if asked for.
    """

    boxes: np.ndarray
    confidences: np.ndarray
    picture: np.ndarray | None


def search_file(detector: PedestrianDetector, path: str, draw: bool) -> Found | str:
    """Search an image file; return why it can't be read where that is so."""
    try:
        image = read_image(path)
    except ImageError as problem:
        return str(problem)
    return search_image(detector, image, draw)


def search_image(detector: PedestrianDetector, image: np.ndarray, draw: bool) -> Found:
    """Search an image and draw what was found."""
    boxes, confidences = detector.detect(image)
    picture = draw_detections(image, boxes, confidences) if draw else None
    return Found(boxes, confidences, picture)
