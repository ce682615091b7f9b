"""Loops of boosting small trees on bytes."""

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
def add_leaves(leaf, values, scores):
    """scores[i] += values[leaf[i]]"""
    for i in range(leaf.size):
        scores[i] += values[leaf[i]]


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
