"""The cascade: trees score all windows, then tables of more features those that are still in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from visualwords.apps.detection._window_loops import look_up, partial_sums
from visualwords.apps.detection.window_features import TreeFeature, WindowFeature, window_features
from visualwords.apps.detection.windows import Level, Search, WindowShape, regions
from visualwords.classifiers.boosted_trees import BoostedTrees, column_type
from visualwords.errors import ModelFileError
from visualwords.parallel import map_in_threads

__all__ = ["LEAST_SCORE", "Cascade", "RaggedTables"]

LEAST_SCORE = -0.5  # lowest useful score of a window, whatever the threshold
N_PARTS = 64  # of the trees; after each, windows with a low sum are rejected
TREE_LEAVES = [2**depth for depth in range(1, 9)]


@dataclass(frozen=True)
class RaggedTables:
    """Look-up tables of a HIK classifier: one for each column, as long as the levels in training.

    Attributes
    ----------
    starts : (d + 1,) int64
        First cell of each column's table, which begins with level 0; levels beyond its last cell
        have that one's value.
    cells : (n,) float32

    Examples
    --------
    >>> tables = RaggedTables(np.array([0, 2, 3]), np.array([0, 5, 1], np.float32))
    >>> tables.scores(np.array([[0, 7], [9, 7]], np.uint8)).tolist()
    [1.0, 6.0]
    """

    starts: np.ndarray
    cells: np.ndarray

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """The sums of look-ups of levels (n, d), (n,) float32."""
        scores = np.empty(len(rows), np.float32)
        look_up(rows, self.starts, self.cells, scores)
        return scores


@dataclass(frozen=True)
class Cascade:
    """Everything a detector has learned about windows.

    Attributes
    ----------
    shape : WindowShape
    trees : BoostedTrees
    tables : sequence of RaggedTables
        For the first of the other features of `window_features`; a window's score is the sum of
        the scores of the trees and all tables.
    tree_thresholds : (k,) float32
        Lowest sums after each of k parts of the trees; windows below one are rejected.
    stage_thresholds : sequence of float
        Lowest sum of the scores so far that passes each classifier but the last.
    """

    shape: WindowShape
    trees: BoostedTrees
    tables: Sequence[RaggedTables]
    tree_thresholds: np.ndarray
    stage_thresholds: Sequence[float]

    @cached_property
    def features(self) -> list[WindowFeature]:
        """The features that are scored."""
        return window_features(self.shape)[: 1 + len(self.tables)]

    def scan(
        self, image: np.ndarray, stride: int, threshold: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The windows of an image that pass all stages and reach a threshold.

        Parameters
        ----------
        image : (h, w, 3) or (h, w) uint8
        stride : int
        threshold : float

        Returns
        -------
        corners_yx : (n, 2) int64
        scores : (n,) float32
        """
        least = [*self.stage_thresholds, threshold]
        trees = TreeFeature(self.shape)
        grid = trees.grid_scores(image, stride, self.trees, self.tree_thresholds)
        corners = np.argwhere(grid >= least[0])
        scores, corners = grid[tuple(corners.T)], corners * stride
        for feature, tables, lowest in zip(self.features[1:], self.tables, least[1:]):
            scores = scores.copy()
            for region, chosen in regions(corners, self.shape, stride, feature.margin):
                prepared = feature.prepare(np.ascontiguousarray(image[region]))
                inside = corners[chosen] - [region[0].start, region[1].start]
                scores[chosen] += tables.scores(feature.vectors(prepared, inside))
            kept = scores >= lowest
            corners, scores = corners[kept], scores[kept]
        return corners, scores

    def search(
        self, image: np.ndarray, search: Search, threshold: float, n_jobs: int | None = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """The boxes of the objects in all windows of all sizes that `scan` returns.

        Parameters
        ----------
        image : (h, w, 3) or (h, w) uint8
        search : Search
        threshold : float
        n_jobs : int or None
            Threads, for the scales of the image.

        Returns
        -------
        boxes_xyxy : (n, 4) float64
        scores : (n,) float32
        """
        scan = partial(self._scan_level, search, threshold)
        found = map_in_threads(scan, search.levels(image), n_jobs)
        boxes = np.vstack([np.empty((0, 4)), *(own for own, _ in found)])
        return boxes, np.concatenate([np.empty(0, np.float32), *(own for _, own in found)])

    def _scan_level(
        self, search: Search, threshold: float, make_level: Callable[[], Level]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Scan one level, strip by strip if it is large."""
        level = make_level()
        corners, scores = [np.empty((0, 2), np.int64)], [np.empty(0, np.float32)]
        for start, rows, strip in search.strips(level):
            found, score = self.scan(strip, search.stride, threshold)
            own = (found[:, 0] >= rows.start) & (found[:, 0] < rows.stop)
            corners.append(found[own] + np.array([start, 0]))
            scores.append(score[own])
        return search.boxes(level, np.vstack(corners)), np.concatenate(scores)

    def scores_of(self, vectors: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The sums after each part of the trees, (n, 64), and all scores, (features, n).

        Parameters
        ----------
        vectors : sequence of (n, d) arrays
            Windows by each feature.
        """
        trees = self.trees
        sums = np.empty((len(vectors[0]), N_PARTS), np.float32)
        partial_sums(vectors[0], trees.features, trees.values, trees.leaves, sums)
        others = [tables.scores(own) for tables, own in zip(self.tables, vectors[1:])]
        return sums, np.array([trees.scores(vectors[0]), *others])

    def arrays(self) -> dict[str, np.ndarray]:
        """The state that a model file keeps: trees, and tables in half precision."""
        first, *others = (feature.name for feature in self.features)
        kept = {f"{first}/features": self.trees.features, f"{first}/values": self.trees.values}
        kept[f"{first}/leaves"] = self.trees.leaves.astype(np.float16)
        for name, tables in zip(others, self.tables):
            kept[f"{name}/tops"] = (np.diff(tables.starts) - 1).astype(np.uint16)
            kept[f"{name}/cells"] = tables.cells.astype(np.float16)
        return kept

    @classmethod
    def of_arrays(
        cls,
        shape: WindowShape,
        arrays: Mapping[str, np.ndarray],
        tree_thresholds: Sequence[float],
        stage_thresholds: Sequence[float],
    ) -> "Cascade":
        """The cascade of a model file; ``ModelFileError`` if its parts do not fit."""
        features = window_features(shape)
        first = np.array([float(value) for value in tree_thresholds], np.float32)
        stages = tuple(float(value) for value in stage_thresholds)
        if not first.size or len(stages) != len(features) - 1:
            raise ModelFileError(f"{len(stages)} thresholds for {len(features)} features")
        tables = [_tables(feature, arrays) for feature in features[1:]]
        return cls(shape, _trees(features[0], arrays), tables, first, stages)


def _trees(feature: WindowFeature, arrays: Mapping[str, np.ndarray]) -> BoostedTrees:
    features, values, leaves = (
        arrays[f"{feature.name}/{part}"] for part in ("features", "values", "leaves")
    )
    n, n_leaves = leaves.shape if leaves.ndim == 2 else (0, 0)
    fits = features.shape == values.shape == (n, n_leaves - 1) and n and n_leaves in TREE_LEAVES
    if not fits or not 0 <= features.min() <= features.max() < feature.n_columns:
        raise ModelFileError(f"the trees of {feature.name} do not fit the window")
    columns = features.astype(column_type(feature.n_columns))
    return BoostedTrees(columns, values.astype(np.uint8), _finite(feature, leaves))


def _tables(feature: WindowFeature, arrays: Mapping[str, np.ndarray]) -> RaggedTables:
    tops, cells = (arrays[f"{feature.name}/{part}"] for part in ("tops", "cells"))
    starts = np.concatenate([[0], np.cumsum(tops.astype(np.int64) + 1)])
    if tops.ndim != 1 or len(tops) != feature.n_columns or cells.shape != (starts[-1],):
        raise ModelFileError(f"the tables of {feature.name} do not fit the window")
    return RaggedTables(starts, _finite(feature, cells))


def _finite(feature: WindowFeature, values: np.ndarray) -> np.ndarray:
    if not np.isfinite(values).all():
        raise ModelFileError(f"the tables of {feature.name} hold values that are not numbers")
    return values.astype(np.float32)
