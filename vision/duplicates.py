"""The same picture twice, or nearly: equal files, and scaled, recompressed or retouched copies.

Equal files have equal fingerprints. For the others, every image gets a tiny portrait, its grey
values at 16×16 pixels with mean 0 and length 1. Two images are near duplicates if their portraits
correlate by `MIN_CORRELATION` or more and their mean colours differ little. Portraits of almost
uniform images say nothing and are left out.
"""

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from scipy import sparse
from scipy.fft import dct
from scipy.sparse.csgraph import connected_components

from visualwords._near_duplicates import follow_leaders, join_sets
from visualwords.folders import ImageFolder
from visualwords.images import shrink

SIDE = 16  # pixels of a portrait
MIN_CORRELATION = 0.985
MAX_COLOR_DISTANCE = 12.0  # of the mean colours, in levels of 256
MIN_CONTRAST = 4.0  # standard deviation of a portrait, in levels of 256


def find_duplicates(fingerprints: Sequence[bytes]) -> list[list[int]]:
    """Return the groups of positions with the same fingerprint, in order of appearance.

    An empty fingerprint stands for an image without a file, or one that can't be read.

    Examples
    --------
    >>> find_duplicates([b"a", b"b", b"a", b"", b""])
    [[0, 2]]
    """
    same = defaultdict(list)
    for position, fingerprint in enumerate(fingerprints):
        same[fingerprint].append(position)
    same.pop(b"", None)
    return [group for group in same.values() if len(group) > 1]


def describe_duplicates(folder: ImageFolder, fingerprints: Sequence[bytes]) -> list[str]:
    """Return one sentence for each kind of harm that equal files do to a labelled folder.

    Parameters
    ----------
    folder : ImageFolder
    fingerprints : of the content of each of its files
    """
    kinds = defaultdict(list)
    splits, labels = folder.splits, folder.labels
    for group in find_duplicates(fingerprints):
        if len({splits[i] for i in group}) > 1:
            kinds["in more than one split, so that a test measures memory"].append(group)
        elif len({labels[i] for i in group}) > 1:
            kinds["in more than one class, so that a label is wrong"].append(group)
        else:
            kinds["more than once in a class"].append(group)
    return [_sentence(folder, groups, harm) for harm, groups in sorted(kinds.items())]


def _sentence(folder: ImageFolder, groups: list[list[int]], harm: str) -> str:
    base = folder.path if os.path.isdir(folder.path) else os.path.dirname(folder.path) or os.curdir
    first = " = ".join(os.path.relpath(folder.paths[i], base) for i in groups[0][:2])
    subject = "1 image occurs" if len(groups) == 1 else f"{len(groups)} images occur"
    return f"{folder.path}: {subject} {harm} (first: {first})"


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
    >>> bool(portrait(picture).pattern @ portrait(small).pattern > MIN_CORRELATION)
    True
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


@dataclass(frozen=True)
class NearDuplicates:
    """Pairs of images that look nearly the same, no more of them than there are images.

    An image that is near an earlier *leader* is in its set; another becomes a leader. All images
    of a set are near its leader: a set is no chain. Sets of which two images are near each other
    are linked by such a pair, unless others connect them, so that the connected components of the
    pairs are those of all pairs that are near.

    Attributes
    ----------
    first, second : (n_pairs,) int
        A leader and another image of its set, by leaders; then links between sets.
    similarity : (n_pairs,) float32
        Correlation of their portraits.
    n_links : int
        How many pairs, the last ones, link sets.
    """

    first: np.ndarray
    second: np.ndarray
    similarity: np.ndarray
    n_links: int

    @property
    def sets(self) -> list[list[int]]:
        """Positions of the images of each set, its leader first."""
        n = len(self.first) - self.n_links
        ends = np.flatnonzero(np.diff(self.first[:n], append=-1)) + 1
        parts = zip(np.append(0, ends[:-1]), ends)
        return [[int(self.first[a]), *self.second[a:b].tolist()] for a, b in parts if b > a]

    @property
    def links(self) -> list[tuple[int, int, float]]:
        """Two images of different sets that are near each other, and their similarity."""
        n = len(self.first) - self.n_links
        rows = (self.first[n:], self.second[n:], self.similarity[n:])
        return list(zip(*(values.tolist() for values in rows)))

    def components(self) -> list[list[int]]:
        """Return positions of images that are connected by pairs; these may be chains."""
        if not len(self.first):
            return []
        n = int(max(self.first.max(), self.second.max())) + 1
        ones = np.ones(len(self.first), bool)
        graph = sparse.coo_matrix((ones, (self.first, self.second)), shape=(n, n))
        names = connected_components(graph, directed=False)[1]
        order = np.argsort(names, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(names[order])) + 1)
        return sorted(group.tolist() for group in groups if len(group) > 1)


def find_near_duplicates(portraits: np.ndarray) -> NearDuplicates:
    """Find the images that look nearly the same, in memory in proportion to their number.

    Portraits are projected to a few directions, in which near ones can only be nearer; an index of
    cells finds the candidates, which are then compared exactly. Time is nearly in proportion to
    the number of images as long as those that are alike form few sets.

    Parameters
    ----------
    portraits : (n, SIDE² + 5) float32
        Of each image `Portrait.to_array`.

    Examples
    --------
    >>> from skimage.data import astronaut
    >>> picture = astronaut()
    >>> images = [picture, picture[::-1], picture[1:-1, 1:-1]]
    >>> found = find_near_duplicates(np.stack([portrait(image).to_array() for image in images]))
    >>> found.sets, found.similarity.round(2).tolist()
    ([[0, 2]], [1.0])
    """
    portraits = np.asarray(portraits, np.float32).reshape(-1, SIDE**2 + 5)
    patterns = np.ascontiguousarray(portraits[:, : SIDE**2])
    n = len(patterns)
    low = _coordinates(patterns, portraits[:, SIDE**2 : SIDE**2 + 3])
    n_buckets = 1 << max(n, 1).bit_length()
    index = (
        np.empty(n, np.int64),
        np.zeros(1, np.int64),
        np.full(n_buckets, -1, np.int64),
        np.empty(n, np.int64),
    )
    leader_of = np.where(patterns.any(axis=1), 0, -1)
    similarity = np.zeros(n, np.float32)
    settings = np.float32(MIN_CORRELATION), index
    follow_leaders(patterns, low, *settings, leader_of, similarity)
    members = np.lexsort((np.arange(n) != leader_of, leader_of))
    starts = np.searchsorted(leader_of[members], np.arange(n + 1))
    links = np.empty((n, 2), np.int64), np.empty(n, np.float32)
    n_links = join_sets(patterns, low, *settings, leader_of, members, starts, links)
    members = members[(leader_of[members] >= 0) & (leader_of[members] != members)]
    return NearDuplicates(
        np.append(leader_of[members], links[0][:n_links, 0]),
        np.append(members, links[0][:n_links, 1]),
        np.append(similarity[members], links[1][:n_links]),
        n_links,
    )


def _directions() -> np.ndarray:
    """Return the lowest frequencies of a portrait without its mean, (16, SIDE²), orthonormal."""
    cosines = dct(np.eye(SIDE), norm="ortho", axis=0)
    waves = sorted((i + j, max(i, j), i, j) for i in range(5) for j in range(5) if i + j)
    products = [np.outer(cosines[i], cosines[j]).ravel() for _, _, i, j in waves[:16]]
    return np.array(products, np.float32)


_DIRECTIONS = _directions()
# brightness, red against blue, green against both: an orthonormal basis of colours
_COLORS = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]] / np.sqrt([[3], [2], [6]]), np.float32)


def _coordinates(patterns: np.ndarray, colors: np.ndarray) -> np.ndarray:
    """Return where images lie; those that are near have distances of at most 1 in both parts.

    The first part is the mean colour, brightness first, the second projections of the pattern.
    """
    farthest = np.sqrt(2 - 2 * MIN_CORRELATION)  # between vectors of length 1
    return np.hstack(
        [
            colors @ _COLORS.T / np.float32(MAX_COLOR_DISTANCE),
            patterns @ _DIRECTIONS.T / np.float32(farthest),
        ]
    )
