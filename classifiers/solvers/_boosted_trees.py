"""Loops of boosting trees of depth two on bytes."""

import numpy as np

from visualwords.compiled import njit


@njit()
def best_splits(columns, chosen, rows, weights, positive, node, n_nodes, splits, errors):
    """Find each node's split into two sides of unequal classes.

    A split is the worse, the larger Z = Σ over its sides of √(W₊ W₋), W the sides' weights by
    class [Schapire and Singer 1999, Sec. 4.1]. Of equal ones the first is taken.

    columns : (d, n) uint8      chosen : features to look at      rows : samples to look at
    weights, positive, node : (n,)
    splits : (n_nodes, 2) int64, feature and highest value of the left side, written
    errors : (n_nodes,) float64, Z, written
    """
    errors[:] = np.inf
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
def leaf_weights(columns, features, values, weights, positive, leaf, sums):
    """Leaf of each sample in one tree, and the leaves' weights by class.

    features, values : (3,), of the root and of its left and right child
    leaf : (n,) uint8, written      sums : (4, 2) float64, written
    """
    sums[:] = 0
    root, left, right = columns[features[0]], columns[features[1]], columns[features[2]]
    for i in range(leaf.size):
        if root[i] <= values[0]:
            leaf[i] = left[i] > values[1]
        else:
            leaf[i] = 2 + (right[i] > values[2])
        sums[leaf[i], np.int64(positive[i])] += weights[i]


@njit()
def add_leaves(leaf, values, scores):
    """scores[i] += values[leaf[i]]"""
    for i in range(leaf.size):
        scores[i] += values[leaf[i]]


@njit()
def tree_scores(rows, features, values, leaves, scores):
    """scores[i] = Σ over trees of the leaf that row i reaches.

    rows : (n, d) uint8      features, values : (t, 3)      leaves : (t, 4) float32
    """
    for i in range(rows.shape[0]):
        row, total = rows[i], np.float32(0)
        for t in range(features.shape[0]):
            if row[features[t, 0]] <= values[t, 0]:
                total += leaves[t, np.int64(row[features[t, 1]] > values[t, 1])]
            else:
                total += leaves[t, 2 + np.int64(row[features[t, 2]] > values[t, 2])]
        scores[i] = total
