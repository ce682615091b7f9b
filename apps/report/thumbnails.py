"""Small pictures inside the page, bounded in number and in bytes."""

import base64

import numpy as np

from visualwords.errors import ImageError
from visualwords.images import encode_image, read_image

SIDE = 112  # pixels of the longer side
MOST = 700
MOST_BYTES = 4_000_000  # of JPEG; a third more in the page


class Thumbnails:
    """Makes the pictures of a page within a limit.

    Parameters
    ----------
    most, most_bytes : int
        Limits for all pictures together. Beyond them, `of_file` and `of_pixels` return None.
    """

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES):
        self.n_left = most
        self.bytes_left = most_bytes

    def of_file(self, path: str, side: int = SIDE) -> str | None:
        """Return the picture of a file as a data URL; None beyond the limit."""
        if not self.n_left:
            return None
        try:
            return self.of_pixels(read_image(path, max_side=side))
        except ImageError:  # deleted or changed since the test
            return None

    def of_pixels(self, image: np.ndarray, quality: int = 78) -> str | None:
        """Return an RGB image as a data URL, or None."""
        if not self.n_left:
            return None
        jpeg = encode_image(image, "jpeg", quality)
        if len(jpeg) > self.bytes_left:
            self.n_left = 0  # stop here, so that the choice of pictures does not look random
            return None
        self.n_left -= 1
        self.bytes_left -= len(jpeg)
        return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode()
