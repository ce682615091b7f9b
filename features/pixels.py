"""Arrays that are images, as extractors want them: RGB or grey, uint8, in C order."""

import os
from typing import Any

import cv2
import numpy as np

from visualwords.errors import ImageError

__all__ = ["as_grey", "as_rgb", "check_image", "is_one_image"]


def as_rgb(image: np.ndarray) -> np.ndarray:
    """Return an image as RGB in C order; grey is repeated in the three channels.

    Examples
    --------
    >>> import numpy as np
    >>> as_rgb(np.full((1, 1), 9, np.uint8)).tolist()
    [[[9, 9, 9]]]
    """
    image = check_image(image)
    if image.ndim == 2:
        image = np.repeat(image[:, :, None], 3, axis=2)
    return np.ascontiguousarray(image)


def as_grey(image: np.ndarray) -> np.ndarray:
    """Return an image as grey in C order: 0.299 red + 0.587 green + 0.114 blue (ITU-R BT.601).

    The conversion is OpenCV's, rounded to the nearest level.

    Examples
    --------
    >>> import numpy as np
    >>> as_grey(np.full((1, 1, 3), (255, 0, 0), np.uint8)).tolist()
    [[76]]
    """
    image = np.ascontiguousarray(check_image(image))
    return cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) if image.ndim == 3 else image


def is_one_image(images: Any) -> bool:
    """Tell a single path, file's content or array from many.

    Examples
    --------
    >>> import numpy as np
    >>> is_one_image(np.zeros((160, 160, 3), np.uint8)), is_one_image(["cat.jpg"])
    (True, False)
    """
    if isinstance(images, np.ndarray):
        color = images.ndim == 3 and images.shape[2] in (3, 4)
        return images.dtype.kind not in "USO" and (images.ndim == 2 or color)
    return isinstance(images, str | bytes | os.PathLike)


def check_image(image: np.ndarray) -> np.ndarray:
    """Return an array that is an image, or raise what is wrong with it."""
    if isinstance(image, str | bytes | os.PathLike):
        raise TypeError(
            "the image is a file; read it with visualwords.images.read_image, or give a list of "
            "files to transform"
        )
    image = np.asarray(image)
    if image.dtype != np.uint8:
        raise TypeError(
            f"the image's pixels are {image.dtype}; features take uint8, as "
            "visualwords.images.read_image returns. Scale yours to 0..255 and convert it"
        )
    if not (image.ndim == 2 or (image.ndim == 3 and image.shape[2] == 3)) or image.size == 0:
        raise ImageError(
            f"the image's shape is {image.shape}; expected (height, width) for grey or "
            "(height, width, 3) for RGB, at least 1x1"
        )
    return image
