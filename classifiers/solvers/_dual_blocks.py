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
    diagonal, lower, upper, curvature : (b,) float64
        As those of `visualwords.classifiers.solvers.dual_gram.DualProblem`.
    """

    gram: np.ndarray
    signs: np.ndarray
    diagonal: np.ndarray
    lower: np.ndarray
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
    own, signs = alpha.T.copy(), block.signs.T.copy()
    for number in range(orders.shape[0]):
        for c in range(own.shape[0]):
            gain, largest, smallest = visit_samples(
                block.gram, block.diagonal, block.lower, block.upper, block.curvature,
                signs[c], orders[number], own[c], scores[c],
            )  # fmt: skip
            gains[c] += gain
            if number == 0:
                extremes[0, c] = max(extremes[0, c], largest)
                extremes[1, c] = min(extremes[1, c], smallest)
    for i in range(alpha.shape[0]):
        for c in range(alpha.shape[1]):
            changes[i, c] = (own[c, i] - alpha[i, c]) * block.signs[i, c]
            alpha[i, c] = own[c, i]


@njit()
def visit_samples(gram, diagonal, lower, upper, curvature, signs, order, alpha, scores):
    """Change the alpha of one machine, one after the other, and its scores with each.

    An alpha may be out of bounds, from extrapolation; it comes back. Arrays are passed one by one:
    tuples of them would take longer than most visits.

    Returns by how much the dual objective fell, and the largest and smallest projected gradient.
    """
    gain, largest, smallest = 0.0, -np.inf, np.inf
    for i in order:
        sign, old = signs[i], alpha[i]
        if sign == 0:
            continue
        gradient = sign * scores[i] - 1.0 + diagonal[i] * old
        projected = gradient
        if old <= lower[i]:
            projected = min(gradient, 0.0)
        elif old >= upper[i]:
            projected = max(gradient, 0.0)
        largest, smallest = max(largest, projected), min(smallest, projected)
        if projected == 0 and lower[i] <= old <= upper[i]:
            continue
        alpha[i] = min(max(old - gradient / curvature[i], lower[i]), upper[i])
        step = alpha[i] - old
        gain -= step * (gradient + 0.5 * curvature[i] * step)
        if step != 0:
            add_row(gram[i], step * sign, scores)
    return gain, largest, smallest


@njit()
def shrink(block, alpha, scores, bounds, shrunk):
    """Mark samples that leave a machine's problem: alpha = lower and a gradient above bounds[c].

    scores : (lanes, b)      shrunk : (b, lanes) bool
    """
    for i in range(alpha.shape[0]):
        for c in range(alpha.shape[1]):
            sign = block.signs[i, c]
            is_least = alpha[i, c] == block.lower[i]
            if sign != 0 and is_least and sign * scores[c, i] - 1.0 > bounds[c]:
                shrunk[i, c] = True


@njit()
def add_opposed(signs, changes, alpha, before, back):
    """back[c] -= how far the changes, times y, agree with those since ``before``."""
    for i in range(alpha.shape[0]):
        for c in range(alpha.shape[1]):
            back[c] -= changes[i, c] * signs[i, c] * (alpha[i, c] - before[i, c])


@njit()
def add_line(alpha, before, diagonal, slopes, curvatures):
    """Add the derivatives of sum_i (diagonal_i alpha_i² / 2 - alpha_i), leading from ``before``."""
    for i in range(alpha.shape[0]):
        for c in range(alpha.shape[1]):
            step = alpha[i, c] - before[i, c]
            slopes[c] += (diagonal[i] * alpha[i, c] - 1.0) * step
            curvatures[c] += diagonal[i] * step * step


@njit()
def extrapolate(now, before, factors):
    """now += factors × (now - before), and before becomes what now was."""
    for i in range(now.shape[0]):
        for c in range(now.shape[1]):
            value = now[i, c]
            now[i, c] += factors[c] * (value - before[i, c])
            before[i, c] = value


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
