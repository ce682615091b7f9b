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
from itertools import pairwise

import cv2
import numpy as np
from scipy import sparse
from scipy.fft import dct
from scipy.sparse.csgraph import connected_components

from visualwords.compiled import njit
from visualwords.folders import ImageFolder
from visualwords.images import shrink

SIDE = 16  # pixels of a portrait
MIN_CORRELATION = 0.985
MAX_COLOR_DISTANCE = 12.0  # of the mean colours, in levels of 256
MIN_CONTRAST = 4.0  # standard deviation of a portrait, in levels of 256
N_COLORS = 3  # coordinates of an image that are its mean colour; the others are of its pattern
GRID = (0, 3, 4, 5, 6)  # coordinates that the index divides into cells of side 1
NEAR = np.float32(MIN_CORRELATION)
ROUNDED = np.float32(1.0001)  # distances that rounding must not put beyond the limit
PRIMES = (73856093, 19349663, 83492791, 49979687, 67867979)


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

    @staticmethod
    def is_array_of_one(numbers: np.ndarray) -> bool:
        """Whether an array, perhaps of a shared cache, can be that of a portrait."""
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
        pairs = [(one[0], other) for one in self.sets for other in one[1:]]
        pairs += [link[:2] for link in self.links]
        if not pairs:
            return []
        first, second = np.array(pairs).T
        n = int(max(first.max(), second.max())) + 1
        graph = sparse.coo_matrix((np.ones(len(first), bool), (first, second)), shape=(n, n))
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
    >>> find_near_duplicates(np.stack([portrait(image).to_array() for image in images])).sets
    [[0, 2]]
    """
    portraits = np.asarray(portraits, np.float32).reshape(-1, SIDE**2 + 5)
    patterns = np.ascontiguousarray(portraits[:, : SIDE**2])
    n = len(patterns)
    low = _coordinates(patterns, portraits[:, SIDE**2 : SIDE**2 + 3])
    index = (
        np.empty(n, np.int64),
        np.zeros(1, np.int64),
        np.full(1 << max(n, 1).bit_length(), -1, np.int64),
        np.empty(n, np.int64),
    )
    leader_of = np.where(patterns.any(axis=1), 0, -1)
    _follow_leaders(patterns, low, index, leader_of)
    members = np.lexsort((np.arange(n) != leader_of, leader_of))
    starts = np.searchsorted(leader_of[members], np.arange(n + 1))
    pairs, similarity = np.empty((n, 2), np.int64), np.empty(n, np.float32)
    n_links = _join_sets(patterns, low, index, leader_of, members, starts, pairs, similarity)
    return NearDuplicates(
        [members[a:b].tolist() for a, b in pairwise(starts) if b - a > 1],
        [(*pairs[k].tolist(), float(similarity[k])) for k in range(n_links)],
    )


def _coordinates(patterns: np.ndarray, colors: np.ndarray) -> np.ndarray:
    """Where images lie; those that are near have distances of at most 1 in both parts.

    The first part is the mean colour, brightness first; the second has projections of the pattern
    to the 16 lowest frequencies of a portrait without its mean.
    """
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


# Loops: an index of the leaders, in chains of those whose cells have the same bucket
#
# index : (leaders, their number [1], heads of chains by bucket, next of each leader)
# low : (n, 19) float32, of `_coordinates`


@njit()
def _bucket_of(cell, n_buckets):
    """Place of a cell in a table of a power of two of buckets."""
    code = np.int64(0)
    for k in range(len(GRID)):
        code ^= cell[k] * PRIMES[k]
    return code & (n_buckets - 1)


@njit()
def _is_in_cell(low, j, cell):
    """Whether an image lies in a cell; a bucket may have images of others."""
    equal = True
    for k in range(len(GRID)):
        equal &= np.int64(np.floor(low[j, GRID[k]])) == cell[k]
    return equal


@njit()
def _distance(low, i, j, start, stop, most):
    """Squared distance of some coordinates; what exceeds ``most`` is not exact."""
    total = np.float32(0.0)
    for k in range(start, stop):
        step = low[i, k] - low[j, k]
        total += step * step
        if total > most:
            break
    return total


@njit()
def _is_within(low, i, j, most):
    """Whether colours, and projections, lie within a squared distance of each other."""
    if _distance(low, i, j, 0, N_COLORS, most) > most:
        return False
    return _distance(low, i, j, N_COLORS, low.shape[1], most) <= most


@njit()
def _correlation(patterns, low, i, j):
    """Correlation of two patterns; -1 if the colours differ by more than 1."""
    if _distance(low, i, j, 0, N_COLORS, np.float32(1.0)) > 1:
        return np.float32(-1.0)
    a = np.float32(0.0)  # four sums, whose order no compiler changes
    b = np.float32(0.0)
    c = np.float32(0.0)
    d = np.float32(0.0)
    for k in range(0, patterns.shape[1], 4):
        a += patterns[i, k] * patterns[j, k]
        b += patterns[i, k + 1] * patterns[j, k + 1]
        c += patterns[i, k + 2] * patterns[j, k + 2]
        d += patterns[i, k + 3] * patterns[j, k + 3]
    return (a + b) + (c + d)


@njit()
def _candidates(low, i, reach, index, out):
    """Write the leaders whose coordinates lie within ``reach`` of image i's; return how many."""
    leaders, n_leaders, heads, following = index
    most = np.float32(reach * reach) * ROUNDED
    side = 2 * reach + 1
    count = 0
    if n_leaders[0] <= side ** len(GRID):  # fewer leaders than cells
        for j in leaders[: n_leaders[0]]:
            if _is_within(low, i, j, most):
                out[count] = j
                count += 1
        return count
    cell = np.empty(len(GRID), np.int64)
    for number in range(side ** len(GRID)):
        rest = number
        for k in range(len(GRID)):
            cell[k] = np.int64(np.floor(low[i, GRID[k]])) + rest % side - reach
            rest //= side
        j = heads[_bucket_of(cell, len(heads))]
        while j >= 0:
            if _is_within(low, i, j, most) and _is_in_cell(low, j, cell):
                out[count] = j
                count += 1
            j = following[j]
    return count


@njit()
def _insert(low, i, index):
    """Add a leader to the index."""
    leaders, n_leaders, heads, following = index
    leaders[n_leaders[0]] = i
    n_leaders[0] += 1
    cell = np.empty(len(GRID), np.int64)
    for k in range(len(GRID)):
        cell[k] = np.int64(np.floor(low[i, GRID[k]]))
    bucket = _bucket_of(cell, len(heads))
    following[i] = heads[bucket]
    heads[bucket] = i


@njit()
def _follow_leaders(patterns, low, index, leader_of):
    """Give every image the most similar earlier leader that it is near to; else it leads itself.

    leader_of : (n,) int, -1 for images that are not compared; the leaders are written to it
    """
    out = np.empty(len(patterns), np.int64)
    for i in range(len(patterns)):
        if leader_of[i] < 0:
            continue
        leader_of[i] = i
        best = NEAR
        for k in range(_candidates(low, i, 1, index, out)):
            found = _correlation(patterns, low, i, out[k])
            if found > best or (found == best and (leader_of[i] == i or out[k] < leader_of[i])):
                best = found
                leader_of[i] = out[k]
        if leader_of[i] == i:
            _insert(low, i, index)


@njit()
def _root_of(parent, i):
    """Name of a component; the way to it is shortened."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit()
def _similar_member(patterns, low, i, members):
    """The first of some images that is near to image i, and how near; -1 if none is."""
    for j in members:
        if _is_within(low, i, j, ROUNDED):
            found = _correlation(patterns, low, i, j)
            if found >= NEAR:
                return j, found
    return np.int64(-1), np.float32(0.0)


@njit()
def _join_sets(patterns, low, index, leader_of, members, starts, pairs, similarity):
    """Find one pair of images for sets that are near each other, unless others connect them.

    Images a and b of sets with leaders L and M are near only if a is within 2 of M.

    members, starts : the images by their leaders, the leader first in each set
    pairs, similarity : (n, 2) and (n,), written; returns how many
    """
    n_links = 0
    parent = leader_of.copy()
    out = np.empty(len(patterns), np.int64)
    for i in range(len(patterns)):
        if leader_of[i] < 0 or leader_of[i] == i:
            continue
        for k in range(_candidates(low, i, 2, index, out)):
            other = out[k]
            if _root_of(parent, other) == _root_of(parent, i):
                continue
            of_other = members[starts[other] : starts[other + 1]]
            j, found = _similar_member(patterns, low, i, of_other)
            if j >= 0:
                pairs[n_links, 0] = min(i, j)
                pairs[n_links, 1] = max(i, j)
                similarity[n_links] = found
                n_links += 1
                parent[_root_of(parent, other)] = _root_of(parent, i)
    return n_links
