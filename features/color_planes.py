"""Planes of one byte that a grey-level descriptor can be computed on: colours, opponents, edges."""

import numpy as np

from visualwords.features.extractor import as_grey, as_rgb
from visualwords.features.sobel import sobel_image

__all__ = ["COLORS", "color_planes"]

COLORS = ("grey", "rgb", "opponent", "c")


def color_planes(image: np.ndarray, color: str = "grey", sobel: bool = False) -> list[np.ndarray]:
    """Take an image apart.

    Parameters
    ----------
    image : (h, w, 3) RGB or (h, w) grey, uint8
    color : {"grey", "rgb", "opponent", "c"}
        - grey: one plane.
        - rgb: red, green, blue.
        - opponent: red − green, red + green − 2 blue, and the mean of the three.
        - c: the first two opponents divided by red + green + blue, and the mean: the shading of
          matt surfaces leaves them as they are.

        Differences are shifted and scaled so that they fill 0..255.
    sobel : bool
        Replace every plane by its Sobel magnitude.

    Returns
    -------
    list of (h, w) uint8

    Examples
    --------
    >>> import numpy as np
    >>> red = np.full((1, 1, 3), (255, 0, 0), np.uint8)
    >>> [int(plane[0, 0]) for plane in color_planes(red, "opponent")]
    [255, 191, 85]
    """
    if color not in COLORS:
        raise ValueError(f"color={color!r}; choose one of {', '.join(COLORS)}")
    if color == "grey":
        planes = [as_grey(image)]
    else:
        r, g, b = np.moveaxis(as_rgb(image).astype(np.float32), 2, 0)
        total = r + g + b
        if color == "rgb":
            values = [r, g, b]
        elif color == "opponent":
            values = [(r - g + 255) / 2, (r + g - 2 * b + 510) / 4, total / 3]
        else:
            bright = np.maximum(total, 1)
            first, second = (r - g) / bright, (r + g - 2 * b) / bright
            values = [(first + 1) * 127.5, (second + 2) * 85, total / 3]
        planes = [np.rint(value).astype(np.uint8) for value in values]
    return [sobel_image(plane) for plane in planes] if sobel else planes
