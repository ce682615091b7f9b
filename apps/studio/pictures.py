"""Small pictures of images for browsers, from the cache wherever they have been drawn before."""

import numpy as np

from visualwords.apps.pipeline.contents import Content, Contents, OpenedImage
from visualwords.apps.pipeline.stage import Stage, run_stages
from visualwords.apps.pipeline.view import View
from visualwords.cache import FeatureCache
from visualwords.errors import DamagedImageError, Skipped
from visualwords.images import encode_image

SIDE = 240  # pixels of the longer side
QUALITY = 82


def draw(image: OpenedImage) -> np.ndarray:
    """Return the bytes of a JPEG for the grid."""
    return np.frombuffer(encode_image(image.pixels("rgb", View(SIDE)), "jpeg", QUALITY), np.uint8)


def _is_jpeg(array: np.ndarray) -> bool:
    return array.dtype == np.uint8 and array.ndim == 1 and array[:2].tobytes() == b"\xff\xd8"


STAGE = Stage("thumbnail", {"grid": [SIDE, QUALITY]}, draw, accepts=_is_jpeg)


def small_picture(data: bytes, cache: FeatureCache | None, max_pixels: int) -> bytes:
    """Return an image file as a small JPEG.

    Raises
    ------
    ImageError
        If it can't be read.
    """
    made = run_stages([STAGE], Content(data, "image", Contents(0)), cache, max_pixels)
    if isinstance(made, Skipped):
        raise DamagedImageError(made.reason)
    return made[0].tobytes()
