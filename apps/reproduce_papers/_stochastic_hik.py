"""Stochastic gradient steps for the HIK SVM on levels."""

import numpy as np

from visualwords.compiled import njit


@njit()
def descend(levels, y, order, steps, shrinks, w):
    """w ← shrink w, then w += step y B(x) if y wᵀB(x) < 1, sample after sample; B is Eq. (4).

    levels : (n, d) uint8   y : (n,)   order, steps, shrinks : (t,)   w : (d, v̄ + 1), w[:, 0] unused
    """
    scale = 1.0
    for t in range(order.size):
        i = order[t]
        score = np.float32(0)
        for j in range(levels.shape[1]):
            for k in range(1, levels[i, j] + 1):
                score += w[j, k]
        violated = y[i] * scale * score < 1
        scale *= shrinks[t]
        if violated:
            change = np.float32(steps[t] * y[i] / scale)
            for j in range(levels.shape[1]):
                for k in range(1, levels[i, j] + 1):
                    w[j, k] += change
    w *= np.float32(scale)
