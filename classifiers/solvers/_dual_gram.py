"""Loops of dual coordinate descent on a Gram matrix.

Samples are visited in blocks: inside a block only the block's own scores are kept up to date, and
its steps are added to all scores at its end, so that these are read once a block and not once a
step. The steps are those of visiting one by one.
"""

import numpy as np

from visualwords.compiled import njit

BLOCK = 16  # samples
_TOGETHER = 8  # rows that are added in one pass over the scores


@njit()
def epoch(gram, order, y, problem, alpha, scores):
    """Visit the samples of ``order`` once; return the extremes of the projected gradient.

    gram : (n, n) float32                y, alpha : (n,) float64
    scores : (n,) float32 or float64; gram @ (alpha * y) is kept up to date
    """
    diagonal, upper, curvature = problem.diagonal, problem.upper, problem.curvature
    largest, smallest = -np.inf, np.inf
    near, here = np.empty((BLOCK, BLOCK)), np.empty(BLOCK)
    moved, steps = np.zeros(BLOCK, np.int64), np.zeros(BLOCK, scores.dtype)
    for start in range(0, order.size, BLOCK):
        rows = order[start : start + BLOCK]
        count = 0
        for k in range(rows.size):
            here[k] = scores[rows[k]]
            for other in range(k):
                near[other, k] = gram[rows[k], rows[other]]
        for k in range(rows.size):
            i = rows[k]
            old = alpha[i]
            gradient = y[i] * here[k] - 1.0 + diagonal[i] * old
            projected = gradient
            if old <= 0.0:
                projected = min(gradient, 0.0)
            elif old >= upper[i]:
                projected = max(gradient, 0.0)
            largest, smallest = max(largest, projected), min(smallest, projected)
            if projected != 0.0:
                alpha[i] = min(max(old - gradient / curvature[i], 0.0), upper[i])
                step = (alpha[i] - old) * y[i]
                for other in range(k + 1, rows.size):
                    here[other] += step * near[k, other]
                moved[count], steps[count] = i, step
                count += 1
        steps[count:] = 0
        for k in range(0, count, _TOGETHER):
            add_rows(gram, moved[k:], steps[k:], scores)
    return largest, smallest


@njit(fastmath={"contract", "reassoc"})
def add_rows(gram, rows, steps, scores):
    """scores += sum_k steps[k] gram[rows[k]] of eight rows."""
    a, b, c, d = steps[0], steps[1], steps[2], steps[3]
    e, f, g, h = steps[4], steps[5], steps[6], steps[7]
    x0, x1, x2, x3 = gram[rows[0]], gram[rows[1]], gram[rows[2]], gram[rows[3]]
    x4, x5, x6, x7 = gram[rows[4]], gram[rows[5]], gram[rows[6]], gram[rows[7]]
    for v in range(np.uint64(scores.size)):
        scores[v] += (
            (a * x0[v] + b * x1[v]) + (c * x2[v] + d * x3[v])
            + (e * x4[v] + f * x5[v]) + (g * x6[v] + h * x7[v])
        )  # fmt: skip
