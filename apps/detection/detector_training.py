"""Training the window classifiers: crops of the object against windows without it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from sklearn.svm import LinearSVC

from visualwords.apps.detection.acf_windows import AcfWindows, sums_of_parts
from visualwords.apps.detection.channels import Channel
from visualwords.apps.detection.levels import Level, Search
from visualwords.apps.detection.scanning import WindowScanner
from visualwords.apps.detection.window import CELL, MARGIN, WindowShape
from visualwords.apps.detection.window_model import LEAST_SCORE, ChannelModel, WindowModel
from visualwords.apps.detection.window_tables import tables_of, with_constants
from visualwords.boxes import suppress
from visualwords.classifiers import ICDClassifier
from visualwords.classifiers.boosted_trees import BoostedTrees, boost_trees
from visualwords.features.pixels import resize_image

__all__ = [
    "Learning",
    "Samples",
    "at_least_the_window",
    "crop_vectors",
    "enlarged_again",
    "hard_windows",
    "random_windows",
    "score_vectors",
    "shifted_vectors",
    "train_trees",
    "train_windows",
    "with_stages",
]

LOOKED_AT = 16  # every so many columns are drawn for a tree  [Dollár et al. 2014, Sec. 6.1]
MOST_LOOKED_AT = 640
SHRINKAGE = 0.1  # of the leaves of each tree

Vectors = list[np.ndarray]  # one (n, d) array a channel


@dataclass(frozen=True)
class Samples:
    """Training windows.

    Attributes
    ----------
    vectors : list of (n, d) arrays
        One a channel, with a row for every window.
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
        """Return some of the windows."""
        return Samples(
            [rows[chosen] for rows in self.vectors], self.positive[chosen], self.source[chosen]
        )


@dataclass(frozen=True)
class Learning:
    """Training parameters of the window classifiers.

    Attributes
    ----------
    cost, linear_cost : float
        Costs of the HIK and of the linear classifiers.
    census_weight : float
        Factor of the census score beside the HOG score.
    random_state : int
    acf_weight, cosine_weight : float
        Factors of the scores of trees.
    n_trees, tree_depth : int
    """

    cost: float
    linear_cost: float
    census_weight: float
    random_state: int
    acf_weight: float = 2.0
    n_trees: int = 512
    tree_depth: int = 4
    cosine_weight: float = 1.0


def at_least_the_window(crop: np.ndarray, shape: WindowShape) -> np.ndarray:
    """Return a crop, resized to the window if it is smaller."""
    if crop.shape[0] < shape.height or crop.shape[1] < shape.width:
        return resize_image(crop, shape.width, shape.height)
    return crop


def enlarged_again(crop: np.ndarray, scale: float) -> np.ndarray:
    """Return a crop of the same size without the detail that reducing it to a scale takes away."""
    height, width = crop.shape[:2]
    small = resize_image(crop, max(round(width * scale), 1), max(round(height * scale), 1))
    return resize_image(small, width, height)


def crop_vectors(crop: np.ndarray, shape: WindowShape, channels: Sequence[Channel]) -> Vectors:
    """Return the vectors of the window in a crop's middle, and of its mirror image.

    A crop that is smaller than the window is first resized to it.
    """
    crop = at_least_the_window(crop, shape)
    views = [_middle_vectors(view, shape, channels) for view in (crop, crop[:, ::-1])]
    return [np.vstack(pair) for pair in zip(*views)]


def shifted_vectors(
    crop: np.ndarray, shape: WindowShape, channels: Sequence[Channel], shift: int
) -> Vectors:
    """Return the vectors of four windows, each shifted along both axes from a crop's middle.

    A search whose stride is twice the shift aligns with an object at least as well as the best.
    """
    crop = at_least_the_window(crop, shape)
    wide = cv2.copyMakeBorder(crop, shift, shift, shift, shift, cv2.BORDER_REPLICATE)
    height, width = crop.shape[:2]
    views = [wide[y : y + height, x : x + width] for y in (0, 2 * shift) for x in (0, 2 * shift)]
    return [np.vstack(rows) for rows in zip(*(_middle_vectors(v, shape, channels) for v in views))]


def _middle_vectors(crop: np.ndarray, shape: WindowShape, channels: Sequence[Channel]) -> Vectors:
    """Vectors of the middle; gradients at its border see pixels beyond, as in a photograph."""
    y, x = (crop.shape[0] - shape.height) // 2, (crop.shape[1] - shape.width) // 2
    top, left = (min(side, MARGIN) // CELL * CELL for side in (y, x))
    end_y, end_x = y + shape.height + MARGIN, x + shape.width + MARGIN
    view = np.ascontiguousarray(crop[y - top : end_y, x - left : end_x])
    corner = np.array([[top, left]])
    return [channel.vectors(channel.prepare(view), corner) for channel in channels]


def random_windows(
    image: np.ndarray, n: int, search: Search, channels: Sequence[Channel], seed: Any
) -> Vectors:
    """Return the vectors of ``n`` windows of a photograph, of all sizes; fewer if it is small."""
    levels = list(search.levels(image))
    grids = [
        search.shape.positions(level.image.shape[0], level.image.shape[1], search.stride)
        for level in levels
    ]
    counts = [rows * columns for rows, columns in grids]
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(sum(counts), min(n, sum(counts)), replace=False))
    which = np.searchsorted(np.cumsum(counts), chosen, side="right")
    picks = []
    for k, (_, columns) in enumerate(grids):
        numbers = chosen[which == k] - sum(counts[:k])
        picks.append(np.stack([numbers // max(columns, 1), numbers % max(columns, 1)], axis=1))
    return _picked(levels, [pick * search.stride for pick in picks], channels)


def hard_windows(
    image: np.ndarray,
    scanner: WindowScanner,
    search: Search,
    channels: Sequence[Channel],
    threshold: float,
    most: int,
    overlap: float,
) -> Vectors:
    """Return the vectors, by some channels, of the hardest negative windows of a photograph.

    Of windows that overlap only the best is taken.
    """
    levels = list(search.levels(image))
    found = [scanner.scan(level.image, threshold) for level in levels]
    boxes = np.vstack(
        [np.empty((0, 4)), *(search.boxes(level, c) for level, (c, _) in zip(levels, found))]
    )
    scores = np.concatenate([np.empty(0), *(scores for _, scores in found)])
    kept = np.sort(suppress(boxes, scores, overlap)[:most])
    ends = np.cumsum([len(corners) for corners, _ in found])
    which = np.searchsorted(ends, kept, side="right")
    picks = [
        corners[kept[which == k] - (ends[k] - len(corners))] for k, (corners, _) in enumerate(found)
    ]
    return _picked(levels, picks, channels)


def _picked(
    levels: Sequence[Level], picks: Sequence[np.ndarray], channels: Sequence[Channel]
) -> Vectors:
    """Vectors of windows of several levels."""
    parts: list[Vectors] = [[] for _ in channels]
    for level, corners in zip(levels, picks):
        if len(corners):
            for part, channel in zip(parts, channels):
                part.append(channel.vectors(channel.prepare(level.image), corners))
    empty = [np.empty((0, channel.n_columns), np.uint8) for channel in channels]
    return [np.vstack([none, *part]) for none, part in zip(empty, parts)]


def train_windows(
    samples: Samples,
    channels: Sequence[Channel],
    learning: Learning,
    *,
    linear: bool = True,
    share: float = 1.0,
) -> WindowModel:
    """Train the classifiers of every channel; in the result, all windows pass the cascade.

    Parameters
    ----------
    samples : Samples
    channels : sequence of Channel
    learning : Learning
    linear : bool
        Whether linear classifiers are trained where a cascade with trees doesn't need them.
    share : float
        Of the trees that are boosted.
    """
    learned = {}
    has_trees = any(isinstance(channel, AcfWindows) for channel in channels)
    for channel, vectors in zip(channels, samples.vectors):
        if isinstance(channel, AcfWindows):
            weight = learning.acf_weight if channel.name == "acf" else learning.cosine_weight
            trees = train_trees(vectors, samples.positive, weight, learning, share=share)
            learned[channel.name] = ChannelModel(trees)
            continue
        factor = learning.census_weight if channel.name == "census" and len(channels) > 1 else 1.0
        classifier = ICDClassifier(
            C=learning.cost, quantization="integer", random_state=learning.random_state
        ).fit(with_constants(vectors), samples.positive)
        tables = tables_of(classifier, factor)
        learned[channel.name] = ChannelModel(tables)
        if linear or not has_trees:
            weights, intercept = _train_linear(vectors, samples.positive, learning)
            learned[channel.name] = ChannelModel(
                tables, weights * np.float32(factor), intercept * factor
            )
    return WindowModel(learned, np.array([-np.inf], np.float32), (-np.inf,) * (len(channels) - 1))


def with_stages(
    model: WindowModel, first: np.ndarray, tables: np.ndarray, recall: float
) -> WindowModel:
    """Set the cascade's thresholds so that each stage keeps a share of the object's windows.

    Parameters
    ----------
    model : WindowModel
    first : (n, k)
    tables : (n_channels, n)
        Scores of windows of the object, as `score_vectors` gives them. Windows that would be
        rejected in the end, by scores below `LEAST_SCORE`, don't count.
    recall : float
        Share of them that must pass each stage.
    """
    found = tables.sum(axis=0) >= LEAST_SCORE
    if found.any():
        first, tables = first[found], tables[:, found]
    so_far = np.cumsum(tables, axis=0)[:-1]
    return replace(
        model,
        first_thresholds=_first_thresholds(first, recall),
        stage_thresholds=tuple(float(np.quantile(scores, 1 - recall)) for scores in so_far),
    )


def _first_thresholds(first: np.ndarray, recall: float) -> np.ndarray:
    """Thresholds of k scores, all of which a share of the windows (n, k) reaches.

    They have one rank among the windows; of the ranks, the highest that does so.
    """
    ranks = first.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable").min(axis=1)
    rank = int(np.quantile(ranks, 1 - recall, method="lower"))
    return np.sort(first, axis=0)[rank].astype(np.float32)


def train_trees(
    vectors: np.ndarray,
    positive: np.ndarray,
    weight: float,
    learning: Learning,
    *,
    share: float = 1.0,
    shrinkage: float = SHRINKAGE,
) -> BoostedTrees:
    """Boost trees on the bytes of windows.

    Training windows score 1 × ``weight`` away from 0 on average, as SVMs have margins of 1;
    leaves have half precision, as a model file keeps them.
    """
    trees = boost_trees(
        np.ascontiguousarray(vectors.T),
        positive,
        max(round(learning.n_trees * share), 1),
        n_looked_at=min(-(-vectors.shape[1] // LOOKED_AT), MOST_LOOKED_AT),
        depth=learning.tree_depth,
        shrinkage=shrinkage,
        random_state=learning.random_state,
    )
    margins = np.where(positive, 1, -1) * trees.scores(vectors)
    unit = (margins[positive].mean() + margins[~positive].mean()) / 2 or 1.0
    leaves = (trees.leaves * np.float32(weight / unit)).astype(np.float16)
    return replace(trees, leaves=leaves.astype(np.float32))


def _train_linear(
    vectors: np.ndarray, positive: np.ndarray, learning: Learning
) -> tuple[np.ndarray, float]:
    """Weights and intercept of a linear SVM; rows are brought to a mean square length of 1."""
    rows = vectors.astype(np.float32)
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64).mean()) or 1.0
    rows *= np.float32(1 / length)
    solver = LinearSVC(
        C=learning.linear_cost, dual=True, tol=0.1, random_state=learning.random_state
    ).fit(rows, positive)
    return (solver.coef_[0] / length).astype(np.float32), float(solver.intercept_[0])


def score_vectors(
    model: WindowModel, every: Vectors, channels: Sequence[Channel]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first stage's scores of windows, (n, k), and all channels', (n_channels, n)."""
    learned = [model.channels[channel.name] for channel in channels]
    start, trees = learned[0], learned[0].tables
    if isinstance(trees, BoostedTrees):
        first = sums_of_parts(trees, every[0])
    else:
        first = (every[0] @ start.weights + start.intercept)[:, None]
    tables = []
    for own, vectors in zip(learned, every):
        pieces = np.array_split(vectors, max(1, len(vectors) // 256))
        tables.append(np.concatenate([own.tables.scores(rows) for rows in pieces]))
    return first, np.array(tables)
