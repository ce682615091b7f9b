"""Pictures of orientation histograms: a small star in every cell."""

import cv2
import numpy as np

__all__ = ["draw_glyphs"]

_CELL = 24  # pixels that a cell should have in the picture, so that lines can be seen
_LONGEST = 2400  # unless the picture gets larger than this


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
    values : (n, k), not negative; lengths are their square roots, the largest 1 % as long as the
        cell is wide
    angles : (k,) in radians, clockwise from the right as the picture is seen
    cell_size : float, in pixels
    rays : bool
        From the centre outwards, or through the centre.

    Returns
    -------
    (m h, m w, 3) uint8, where m makes cells about 24 pixels wide

    Examples
    --------
    >>> import numpy as np
    >>> grey, center = np.zeros((8, 8), np.uint8), np.array([[4.0, 4.0]])
    >>> picture = draw_glyphs(grey, center, np.ones((1, 1)), np.zeros(1), 8)
    >>> picture.shape, picture[12].max().item() > 200, picture[6].max().item()
    ((24, 24, 3), True, 0)
    """
    height, width = grey.shape
    enlarge = max(1, min(round(_CELL / cell_size), _LONGEST // max(height, width)))
    size = (width * enlarge, height * enlarge)
    dark = cv2.resize(grey // 4, size, interpolation=cv2.INTER_NEAREST)
    picture = np.repeat(dark[:, :, None], 3, axis=2)
    if not values.any():
        return picture
    lengths = np.minimum(np.sqrt(values / np.quantile(values[values > 0], 0.99)), 1)
    reach = np.stack([np.cos(angles), np.sin(angles)], axis=1) * (cell_size / 2 * enlarge)
    for center, row in zip(centers * enlarge, lengths):
        for length, direction in zip(row, reach):
            if length < 0.2:
                continue
            end = np.rint(center + length * direction).astype(int)
            start = np.rint(center if rays else center - length * direction).astype(int)
            level = int(75 + 180 * length)
            cv2.line(picture, start.tolist(), end.tolist(), (level, level, level), 1, cv2.LINE_AA)
    return picture
