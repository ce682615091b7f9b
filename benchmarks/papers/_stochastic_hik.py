"""Stochastic gradient steps for the HIK SVM on levels."""

import numpy as np

from visualwords.compiled import njit


@njit()
def descend(levels, y, order, steps, shrinks, table):
    """w ← shrink w, then w += step y B(x) if y wᵀB(x) < 1, sample after sample; B is Eq. (4).

    What is kept is not w but its sums, Eq. (9), so that a score is Σ_j T[j, x_j] and a step adds
    min(x_j, k) to T[j, k].

    levels : (n, d) uint8   y : (n,)   order, steps, shrinks : (t,)   table : (d, v̄ + 1) float32
    """
    scale = 1.0
    for t in range(order.size):
        i = order[t]
        score = np.float32(0)
        for j in range(levels.shape[1]):
            score += table[j, levels[i, j]]
        violated = y[i] * scale * score < 1
        scale *= shrinks[t]
        if violated:
            change = np.float32(steps[t] * y[i] / scale)
            for j in range(levels.shape[1]):
                if levels[i, j] > 0:
                    for k in range(1, table.shape[1]):
                        table[j, k] += change * np.float32(min(k, np.int64(levels[i, j])))
    table *= np.float32(scale)
