"""The statistics of an image's appearance, as NumPy writes them."""

import cv2
import numpy as np


def statistics(small: np.ndarray) -> np.ndarray:
    """The 23 statistics of an RGB image that is small already."""
    red, green, blue = np.moveaxis(small.astype(np.float64), 2, 0)
    grey = 0.299 * red + 0.587 * green + 0.114 * blue
    numbers = []
    for plane in (grey, red - green, blue - (red + green) / 2):
        numbers += [plane.mean(), np.log1p(plane.std())]
    numbers += [np.sqrt((grey < 8).mean()), np.sqrt((grey > 247).mean())]
    for _ in range(3):
        numbers += edges(np.pad(grey, [(0, max(0, 3 - side)) for side in grey.shape], mode="edge"))
        width, height = max(1, grey.shape[1] // 2), max(1, grey.shape[0] // 2)
        grey = cv2.resize(grey, (width, height), interpolation=cv2.INTER_AREA)
    return np.array(numbers)


def edges(grey: np.ndarray) -> list[float]:
    """The five statistics of one scale."""
    centre = grey[1:-1, 1:-1]
    left, right, above, below = grey[1:-1, :-2], grey[1:-1, 2:], grey[:-2, 1:-1], grey[2:, 1:-1]
    across, down = right - left, below - above
    size = np.hypot(across, down)
    return [
        np.log1p(size.mean()),
        (size < 4).mean(),
        np.log1p(np.abs(across).mean()) - np.log1p(np.abs(down).mean()),
        np.log1p(np.abs(4 * centre - left - right - above - below).mean()),
        np.log1p(size.std()) - np.log1p(size.mean()),
    ]
