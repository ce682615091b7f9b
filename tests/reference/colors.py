"""Colour histogram by its definition: one pixel at a time."""

import numpy as np


def color_histogram(image, bins, bounds=None):
    """Count the pixels of image[y0:y1, x0:x1] in the joint histogram of the three channels."""
    x0, y0, x1, y1 = bounds or (0, 0, image.shape[1], image.shape[0])
    counts = np.zeros(bins, dtype=np.int64)
    for y in range(y0, y1):
        for x in range(x0, x1):
            counts[tuple(int(v) * b // 256 for v, b in zip(image[y, x], bins))] += 1
    return counts.ravel()
