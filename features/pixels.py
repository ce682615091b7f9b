"""Arrays of pixels: checks, planes, sizes and edges of images."""

import cv2
import numpy as np

from visualwords.inputs import check_array

COLORS = ("grey", "rgb", "opponent", "c")


def as_rgb(image: np.ndarray) -> np.ndarray:
    """An image as RGB in C order; grey is repeated in the three channels.

    Examples
    --------
    >>> import numpy as np
    >>> as_rgb(np.full((1, 1), 9, np.uint8)).tolist()
    [[[9, 9, 9]]]
    """
    image = check_image(image)
    if image.ndim == 2:
        image = np.repeat(image[:, :, None], 3, axis=2)
    # Writable: loops would be compiled once more for arrays that are not.
    return np.require(image, requirements=["C", "W"])


def as_grey(image: np.ndarray) -> np.ndarray:
    """An image as grey in C order: 0.299 red + 0.587 green + 0.114 blue (ITU-R BT.601).

    The conversion is OpenCV's, rounded to the nearest level.

    Examples
    --------
    >>> import numpy as np
    >>> as_grey(np.full((1, 1, 3), (255, 0, 0), np.uint8)).tolist()
    [[76]]
    """
    image = np.require(check_image(image), requirements=["C", "W"])
    return cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) if image.ndim == 3 else image


def check_image(image: np.ndarray) -> np.ndarray:
    """Return an array that is an image, or raise what is wrong with it."""
    if not isinstance(image, np.ndarray):
        raise TypeError(
            f"the image is given as {type(image).__name__}, but an array is needed; "
            "visualwords.inputs.as_pixels makes one, and transform takes images as they are"
        )
    return check_array(image)


def resize_image(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """The image at another size: areas are averaged to shrink it, else pixels interpolated.

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


def sobel_image(grey: np.ndarray) -> np.ndarray:
    """Min(255, √(gx² + gy²) / 4), where gx and gy are the 3×3 Sobel derivatives.

    A quarter of the magnitude makes the strongest upright edge, 0 beside 255, the level 255.
    Pixels beyond the border repeat the border.

    Parameters
    ----------
    grey : (h, w) uint8

    Returns
    -------
    (h, w) uint8

    Examples
    --------
    >>> import numpy as np
    >>> sobel_image(np.array([[0, 0, 40, 40]] * 3, np.uint8))[1].tolist()
    [0, 40, 40, 0]
    """
    border = cv2.BORDER_REPLICATE
    gx = cv2.Sobel(grey, cv2.CV_32F, 1, 0, borderType=border)
    gy = cv2.Sobel(grey, cv2.CV_32F, 0, 1, borderType=border)
    return np.minimum(np.rint(np.sqrt(gx * gx + gy * gy) * np.float32(0.25)), 255).astype(np.uint8)


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
