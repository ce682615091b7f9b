"""Pictures of words: their most typical patches, and where they are in an image."""

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from visualwords.codebook.codebook import as_sets
from visualwords.features.extractor import as_rgb
from visualwords.features.local_features import LocalFeatures

__all__ = ["draw_words", "typical_patches", "word_colors", "word_sheet"]

_GOLDEN = 0.61803398875  # steps of hue that never repeat


def typical_patches(codebook: Any, features: Any, n_patches: int = 10) -> list[np.ndarray]:
    """Find the patches nearest to each word.

    Parameters
    ----------
    codebook : fitted codebook
    features : LocalFeatureSets, or iterable of LocalFeatures
    n_patches : int
        How many at most of each word.

    Returns
    -------
    list of (m, 2) int64 arrays, one a word
        Image and number of the patch in it, the nearest first, m ≤ n_patches.
    """
    sets = as_sets(features)
    words = codebook.predict(sets.descriptors) if len(sets.descriptors) else np.zeros(0, int)
    near = np.empty(len(words))
    step = max(1, (1 << 22) // codebook.n_words)
    for i in range(0, len(words), step):
        rows = slice(i, i + step)
        similar = codebook.transform(sets.descriptors[rows])
        near[rows] = np.take_along_axis(similar, words[rows, None], axis=1)[:, 0]
    order = np.lexsort((-near, words))
    starts = np.searchsorted(words[order], np.arange(codebook.n_words + 1))
    image = np.repeat(np.arange(len(sets)), np.diff(sets.offsets))
    found = []
    for k in range(codebook.n_words):
        best = order[starts[k] : starts[k + 1]][:n_patches]
        found.append(np.stack([image[best], best - sets.offsets[image[best]]], axis=1))
    return found


def word_sheet(
    codebook: Any,
    images: Sequence[np.ndarray],
    features: Any,
    *,
    n_patches: int = 10,
    words: Sequence[int] | None = None,
    side: int = 32,
) -> np.ndarray:
    """Draw a contact sheet: one row a word, with its most typical patches.

    Parameters
    ----------
    codebook : fitted codebook
    images : sequence of uint8 arrays
    features : LocalFeatureSets, or iterable of LocalFeatures, of these images
    n_patches : int
    words : sequence of int, optional
        Which words; by default all.
    side : int
        Pixels of a patch in the sheet; 2 more are between patches.

    Returns
    -------
    (n_words (side + 2) + 2, n_patches (side + 2) + 2, 3) uint8 RGB
    """
    sets = as_sets(features)
    chosen = range(codebook.n_words) if words is None else words
    found = typical_patches(codebook, sets, n_patches)
    pitch = side + 2
    sheet = np.full((len(chosen) * pitch + 2, n_patches * pitch + 2, 3), 255, np.uint8)
    for row, k in enumerate(chosen):
        for column, (i, patch) in enumerate(found[k]):
            cut = _cut(as_rgb(images[i]), sets[int(i)], int(patch))
            place = sheet[row * pitch + 2 : (row + 1) * pitch, column * pitch + 2 :][:, :side]
            place[...] = cv2.resize(cut, (side, side), interpolation=cv2.INTER_AREA)
    return sheet


def draw_words(
    image: np.ndarray, features: LocalFeatures, words: np.ndarray, n_words: int | None = None
) -> np.ndarray:
    """Draw the words of an image on it: a square in the word's colour for each patch.

    Parameters
    ----------
    image : uint8 array
    features : LocalFeatures of the image
    words : (n,) integers
        As ``BagOfWords.words_of`` gives them.
    n_words : int, optional
        Of the codebook; by default the largest word and one.

    Returns
    -------
    (h, w, 3) uint8 RGB
    """
    picture = as_rgb(image).copy()
    words = np.asarray(words)
    if len(words) != len(features):
        raise ValueError(f"{len(words)} words for {len(features)} patches")
    colors = word_colors(n_words or int(words.max(initial=0)) + 1)
    height, width = picture.shape[:2]
    centers = features.positions * (width, height)
    radius = max(1.0, float(np.sqrt(height * width / max(len(words), 1))) * 0.4)
    corners = np.floor(np.concatenate([centers - radius, centers + radius], axis=1)).astype(int)
    for (x0, y0, x1, y1), word in zip(corners, words):
        part = picture[max(y0, 0) : max(y1, 1), max(x0, 0) : max(x1, 1)]
        part[...] = (part.astype(np.uint16) + 2 * colors[word].astype(np.uint16)) // 3
    return picture


def word_colors(n_words: int) -> np.ndarray:
    """Return well distinguishable colours, (n_words, 3) uint8 RGB.

    Examples
    --------
    >>> len({tuple(color) for color in word_colors(100).tolist()})
    100
    """
    k = np.arange(n_words)
    hue = np.floor((k * _GOLDEN) % 1 * 256)
    value = np.array([255, 200, 150])[k % 3]
    saturation = np.array([255, 170])[(k // 3) % 2]
    hsv = np.stack([hue, saturation, value], axis=1).astype(np.uint8)
    return cv2.cvtColor(hsv[None], cv2.COLOR_HSV2RGB_FULL)[0]


def _cut(image: np.ndarray, features: LocalFeatures, patch: int) -> np.ndarray:
    """The pixels of a patch that lie in the image; at least one."""
    height, width = image.shape[:2]
    x, y = features.positions[patch] * (width, height)
    half = float(features.sizes[patch]) / 2
    x0, y0 = (int(np.clip(v - half, 0, size - 1)) for v, size in ((x, width), (y, height)))
    x1, y1 = (int(np.ceil(v + half)) for v in (x, y))
    return np.ascontiguousarray(image[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)])
