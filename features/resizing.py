"""Bring an image to the size that an extractor works at."""

import cv2
import numpy as np

__all__ = ["resize_image"]


def resize_image(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return the image at another size: areas are averaged to shrink it, else pixels interpolated.

    Examples
    --------
    >>> import numpy as np
    >>> resize_image(np.array([[0, 100], [100, 200]], np.uint8), 1, 1).tolist()
    [[100]]
    """
    if image.shape[:2] == (height, width):
        return image
    shrinks = image.shape[0] > height and image.shape[1] > width
    method = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return cv2.resize(image, (width, height), interpolation=method)
