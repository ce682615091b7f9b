"""One image at many sizes, so that a window of one size finds things of all sizes."""

import math
import threading
from collections.abc import Iterator

import cv2
import numpy as np

__all__ = ["ScalePyramid", "pyramid_scales"]


def pyramid_scales(
    size_wh: tuple[int, int],
    window_wh: tuple[int, int],
    factor: float,
    largest: float = 1.0,
    padding: int = 0,
) -> list[float]:
    """Return the scales at which a window still fits into the image, largest first.

    Parameters
    ----------
    size_wh, window_wh : (int, int)
        Of the image and of the window.
    factor : float above 1
        From one scale to the next.
    largest : float
        The first scale; above 1 the image is enlarged.
    padding : int
        Pixels that are added on each side of the scaled image.

    Examples
    --------
    >>> pyramid_scales((128, 256), (64, 128), factor=1.5)
    [1.0, 0.6666666666666666]
    """
    if not factor > 1:
        raise ValueError(f"scale factor {factor}; it must be above 1")
    scales = []
    scale = largest
    while all(
        round(side * scale) + 2 * padding >= window for side, window in zip(size_wh, window_wh)
    ) and all(round(side * scale) >= 1 for side in size_wh):
        scales.append(scale)
        scale /= factor
    return scales


class ScalePyramid:
    """The image at given scales, made one after the other; only halves are kept.

    A reduced image is interpolated from the image halved (areas averaged) as often as it can be:
    that costs a fraction of averaging areas at every scale, and never skips a pixel. Several
    threads may ask for levels at the same time.

    Parameters
    ----------
    image : (h, w, 3) or (h, w) uint8

    Examples
    --------
    >>> pyramid = ScalePyramid(np.zeros((100, 60), np.uint8))
    >>> [level.shape for level in pyramid.levels([2.0, 1.0, 0.3])]
    [(200, 120), (100, 60), (30, 18)]
    """

    def __init__(self, image: np.ndarray):
        self.image = image
        self._halves = [image]
        self._lock = threading.Lock()

    def levels(self, scales: list[float]) -> Iterator[np.ndarray]:
        """Yield the image at each scale."""
        for scale in scales:
            yield self.level(scale)

    def level(self, scale: float) -> np.ndarray:
        """Return the image at one scale."""
        height, width = self.image.shape[:2]
        size_wh = round(width * scale), round(height * scale)
        if size_wh == (width, height):
            return self.image
        source = self._halved(max(0, math.floor(-math.log2(scale) + 1e-9)))
        return cv2.resize(source, size_wh, interpolation=cv2.INTER_LINEAR)

    def _halved(self, times: int) -> np.ndarray:
        with self._lock:
            while len(self._halves) <= times:
                last = self._halves[-1]
                size_wh = max(1, last.shape[1] // 2), max(1, last.shape[0] // 2)
                self._halves.append(cv2.resize(last, size_wh, interpolation=cv2.INTER_AREA))
            return self._halves[times]
