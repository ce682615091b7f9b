"""Pictures of orientation histograms: a small star in every cell."""

import cv2
import numpy as np

__all__ = ["draw_glyphs"]

_SCALE = 3  # the picture is that much larger than the image, so that lines can be seen


def draw_glyphs(
    grey: np.ndarray,
    centers: np.ndarray,
    values: np.ndarray,
    angles: np.ndarray,
    cell_size: float,
    rays: bool = False,
) -> np.ndarray:
    """Draw the histogram of every cell as lines over the darkened image.

    Parameters
    ----------
    grey : (h, w) uint8
    centers : (n, 2) x, y of the cells in pixels
    values : (n, k), not negative; the largest is drawn as long as the cell is wide
    angles : (k,) in radians, clockwise from the right as the picture is seen
    cell_size : float, in pixels
    rays : bool
        From the centre outwards, or through the centre.

    Returns
    -------
    (3 h, 3 w, 3) uint8

    Examples
    --------
    >>> import numpy as np
    >>> grey, center = np.zeros((8, 8), np.uint8), np.array([[4.0, 4.0]])
    >>> picture = draw_glyphs(grey, center, np.ones((1, 1)), np.zeros(1), 8)
    >>> picture.shape, picture[12].max().item(), picture[6].max().item()
    ((24, 24, 3), 255, 0)
    """
    height, width = grey.shape
    size = (width * _SCALE, height * _SCALE)
    dark = cv2.resize(grey // 3, size, interpolation=cv2.INTER_NEAREST)
    picture = np.repeat(dark[:, :, None], 3, axis=2)
    largest = values.max(initial=0)
    if largest <= 0:
        return picture
    lengths = values / largest
    reach = np.stack([np.cos(angles), np.sin(angles)], axis=1) * (cell_size / 2 * _SCALE)
    for center, row in zip(centers * _SCALE, lengths):
        for length, direction in zip(row, reach):
            if length < 0.05:
                continue
            end = np.rint(center + length * direction).astype(int)
            start = np.rint(center if rays else center - length * direction).astype(int)
            level = int(95 + 160 * length)
            cv2.line(picture, start.tolist(), end.tolist(), (level, level, level))
    return picture
