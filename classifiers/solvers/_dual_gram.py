"""Loops of dual coordinate descent on a Gram matrix, many one-vs-rest problems at a time."""

import numpy as np

from visualwords.compiled import njit


@njit()
def epoch(gram, order, y, diagonal, curvature, upper, alpha, scores, running, extremes):
    """Visit the samples of ``order`` once in all problems that are still running.

    gram : (n, n) float32                y, alpha, scores : (problems, n)
    scores[p] = gram @ (alpha[p] * y[p]) is kept up to date: a gradient costs one look-up, and a
    row of the matrix is read once for all problems.
    extremes[p] becomes the largest and the smallest projected gradient met.
    """
    extremes[:, 0], extremes[:, 1] = -np.inf, np.inf
    for i in order:
        for p in running:
            old = alpha[p, i]
            gradient = y[p, i] * scores[p, i] - 1.0 + diagonal[i] * old
            projected = gradient
            if old <= 0.0:
                projected = min(gradient, 0.0)
            elif old >= upper[i]:
                projected = max(gradient, 0.0)
            extremes[p, 0] = max(extremes[p, 0], projected)
            extremes[p, 1] = min(extremes[p, 1], projected)
            if projected != 0.0:
                new = min(max(old - gradient / curvature[i], 0.0), upper[i])
                alpha[p, i] = new
                add_row(gram[i], (new - old) * y[p, i], scores[p])


@njit()
def add_row(row, factor, target):
    """target += factor * row."""
    for k in range(row.size):
        target[k] += factor * np.float64(row[k])
