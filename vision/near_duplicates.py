"""Nearly the same picture twice: scaled, recompressed or slightly retouched copies.

Every image gets a tiny portrait, its grey values at 16×16 pixels with mean 0 and length 1. Two
images are near duplicates if their portraits correlate by `MIN_CORRELATION` or more and their
mean colours differ little. Portraits of almost uniform images say nothing and are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from visualwords.images import shrink

SIDE = 16  # pixels of a portrait
MIN_CORRELATION = 0.985
MAX_COLOR_DISTANCE = 12.0  # of the mean colours, in levels of 256
MIN_CONTRAST = 4.0  # standard deviation of a portrait, in levels of 256
BLOCK = 1024  # portraits compared at once


@dataclass(frozen=True)
class Portrait:
    """What is kept of an image to compare it with many.

    Attributes
    ----------
    pattern : (SIDE²,) float32 of length 1; zeros if the image is almost uniform
    color : (3,) float32, mean of the channels
    size_wh : width and height of the image it was made of
    """

    pattern: np.ndarray
    color: np.ndarray
    size_wh: tuple[int, int]

    def to_array(self) -> np.ndarray:
        """Return all of it as one array, (SIDE² + 5,) float32."""
        return np.concatenate([self.pattern, self.color, np.array(self.size_wh, np.float32)])

    @classmethod
    def from_array(cls, numbers: np.ndarray) -> "Portrait":
        """Return the portrait that `to_array` was given."""
        pattern, color, size_wh = np.split(numbers, [SIDE**2, SIDE**2 + 3])
        return cls(pattern, color, (int(size_wh[0]), int(size_wh[1])))

    @staticmethod
    def is_array_of_one(numbers: np.ndarray) -> bool:
        """Return whether an array, perhaps of a shared cache, can be that of a portrait."""
        if numbers.shape != (SIDE**2 + 5,) or numbers.dtype != np.float32:
            return False
        pattern, color, size_wh = np.split(numbers, [SIDE**2, SIDE**2 + 3])
        return bool(
            np.abs(pattern).max() <= 1 + 1e-3
            and color.min() >= 0
            and color.max() <= 255 + 1e-3
            and size_wh.min() >= 1
            and size_wh.max() < 1e9
        )


def portrait(image: np.ndarray) -> Portrait:
    """Return the portrait of an RGB image.

    Examples
    --------
    >>> from skimage.data import astronaut
    >>> picture = astronaut()
    >>> small = cv2.resize(picture, (200, 200), interpolation=cv2.INTER_AREA)
    >>> find_near_duplicates([portrait(picture), portrait(picture[::-1]), portrait(small)])
    [[0, 2]]
    """
    height, width = image.shape[:2]
    # First with averaging: shrinking in one go would skip pixels of large images.
    small = shrink(image, 8 * SIDE)
    grey = cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)
    pattern = cv2.resize(grey, (SIDE, SIDE), interpolation=cv2.INTER_AREA).astype(np.float32)
    pattern = pattern.ravel() - pattern.mean()
    length = float(np.linalg.norm(pattern))
    pattern = pattern / length if length >= MIN_CONTRAST * SIDE else np.zeros_like(pattern)
    color = small.reshape(-1, 3).mean(axis=0).astype(np.float32)
    return Portrait(pattern, color, (width, height))


def find_near_duplicates(portraits: Sequence[Portrait]) -> list[list[int]]:
    """Return the groups of positions whose portraits are nearly the same, in their order.

    Groups are connected components of similar pairs: a group may be a chain.
    """
    if not portraits:
        return []
    patterns = np.stack([one.pattern for one in portraits])
    colors = np.stack([one.color for one in portraits])
    n = len(patterns)
    group_of = np.arange(n)  # named by the first member
    for start in range(0, n, BLOCK):  # only the pairs of one block are in memory
        end = min(start + BLOCK, n)
        alike = patterns[start:end] @ patterns[start:].T >= MIN_CORRELATION
        alike &= cdist(colors[start:end], colors[start:]) <= MAX_COLOR_DISTANCE
        first, second = np.nonzero(alike)
        links = np.append(first + start, np.arange(n)), np.append(second + start, group_of)
        pairs = sparse.coo_matrix((np.ones(len(links[0]), bool), links), shape=(n, n))
        component = connected_components(pairs, directed=False)[1]
        group_of = np.unique(component, return_index=True)[1][component]
    order = np.argsort(group_of, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(group_of[order])) + 1)
    return sorted(group.tolist() for group in groups if len(group) > 1)
