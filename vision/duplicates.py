"""The same picture twice, or nearly: equal files, and scaled, recompressed or retouched copies.

Equal files have equal fingerprints. For the others, every image gets a tiny portrait, its grey
values at 16×16 pixels with mean 0 and length 1. Two images are near duplicates if their portraits
correlate by `MIN_CORRELATION` or more and their mean colours differ little. Portraits of almost
uniform images are too noisy to compare and are left out.
"""

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np

from visualwords.folders import ImageFolder
from visualwords.images import shrink

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

SIDE = 16  # pixels of a portrait
MIN_CORRELATION = 0.985
MAX_COLOR_DISTANCE = 12.0  # of the mean colours, in levels of 256
MIN_CONTRAST = 4.0  # standard deviation of a portrait, in levels of 256
N_COLORS = 3  # coordinates of an image that are its mean colour; the others are of its pattern
ROUNDED = 1.0001  # of squared distances, which rounding must not put beyond the limit
FRESH = 512  # leaders that are compared one by one before the tree is rebuilt


def find_duplicates(fingerprints: Sequence[bytes]) -> list[list[int]]:
    """Groups of positions with the same fingerprint, in order of appearance.

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
    """One sentence for each kind of harm that equal files do to a labelled folder.

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
        """All of it as one array, (SIDE² + 5,) float32."""
        return np.concatenate([self.pattern, self.color, np.array(self.size_wh, np.float32)])


def portrait(image: np.ndarray) -> Portrait:
    """The portrait of an RGB image.

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
    """Images that look nearly the same, in memory in proportion to their number.

    An image that is near an earlier *leader* is in its set; another becomes a leader. All images
    of a set are near its leader: a set is no chain. Sets of which two images are near each other
    are linked by such a pair, unless others connect them.

    Attributes
    ----------
    sets : list of lists
        Positions of the images of each set, its leader first.
    links : list of (position, position, similarity)
        Two images of different sets that are near each other, and the correlation of their
        portraits.
    """

    sets: list[list[int]]
    links: list[tuple[int, int, float]]

    def components(self) -> list[list[int]]:
        """Positions of images that pairs of near ones connect; these may be chains."""
        from scipy.cluster.hierarchy import DisjointSet

        pairs = [(one[0], other) for one in self.sets for other in one[1:]]
        pairs += [link[:2] for link in self.links]
        joined = DisjointSet(sorted({i for pair in pairs for i in pair}))
        for pair in pairs:
            joined.merge(*pair)
        return sorted(sorted(group) for group in joined.subsets())


def find_near_duplicates(portraits: np.ndarray) -> NearDuplicates:
    """Find the images that look nearly the same, in memory in proportion to their number.

    Portraits are projected to a few directions, in which near ones can only be nearer; a tree of
    the leaders finds the candidates, which are then compared exactly. Time is nearly in proportion
    to the number of images as long as those that are alike form few sets.

    Parameters
    ----------
    portraits : (n, SIDE² + 5) float32
        Of each image `Portrait.to_array`.

    Examples
    --------
    >>> from skimage.data import astronaut
    >>> picture = astronaut()
    >>> images = [picture, picture[::-1], picture[1:-1, 1:-1]]
    >>> find_near_duplicates(np.stack([portrait(image).to_array() for image in images])).sets
    [[0, 2]]
    """
    from scipy.cluster.hierarchy import DisjointSet

    portraits = np.asarray(portraits, np.float32).reshape(-1, SIDE**2 + 5)
    index = _Leaders(portraits[:, : SIDE**2], portraits[:, SIDE**2 : SIDE**2 + 3])
    members: dict[int, list[int]] = {}
    leader_of: dict[int, int] = {}
    for i in np.flatnonzero(index.patterns.any(axis=1)).tolist():
        others, similarity = index.similar(i, index.near(i, 1))
        leader = int(others[similarity.argmax()]) if others.size else i
        if leader == i:
            index.add(i)
        members.setdefault(leader, []).append(i)
        leader_of[i] = leader
    links = []
    joined = DisjointSet(members)
    for i, leader in leader_of.items():
        # Images a and b of sets with leaders L and M are near only if a is within 2 of M.
        for other in index.near(i, 2).tolist() if i != leader else ():
            if not joined.connected(leader, other):
                found, similarity = index.similar(i, np.array(members[other]))
                if found.size:
                    first, second = sorted((i, int(found[0])))
                    links.append((first, second, float(similarity[0])))
                    joined.merge(leader, other)
    return NearDuplicates([one for one in members.values() if len(one) > 1], links)


class _Leaders:
    """Where images lie, and which of those that lead sets lie near an image.

    Attributes
    ----------
    patterns : (n, SIDE²) float32
    places : (n, 19) float32
        Of `_coordinates`.
    """

    def __init__(self, patterns: np.ndarray, colors: np.ndarray):
        self.patterns, self.places = patterns, _coordinates(patterns, colors)
        self._indexed: list[int] = []
        self._fresh: list[int] = []
        self._tree: cKDTree | None = None

    def add(self, i: int) -> None:
        """Let image i be a leader."""
        from scipy.spatial import cKDTree

        self._fresh.append(i)
        if len(self._fresh) == FRESH:
            self._indexed += self._fresh
            self._fresh = []
            self._tree = cKDTree(self.places[self._indexed])

    def near(self, i: int, reach: float) -> np.ndarray:
        """The leaders whose colours and projections lie within ``reach`` of image i's."""
        found = self._fresh.copy()
        if self._tree is not None:  # 1.5 is more than √2
            around = self._tree.query_ball_point(self.places[i], 1.5 * reach)
            found += [self._indexed[k] for k in around]
        leaders = np.array(sorted(found), np.int64)
        squares = (self.places[leaders] - self.places[i]) ** 2
        parts = squares[:, :N_COLORS].sum(axis=1), squares[:, N_COLORS:].sum(axis=1)
        return leaders[np.maximum(*parts) <= reach**2 * ROUNDED]

    def similar(self, i: int, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Those of some images that are near image i, and the correlations of their patterns."""
        apart = ((self.places[others] - self.places[i])[:, :N_COLORS] ** 2).sum(axis=1)
        # no product of BLAS, whose last digit depends on how many there are
        found = np.einsum("kd,d->k", self.patterns[others], self.patterns[i])
        near = (apart <= 1) & (found >= MIN_CORRELATION)
        return others[near], found[near]


def _coordinates(patterns: np.ndarray, colors: np.ndarray) -> np.ndarray:
    """Where images lie; those that are near have distances of at most 1 in both parts.

    The first part is the mean colour, brightness first; the second has projections of the pattern
    to the 16 lowest frequencies of a portrait without its mean.
    """
    from scipy.fft import dct

    cosines = dct(np.eye(SIDE), norm="ortho", axis=0)
    waves = sorted((i + j, max(i, j), i, j) for i in range(5) for j in range(5) if i + j)[:16]
    directions = np.array([np.outer(cosines[i], cosines[j]).ravel() for _, _, i, j in waves])
    # brightness, red against blue, green against both: an orthonormal basis of colours
    basis = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]] / np.sqrt([[3], [2], [6]]), np.float32)
    farthest = np.sqrt(2 - 2 * MIN_CORRELATION)  # between vectors of length 1
    return np.hstack(
        [
            colors @ basis.T / np.float32(MAX_COLOR_DISTANCE),
            patterns @ directions.astype(np.float32).T / np.float32(farthest),
        ]
    )
