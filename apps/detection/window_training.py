"""Training windows: the vectors of crops and of windows of photographs, and what learns from them.

A window's vectors are a list with one array (n, d) for each feature.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np

from visualwords.apps.detection.cascade import Cascade, RaggedTables
from visualwords.apps.detection.window_features import WindowFeature, window_features
from visualwords.apps.detection.windows import CELL, MARGIN, Level, Search, WindowShape
from visualwords.boxes import suppress
from visualwords.classifiers import ICDClassifier
from visualwords.classifiers.boosted_trees import BoostedTrees, boost_trees
from visualwords.features.pixels import resize_image

__all__ = ["Samples", "Vectors", "tables_of", "train_cascade", "with_constants"]

LOOKED_AT = 16  # every so many columns are drawn for a tree  [Dollár et al. 2014, Sec. 6.1]
MOST_LOOKED_AT = 640
C = 1e-4  # cost of errors in training the SVMs
TREES_WEIGHT = 2.0  # factor of the trees' score beside those of the SVMs
SHRINKAGE = 0.1  # of the leaves of each tree
N_CONSTANTS, CONSTANT = 16, 255  # together about a tenth of the levels of a window
HARD_OVERLAP = 0.7  # hard windows of one photograph overlap at most by this

Vectors = list[np.ndarray]


@dataclass(frozen=True)
class Samples:
    """Training windows.

    Attributes
    ----------
    vectors : list of (n, d) arrays
        One a feature, with a row for every window.
    positive : (n,) bool
    source : (n,) int64
        Number of the crop or photograph that a window is from.
    """

    vectors: Vectors
    positive: np.ndarray
    source: np.ndarray

    def __add__(self, other: "Samples") -> "Samples":
        return Samples(
            [np.vstack(pair) for pair in zip(self.vectors, other.vectors)],
            np.concatenate([self.positive, other.positive]),
            np.concatenate([self.source, other.source]),
        )

    def part(self, chosen: np.ndarray) -> "Samples":
        """Some of the windows."""
        vectors = [rows[chosen] for rows in self.vectors]
        return Samples(vectors, self.positive[chosen], self.source[chosen])


def at_least_the_window(crop: np.ndarray, shape: WindowShape) -> np.ndarray:
    """A crop, resized to the window if it is smaller."""
    if crop.shape[0] < shape.height or crop.shape[1] < shape.width:
        return resize_image(crop, shape.width, shape.height)
    return crop


def crop_vectors(crop: np.ndarray, shape: WindowShape) -> Vectors:
    """The vectors of the window in a crop's middle, and of its mirror image."""
    crop = at_least_the_window(crop, shape)
    return _middles([crop, crop[:, ::-1]], shape)


def shifted_vectors(crop: np.ndarray, shape: WindowShape, shift: int) -> Vectors:
    """The vectors of four windows, each shifted along both axes from a crop's middle.

    A search whose stride is twice the shift aligns with an object at least as well as the best.
    """
    crop = at_least_the_window(crop, shape)
    wide = cv2.copyMakeBorder(crop, shift, shift, shift, shift, cv2.BORDER_REPLICATE)
    height, width = crop.shape[:2]
    corners = [(y, x) for y in (0, 2 * shift) for x in (0, 2 * shift)]
    return _middles([wide[y : y + height, x : x + width] for y, x in corners], shape)


def _middles(crops: Sequence[np.ndarray], shape: WindowShape) -> Vectors:
    """Vectors of the middles; gradients at their border see pixels beyond, as in a photograph."""
    views = []
    for crop in crops:
        y, x = (crop.shape[0] - shape.height) // 2, (crop.shape[1] - shape.width) // 2
        top, left = (min(side, MARGIN) // CELL * CELL for side in (y, x))
        end_y, end_x = y + shape.height + MARGIN, x + shape.width + MARGIN
        views.append((crop[y - top : end_y, x - left : end_x], np.array([[top, left]])))
    return _vectors(views, window_features(shape))


def _vectors(
    views: Sequence[tuple[np.ndarray, np.ndarray]], features: Sequence[WindowFeature]
) -> Vectors:
    """Vectors of windows at corners of several images."""
    parts: list[Vectors] = [[np.empty((0, one.n_columns), np.uint8)] for one in features]
    for image, corners in views:
        if len(corners):
            image = np.ascontiguousarray(image)
            for part, feature in zip(parts, features):
                part.append(feature.vectors(feature.prepare(image), corners))
    return [np.vstack(part) for part in parts]


def random_windows(image: np.ndarray, n: int, search: Search, seed: Sequence[int]) -> Vectors:
    """The vectors of ``n`` windows of a photograph, of all sizes; fewer if it is small."""
    levels = [make() for make in search.levels(image)]
    grids = [np.ones(search.shape.grid(level.image, search.stride), bool) for level in levels]
    every = [np.argwhere(grid) * search.stride for grid in grids]
    n_windows = sum(map(len, every))
    chosen = np.random.default_rng(seed).choice(n_windows, min(n, n_windows), replace=False)
    return _picked(levels, every, np.sort(chosen), search)


def hard_windows(
    image: np.ndarray, cascade: Cascade, search: Search, threshold: float, most: int
) -> Vectors:
    """The vectors, by all features, of the hardest negative windows of a photograph.

    Of windows that overlap only the best is taken.
    """
    levels = [make() for make in search.levels(image)]
    found = [cascade.scan(level.image, search.stride, threshold) for level in levels]
    boxes = [search.boxes(level, corners) for level, (corners, _) in zip(levels, found)]
    scores = np.concatenate([np.empty(0), *(scores for _, scores in found)])
    kept = suppress(np.vstack([np.empty((0, 4)), *boxes]), scores, HARD_OVERLAP)[:most]
    return _picked(levels, [corners for corners, _ in found], np.sort(kept), search)


def _picked(
    levels: Sequence[Level], corners: Sequence[np.ndarray], chosen: np.ndarray, search: Search
) -> Vectors:
    """Vectors of some windows, which are numbered through all levels."""
    ends = np.cumsum([0, *map(len, corners)])
    views = [
        (level.image, own[chosen[(chosen >= start) & (chosen < start + len(own))] - start])
        for level, own, start in zip(levels, corners, ends)
    ]
    return _vectors(views, window_features(search.shape))


def train_cascade(
    samples: Samples, shape: WindowShape, settings: Mapping[str, Any], *, share: float = 1.0
) -> Cascade:
    """Train a classifier for each feature of the samples; in the result, all windows pass.

    Parameters
    ----------
    samples : Samples
    shape : WindowShape
    settings : mapping
        Parameters of `PedestrianDetector`.
    share : float
        Of the trees that are boosted.
    """
    first, *others = samples.vectors
    trees, tables = _train_trees(first, samples.positive, settings, share), []
    for vectors in others:
        svm = ICDClassifier(C=C, quantization="integer", random_state=settings["random_state"])
        tables.append(tables_of(svm.fit(with_constants(vectors), samples.positive)))
    no_thresholds = np.array([-np.inf], np.float32), (-np.inf,) * len(others)
    return Cascade(shape, trees, tables, *no_thresholds)


def _train_trees(
    vectors: np.ndarray, positive: np.ndarray, settings: Mapping[str, Any], share: float
) -> BoostedTrees:
    """Boost trees on the bytes of windows.

    Training windows score 1 × `TREES_WEIGHT` away from 0 on average, as SVMs have margins of 1;
    leaves have half precision, as a model file keeps them.
    """
    n_looked_at = min(-(-vectors.shape[1] // LOOKED_AT), MOST_LOOKED_AT)
    n_trees = max(round(settings["n_trees"] * share), 1)
    own = {"depth": settings["tree_depth"], "random_state": settings["random_state"]}
    columns, more = np.ascontiguousarray(vectors.T), {"n_looked_at": n_looked_at, **own}
    trees = boost_trees(columns, positive, n_trees, shrinkage=SHRINKAGE, **more)
    margins = np.where(positive, 1, -1) * trees.scores(vectors)
    unit = (margins[positive].mean() + margins[~positive].mean()) / 2 or 1.0
    leaves = (trees.leaves * np.float32(TREES_WEIGHT / unit)).astype(np.float16)
    return replace(trees, leaves=leaves.astype(np.float32))


def with_constants(vectors: np.ndarray, n_constants: int = N_CONSTANTS) -> np.ndarray:
    """Append constant columns to levels, which give a classifier its offset.

    Without an offset a window without gradients, all levels 0, would score 0 whatever was learned.
    """
    return np.hstack([vectors, np.full((len(vectors), n_constants), CONSTANT, vectors.dtype)])


def tables_of(classifier: ICDClassifier, n_constants: int = N_CONSTANTS) -> RaggedTables:
    """The tables of a classifier of two classes that was trained on levels with constants.

    Levels between those that training met have values between theirs. The offset is spread evenly
    over all tables. Cells are rounded to half precision, which is how a model file keeps them.
    """
    full = classifier.tables_[0]
    n_columns = len(full) - n_constants
    offset = full[n_columns:, CONSTANT].sum(dtype=np.float64)
    n_cells = np.diff(classifier.layout_.offsets)[:n_columns]
    tops = classifier.layout_.heights[np.maximum(n_cells, 1) - 1]
    starts = np.concatenate([[0], np.cumsum(tops + 1)]).astype(np.int64)
    column = np.repeat(np.arange(n_columns), tops + 1)
    level = np.arange(starts[-1]) - np.repeat(starts[:-1], tops + 1)
    cells = full[column, level] + offset / n_columns
    return RaggedTables(starts, cells.astype(np.float16).astype(np.float32))
