"""Boosting of small trees on bytes: interactions of a few columns, thousands of times."""

from dataclasses import dataclass

import numpy as np

from visualwords.classifiers.solvers._boosted_trees import (
    add_leaves,
    best_splits,
    descend,
    leaf_weights,
    tree_scores,
)

__all__ = ["BoostedTrees", "boost_trees", "column_type"]

MASS = 0.999  # of the weights; the lightest samples beyond it are not looked at in splits
SMALLEST = 1e-4  # weight added to each class of a leaf, so that pure leaves stay finite


@dataclass(frozen=True)
class BoostedTrees:
    """A sum of complete binary trees, each of which compares as many columns as it is deep.

    Attributes
    ----------
    features : (t, 2^depth − 1) uint16, or uint32 where there are more columns
        Columns that nodes compare, level by level: the children of node k are 2k + 1 and 2k + 2.
    values : (t, 2^depth − 1) uint8
        Highest value of a node's left side.
    leaves : (t, 2^depth) float32
        From the left to the right.
    """

    features: np.ndarray
    values: np.ndarray
    leaves: np.ndarray

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Return the sums of leaves of rows (n, d) uint8, (n,) float32."""
        scores = np.empty(len(rows), np.float32)
        tree_scores(rows, self.features, self.values, self.leaves, scores)
        return scores


def column_type(n_columns: int) -> type[np.unsignedinteger]:
    """Return the type of the numbers of columns."""
    return np.uint16 if n_columns <= 1 << 16 else np.uint32


def boost_trees(
    columns: np.ndarray,
    positive: np.ndarray,
    n_trees: int,
    *,
    n_looked_at: int,
    depth: int = 2,
    shrinkage: float = 1.0,
    random_state: int = 0,
) -> BoostedTrees:
    """Boost trees with real-valued leaves (Real AdaBoost).

    Parameters
    ----------
    columns : (d, n) uint8, C order
        One row a feature.
    positive : (n,) bool
        Both classes begin with the same weight.
    n_trees : int
    n_looked_at : int
        Features drawn at random for each tree.
    depth : int
        Comparisons from the root to a leaf.
    shrinkage : float
        Factor of all leaves.
    random_state : int
        The same gives the same trees.

    References
    ----------
    .. [1] R. Schapire, Y. Singer: Improved boosting algorithms using confidence-rated predictions,
       1999.
    """
    n_features, n_samples = columns.shape
    rng = np.random.default_rng(random_state)
    labels = positive.astype(np.int64)
    sign = np.where(positive, -1.0, 1.0)
    start = np.where(positive, 0.5 / max(labels.sum(), 1), 0.5 / max((1 - labels).sum(), 1))
    scores, leaf = np.zeros(n_samples), np.empty(n_samples, np.int64)
    n_leaves = 2**depth
    features = np.empty((n_trees, n_leaves - 1), column_type(n_features))
    values = np.empty((n_trees, n_leaves - 1), np.uint8)
    leaves, sums = np.empty((n_trees, n_leaves), np.float32), np.empty((n_leaves, 2))
    for t in range(n_trees):
        exponents = sign * scores
        weights = start * np.exp(exponents - exponents.max())  # the heaviest never vanishes
        weights /= weights.sum()
        chosen = rng.choice(n_features, min(n_looked_at, n_features), replace=False)
        features[t], values[t] = _grow(columns, np.sort(chosen), weights, labels, depth)
        leaf_weights(columns, features[t], values[t], weights, labels, leaf, sums)
        ratio = (sums[:, 1] + SMALLEST) / (sums[:, 0] + SMALLEST)
        leaves[t] = shrinkage * 0.5 * np.log(ratio)
        add_leaves(leaf, leaves[t], scores)
    return BoostedTrees(features, values, leaves)


def _grow(
    columns: np.ndarray, chosen: np.ndarray, weights: np.ndarray, labels: np.ndarray, depth: int
) -> tuple[np.ndarray, np.ndarray]:
    """Features and thresholds of all nodes of a tree, level by level."""
    order = np.argsort(-weights, kind="stable")
    n = int(np.searchsorted(np.cumsum(weights[order]), MASS)) + 1
    rows = np.sort(order[:n])
    node = np.zeros(len(weights), np.int64)
    levels = []
    for level in range(depth):
        split, errors = np.zeros((2**level, 2), np.int64), np.empty(2**level)
        best_splits(columns, chosen, rows, weights, labels, node, len(split), split, errors)
        descend(columns, split, node, rows)
        levels.append(split)
    every = np.vstack(levels)
    return every[:, 0], every[:, 1].astype(np.uint8)
