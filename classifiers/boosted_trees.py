"""Boosting of small trees on bytes: interactions of a few columns, thousands of times."""

from dataclasses import dataclass

import numpy as np

from visualwords.compiled import njit

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
        """The sums of leaves of rows (n, d) uint8, (n,) float32."""
        scores = np.empty(len(rows), np.float32)
        tree_scores(rows, self.features, self.values, self.leaves, scores)
        return scores


def column_type(n_columns: int) -> type[np.unsignedinteger]:
    """The type of the numbers of columns."""
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
        scores += leaves[t][leaf]
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
        best_splits(columns, chosen, rows, weights, labels, node, split, errors)
        descend(columns, split, node, rows)
        levels.append(split)
    every = np.vstack(levels)
    return every[:, 0], every[:, 1].astype(np.uint8)


@njit()
def best_splits(columns, chosen, rows, weights, positive, node, splits, errors):
    """Find each node's split into two sides of unequal classes.

    A split is the worse, the larger Z = Σ over its sides of √(W₊ W₋), W the sides' weights by
    class [Schapire and Singer 1999, Sec. 4.1]. Of equal ones the first is taken.

    columns : (d, n) uint8      chosen : features to look at      rows : samples to look at
    weights, positive, node : (n,)
    splits : (n_nodes, 2) int64, feature and highest value of the left side, written
    errors : (n_nodes,) float64, Z, written
    """
    errors[:] = np.inf
    n_nodes = errors.size
    counts = np.empty((n_nodes, 2, 256), np.float64)
    slot = np.empty(rows.size, np.int64)  # of the node and class, before the value
    for k in range(rows.size):
        slot[k] = (node[rows[k]] * 2 + positive[rows[k]]) * 256
    flat = counts.reshape(-1)
    for feature in chosen:
        flat[:] = 0
        column = columns[feature]
        for k in range(rows.size):
            flat[slot[k] + column[rows[k]]] += weights[rows[k]]
        for n in range(n_nodes):
            against, in_favour = counts[n, 0].sum(), counts[n, 1].sum()
            left_against, left_favour = 0.0, 0.0
            for value in range(255):
                here, there = counts[n, 0, value], counts[n, 1, value]
                if here == 0 and there == 0:
                    continue
                left_against += here
                left_favour += there
                right = max(against - left_against, 0.0) * max(in_favour - left_favour, 0.0)
                error = np.sqrt(left_against * left_favour) + np.sqrt(right)
                if error < errors[n]:
                    errors[n] = error
                    splits[n, 0], splits[n, 1] = feature, value


@njit()
def descend(columns, split, node, rows):
    """node[i] = 2 node[i] + (1 if sample i goes right): one level further down, for some rows.

    split : (n_nodes, 2) int64, feature and highest value of the left side      node : (n,) int64
    """
    for i in rows:
        feature, value = split[node[i], 0], split[node[i], 1]
        node[i] = 2 * node[i] + np.int64(columns[feature, i] > value)


@njit()
def leaf_weights(columns, features, values, weights, positive, leaf, sums):
    """Leaf of each sample in one tree, and the leaves' weights by class.

    features, values : (2^depth − 1,), level by level; the children of node k are 2k + 1 and 2k + 2
    leaf : (n,) int64, written      sums : (2^depth, 2) float64, written
    """
    sums[:] = 0
    n_nodes = features.size
    for i in range(leaf.size):
        k = np.int64(0)
        while k < n_nodes:
            k = 2 * k + 1 + np.int64(columns[features[k], i] > values[k])
        leaf[i] = k - n_nodes
        sums[leaf[i], np.int64(positive[i])] += weights[i]


@njit()
def tree_scores(rows, features, values, leaves, scores):
    """scores[i] = Σ over trees of the leaf that row i reaches.

    rows : (n, d) uint8      features, values : (t, 2^depth − 1)      leaves : (t, 2^depth) float32
    """
    n_nodes = features.shape[1]
    for i in range(rows.shape[0]):
        row, total = rows[i], np.float32(0)
        for t in range(features.shape[0]):
            k = np.int64(0)
            while k < n_nodes:
                k = 2 * k + 1 + np.int64(row[features[t, k]] > values[t, k])
            total += leaves[t, k - n_nodes]
        scores[i] = total
