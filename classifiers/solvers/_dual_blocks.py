"""Loops of dual coordinate descent inside a block of samples, for many machines at a time."""

from typing import NamedTuple

import numpy as np

from visualwords.compiled import njit


class Block(NamedTuple):
    """The samples of a block.

    Attributes
    ----------
    gram : (b, b) float32
    signs : (b, lanes)
        ±1; 0 where a sample is not to be visited for a machine.
    diagonal, upper, curvature : (b,) float64
        As those of `visualwords.classifiers.solvers.dual_gram.DualProblem`.
    """

    gram: np.ndarray
    signs: np.ndarray
    diagonal: np.ndarray
    upper: np.ndarray
    curvature: np.ndarray


@njit()
def fill_signs(codes, folds, positive, excluded, live, shrunk, signs):
    """signs[i, c] = 1 if sample i is of class positive[c], else −1.

    0 in fold excluded[c], of machines that are not live, and where shrunk[i, c].
    """
    for i in range(codes.size):
        for c in range(positive.size):
            sign = 1.0 if codes[i] == positive[c] else -1.0
            visited = live[c] and not shrunk[i, c] and folds[i] != excluded[c]
            signs[i, c] = sign if visited else 0.0


@njit()
def visit_block(block, orders, alpha, scores, changes, extremes, gains):
    """Minimise over the block's alpha by some passes, of which each visits in an order of its own.

    orders : (passes, b) int64
    alpha : (b, lanes)      scores : (lanes, b), kept up to date    changes : (b, lanes) of alpha y
    extremes : (2, lanes)   largest and smallest projected gradient of the first pass
    gains : (lanes,)        by how much the dual objective fell, added up
    """
    lanes = alpha.shape[1]
    changes[:] = 0
    for number in range(orders.shape[0]):
        for i in orders[number]:
            for c in range(lanes):
                step = choose_step(block, i, c, alpha, scores, number == 0, extremes, gains)
                if step != 0:
                    changes[i, c] += step
                    add_row(block.gram[i], step, scores[c])


@njit()
def choose_step(block, i, c, alpha, scores, first, extremes, gains):
    """Change alpha[i, c]; return its change times y."""
    sign, old = block.signs[i, c], alpha[i, c]
    if sign == 0:
        return old - old
    gradient = sign * scores[c, i] - 1.0 + block.diagonal[i] * old
    projected = gradient
    if old <= 0:
        projected = min(gradient, 0.0)
    elif old >= block.upper[i]:
        projected = max(gradient, 0.0)
    if first:
        extremes[0, c] = max(extremes[0, c], projected)
        extremes[1, c] = min(extremes[1, c], projected)
    if projected == 0:
        return old - old
    alpha[i, c] = min(max(old - gradient / block.curvature[i], 0.0), block.upper[i])
    step = alpha[i, c] - old
    gains[c] -= step * (gradient + 0.5 * block.curvature[i] * step)
    return step * sign


@njit()
def shrink(block, alpha, scores, bounds, shrunk):
    """Mark samples that leave a machine's problem: alpha = 0 and a gradient above bounds[c].

    scores : (lanes, b)      shrunk : (b, lanes) bool
    """
    for i in range(alpha.shape[0]):
        for c in range(alpha.shape[1]):
            sign = block.signs[i, c]
            if sign != 0 and alpha[i, c] == 0 and sign * scores[c, i] - 1.0 > bounds[c]:
                shrunk[i, c] = True


@njit()
def add_row(row, step, scores):
    """scores += step × row."""
    for k in range(np.uint64(scores.size)):
        scores[k] += step * row[k]


@njit()
def cut_band(products, width, band):
    """band[i, k] = products[i, i + k], k < width, as far as there are columns; else 0."""
    for i in range(band.shape[0]):
        for k in range(width):
            band[i, k] = products[i, i + k] if i + k < products.shape[1] else 0.0


@njit()
def fill_gram(band, factor, gram):
    """gram[i, j] = gram[j, i] = factor × band[i, j − i], j ≥ i."""
    for i in range(gram.shape[0]):
        for j in range(i, gram.shape[0]):
            gram[i, j] = gram[j, i] = factor * band[i, j - i]
