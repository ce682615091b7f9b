"""Census transform and its histogram by their definition."""

import numpy as np

NEIGHBOURS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]


def census_image(grey):
    """The codes of the inner pixels: one bit for each neighbour, the first highest."""
    height, width = grey.shape
    codes = np.zeros((max(height - 2, 0), max(width - 2, 0)), np.uint8)
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            for bit, (dy, dx) in zip(range(7, -1, -1), NEIGHBOURS):
                if grey[y, x] >= grey[y + dy, x + dx]:
                    codes[y - 1, x - 1] += 1 << bit
    return codes


def census_histogram(grey):
    """Count the codes of the inner pixels."""
    return np.bincount(census_image(grey).ravel(), minlength=256)
