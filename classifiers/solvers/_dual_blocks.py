"""Loops of dual coordinate descent inside a block of samples, for many machines at a time."""

import numpy as np

from visualwords.compiled import njit


@njit()
def fill_signs(samples, machines, live, shrunk, signs):
    """signs[i, c] = 1 if sample i is of machine c's class, else −1; 0 where it is not visited.

    That is in the fold that is excluded, of machines that are not live, and where shrunk[i, c].
    """
    for i in range(samples.codes.size):
        for c in range(machines.positive.size):
            sign = 1.0 if samples.codes[i] == machines.positive[c] else -1.0
            visited = live[c] and not shrunk[i, c] and samples.folds[i] != machines.excluded[c]
            signs[i, c] = sign if visited else 0.0


@njit()
def visit_block(gram, problem, signs, orders, alpha, scores, extremes, gains):
    """Minimise over the block's alpha by some passes, of which each visits in an order of its own.

    gram : (b, b) float32   signs, alpha : (lanes, b)      orders : (passes, b) int64
    scores : (lanes, b), kept up to date
    extremes : (2, lanes)   largest and smallest projected gradient of the first pass
    gains : (lanes,)        by how much the dual objective fell, added up
    """
    diagonal, lower, upper, curvature = problem
    for c in range(alpha.shape[0]):
        own, score, sign = alpha[c], scores[c], signs[c]
        for number in range(orders.shape[0]):
            largest, smallest = -np.inf, np.inf
            for i in orders[number]:
                if sign[i] == 0:
                    continue
                old = own[i]
                gradient = sign[i] * score[i] - 1.0 + diagonal[i] * old
                projected = gradient
                if old <= lower[i]:
                    projected = min(gradient, 0.0)
                elif old >= upper[i]:
                    projected = max(gradient, 0.0)
                largest, smallest = max(largest, projected), min(smallest, projected)
                if projected == 0:
                    continue
                own[i] = min(max(old - gradient / curvature[i], lower[i]), upper[i])
                step = own[i] - old
                gains[c] -= step * (gradient + 0.5 * curvature[i] * step)
                if step != 0:
                    add_row(gram[i], step * sign[i], score)
            if number == 0:
                extremes[0, c] = max(extremes[0, c], largest)
                extremes[1, c] = min(extremes[1, c], smallest)


@njit()
def add_row(row, step, scores):
    """scores += step × row."""
    for k in range(np.uint64(scores.size)):
        scores[k] += step * row[k]


@njit()
def shrink(problem, signs, alpha, scores, bounds, shrunk):
    """Mark samples that leave a machine's problem: alpha = lower and a gradient above bounds[c].

    signs, alpha, scores : (lanes, b)      shrunk : (b, lanes) bool
    """
    for c in range(alpha.shape[0]):
        for i in range(alpha.shape[1]):
            is_least = signs[c, i] != 0 and alpha[c, i] == problem.lower[i]
            if is_least and signs[c, i] * scores[c, i] - 1.0 > bounds[c]:
                shrunk[i, c] = True


@njit()
def fill_gram(band, factor, gram):
    """gram[i, j] = gram[j, i] = factor × band[i, j − i], j ≥ i."""
    for i in range(gram.shape[0]):
        for j in range(i, gram.shape[0]):
            gram[i, j] = gram[j, i] = factor * band[i, j - i]
