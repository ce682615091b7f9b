"""Loops of hierarchical k-means: all nodes of a depth at once."""

import numpy as np

from visualwords.compiled import njit


@njit(fastmath=True)
def _squared_distance(point, center):
    """Σ_j (point_j − center_j)²."""
    total = np.float32(0)
    for j in range(center.size):
        difference = np.float32(point[j]) - center[j]
        total += difference * difference
    return total


@njit()
def nearest_children(points, nodes, centers, n_children, children):
    """children[i] = the child of nodes[i] nearest to points[i]; returns Σ of squared distances.

    points : (n, d) int32      centers : (n_nodes, branching, d) float32
    """
    total = 0.0
    for i in range(points.shape[0]):
        node = nodes[i]
        best, chosen = np.inf, 0
        for k in range(n_children[node]):
            distance = float(_squared_distance(points[i], centers[node, k]))
            if distance < best:
                best, chosen = distance, k
        children[i] = chosen
        total += best
    return total


@njit()
def move_centers(points, nodes, children, centers):
    """Each child's centre becomes the mean of its points; one without points stays."""
    sums = np.zeros(centers.shape, np.float64)
    counts = np.zeros(centers.shape[:2], np.int64)
    for i in range(points.shape[0]):
        counts[nodes[i], children[i]] += 1
        for j in range(points.shape[1]):
            sums[nodes[i], children[i], j] += points[i, j]
    for node in range(centers.shape[0]):
        for k in range(centers.shape[1]):
            if counts[node, k] > 0:
                centers[node, k] = (sums[node, k] / counts[node, k]).astype(np.float32)
