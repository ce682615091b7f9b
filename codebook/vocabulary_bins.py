"""Bins of the pyramid match that follow the data: cells of hierarchical k-means."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from visualwords.codebook._vocabulary_tree import move_centers, nearest_children
from visualwords.codebook.partition import Step
from visualwords.codebook.point_sets import as_feature_sets

__all__ = ["VocabularyBins"]

_SMALLEST_RADIUS = 1e-3  # of cells, in units of the radius of all points


class VocabularyBins(BaseEstimator):
    """Cells of a vocabulary tree, in place of uniform grids, for the pyramid match.

    A uniform grid in many dimensions has far more bins than points, and nothing meets in them.
    Here the points of training sets are split by k-means into ``branching`` cells, each of these
    again, and so on. A pair of points first matched in cells of depth l counts r_deepest / r_l,
    where r_l is the root mean square distance of training points from their cell's centre.

    Parameters
    ----------
    branching : int in 2 … 256, default 10
        Cells into which a cell is split.
    depth : int ≥ 1, default 4
        Number of splits, one after the other.
    n_trees : int ≥ 1, default 1, keyword only
        Trees from different starting centres, whose matches add up: what random shifts are to a
        grid.
    max_iter : int, default 10
        Steps of k-means at every depth.
    sample_size : int, default 200_000
        Points to learn from, drawn at random.
    random_state : int, RandomState or None, default 0

    Attributes
    ----------
    centers_ : list of (n_nodes, branching, d) float32, one for every tree and depth
    n_children_ : list of (n_nodes,) int64
    radii_ : (n_trees, depth + 1) float64
        From the one cell of all points down.

    Notes
    -----
    Deviations: cells in place of grids were proposed by the kernel's authors in [Grauman07], where
    every bin has a weight of its own; here all bins of a depth share one, which keeps the kernel
    positive semi-definite whatever the cells.

    References
    ----------
    .. [Grauman07] K. Grauman, T. Darrell, "Approximate Correspondences in High Dimensions", NIPS
       2006.

    Examples
    --------
    >>> import numpy as np
    >>> from visualwords.classifiers.kernels import pyramid_match
    >>> rng = np.random.default_rng(0)
    >>> sets = [rng.integers(0, 100, (30, 64)) // 50 * 50 for _ in range(4)]
    >>> bins = VocabularyBins(branching=4, depth=3).fit(sets)
    >>> pyramid_match(sets, bins=bins).shape
    (4, 4)
    """

    def __init__(
        self,
        branching: int = 10,
        depth: int = 4,
        *,
        n_trees: int = 1,
        max_iter: int = 10,
        sample_size: int = 200_000,
        random_state: Any = 0,
    ) -> None:
        self.branching = branching
        self.depth = depth
        self.n_trees = n_trees
        self.max_iter = max_iter
        self.sample_size = sample_size
        self.random_state = random_state

    def fit(self, sets: Any, y: Any = None) -> "VocabularyBins":
        """Learn the trees.

        Parameters
        ----------
        sets : FeatureSets, or sequence of (n_i, d) arrays
        y : ignored
        """
        if not 2 <= self.branching <= 256 or self.depth < 1 or self.n_trees < 1:
            raise ValueError(
                f"branching={self.branching}, depth={self.depth}, n_trees={self.n_trees}: needed "
                "are 2 … 256, at least 1 and at least 1"
            )
        points = as_feature_sets(sets).points
        if not len(points):
            raise ValueError("all sets are empty; a vocabulary needs points to learn from")
        rng = check_random_state(self.random_state)
        self.centers_: list[np.ndarray] = []
        self.n_children_: list[np.ndarray] = []
        radii = []
        for _ in range(self.n_trees):
            order = rng.permutation(len(points))[: self.sample_size]
            radii.append(self._grow(np.ascontiguousarray(points[order])))
        self.radii_ = np.array(radii)
        return self

    def digits(self, points: np.ndarray) -> np.ndarray:
        """Return the path of every point down every tree: (n, n_trees · depth) int32.

        Parameters
        ----------
        points : (n, d) int32
        """
        check_is_fitted(self)
        n, d = points.shape
        if n and d != self.centers_[0].shape[2]:
            raise ValueError(
                f"points have {d} dimensions; the vocabulary has {self.centers_[0].shape[2]}"
            )
        paths = np.empty((n, self.n_trees * self.depth), np.int32)
        child = np.empty(n, np.int64)
        for column in range(paths.shape[1]):
            if column % self.depth == 0:
                nodes = np.zeros(n, np.int64)
            centers, n_children = self.centers_[column], self.n_children_[column]
            nearest_children(points, nodes, centers, n_children, child)
            paths[:, column] = child
            nodes = nodes * self.branching + child
        return paths

    @property
    def n_layers(self) -> int:
        """Number of pyramids whose matches add up."""
        return self.n_trees

    @property
    def top_weight(self) -> float:
        """What a pair counts that only the one cell of all points holds."""
        return float(self._pair_weights()[0])

    @property
    def own_weight(self) -> float:
        """What a point matched to itself counts."""
        return 1.0

    def origin(self, layer: int) -> np.ndarray:
        """Return zeros: paths have no negative digits."""
        return np.zeros(self.n_trees * self.depth, np.int32)

    def inside(self, points: np.ndarray, layer: int) -> np.ndarray:
        """Return True for all points: the cells cover everything."""
        return np.ones(len(points), bool)

    def steps(self, layer: int) -> list[Step]:
        """Return the splits of one tree, from the top."""
        bits = int(self.branching - 1).bit_length()
        gains = np.diff(self._pair_weights())
        return [
            Step(column, column + 1, 0, bits, float(gains[k]), self.depth - 1 - k)
            for k, column in enumerate(range(layer * self.depth, (layer + 1) * self.depth))
        ]

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        check_is_fitted(self)
        return {
            "centers": np.concatenate(self.centers_),
            "n_children": np.concatenate(self.n_children_),
            "radii": self.radii_,
        }

    def set_state(self, state: dict[str, np.ndarray]) -> "VocabularyBins":
        """Become the bins, of the same parameters, whose :meth:`get_state` this is."""
        sizes = np.tile(self.branching ** np.arange(self.depth), self.n_trees)
        ends = np.cumsum(sizes)[:-1]
        centers = np.asarray(state["centers"], np.float32)
        n_children = np.asarray(state["n_children"], np.int64)
        n_nodes = int(sizes.sum())
        if (
            centers.ndim != 3
            or centers.shape[:2] != (n_nodes, self.branching)
            or n_children.shape != (n_nodes,)
            or not 1 <= n_children.min() <= n_children.max() <= self.branching
        ):
            raise ValueError("the trees do not belong together; the file is damaged")
        self.centers_ = np.split(centers, ends)
        self.n_children_ = np.split(n_children, ends)
        self.radii_ = np.asarray(state["radii"], np.float64)
        return self

    def _grow(self, points: np.ndarray) -> np.ndarray:
        """Split the cells ``depth`` times; return the radii, from that of all points down."""
        nodes, child = np.zeros(len(points), np.int64), np.empty(len(points), np.int64)
        radii = [float(np.sqrt(points.var(axis=0, dtype=np.float64).sum()))]
        for depth in range(self.depth):
            n_nodes = self.branching**depth
            centers, n_children = _first_points(points, nodes, n_nodes, self.branching)
            for _ in range(self.max_iter):
                nearest_children(points, nodes, centers, n_children, child)
                move_centers(points, nodes, child, centers)
            total = nearest_children(points, nodes, centers, n_children, child)
            radii.append(float(np.sqrt(total / len(points))))
            self.centers_.append(centers)
            self.n_children_.append(n_children)
            nodes = nodes * self.branching + child
        return np.minimum.accumulate(radii)

    def _pair_weights(self) -> np.ndarray:
        """What a matched pair counts, from the cell of all points down: rising to 1."""
        radii = self.radii_.mean(axis=0)
        radii = np.maximum(radii, max(radii[0], 1.0) * _SMALLEST_RADIUS)
        return radii[-1] / radii


def _first_points(
    points: np.ndarray, nodes: np.ndarray, n_nodes: int, branching: int
) -> tuple[np.ndarray, np.ndarray]:
    """The first points of every node as centres (points are in random order), and their number."""
    order = np.argsort(nodes, kind="stable")
    starts = np.searchsorted(nodes[order], np.arange(n_nodes + 1))
    n_children = np.minimum(np.diff(starts), branching)
    centers = np.zeros((n_nodes, branching, points.shape[1]), np.float32)
    for k in range(branching):
        some = np.flatnonzero(n_children > k)
        centers[some, k] = points[order[starts[some] + k]]
    return centers, np.maximum(n_children, 1)
