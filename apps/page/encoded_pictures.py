"""Images as files in memory, for browsers."""

import cv2
import numpy as np

from visualwords.images import read_image

PREVIEW_SIDE = 1280


def preview(data: bytes, max_pixels: int) -> bytes:
    """Return an image of any format as an upright JPEG of moderate size."""
    image = read_image(data, "rgb", max_pixels, max_side=PREVIEW_SIDE)
    return _encoded(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 85])


def as_png(image: np.ndarray) -> bytes:
    """Return an RGB image as a PNG file."""
    return _encoded(".png", image, [])


def _encoded(kind: str, image: np.ndarray, options: list[int]) -> bytes:
    return cv2.imencode(kind, np.ascontiguousarray(image[:, :, ::-1]), options)[1].tobytes()
