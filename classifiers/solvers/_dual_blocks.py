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
        ±1; 0 where a sample takes no part in a machine's problem.
    diagonal, upper, curvature : (b,) float64
        As those of `visualwords.classifiers.solvers.dual_gram.DualProblem`.
    """

    gram: np.ndarray
    signs: np.ndarray
    diagonal: np.ndarray
    upper: np.ndarray
    curvature: np.ndarray


@njit()
def fill_signs(codes, folds, positive, excluded, signs):
    """signs[i, c] = 1 if sample i is of class positive[c], else −1; 0 in fold excluded[c]."""
    for i in range(codes.size):
        for c in range(positive.size):
            sign = 1.0 if codes[i] == positive[c] else -1.0
            signs[i, c] = 0.0 if folds[i] == excluded[c] else sign


@njit()
def visit_block(block, orders, live, alpha, scores, changes, extremes):
    """Minimise over the block's alpha by some passes, of which each visits in an order of its own.

    orders : (passes, b) int64                live : (lanes,) 0 or 1
    alpha : (b, lanes)      scores : (b, lanes), kept up to date    changes : (b, lanes) of alpha y
    extremes : (2, lanes)   largest and smallest projected gradient of the first pass
    """
    b, lanes = alpha.shape
    steps = np.empty(lanes, alpha.dtype)
    changes[:] = 0
    for number in range(orders.shape[0]):
        for i in orders[number]:
            if choose_steps(block, i, live, alpha, scores, number == 0, extremes, steps):
                for c in range(lanes):
                    changes[i, c] += steps[c]
                for k in range(b):
                    product = block.gram[i, k]
                    for c in range(lanes):
                        scores[k, c] += product * steps[c]


@njit()
def choose_steps(block, i, live, alpha, scores, first, extremes, steps):
    """Change alpha[i]; steps become its changes times y; return whether there are any."""
    moved = False
    diagonal, upper, curvature = block.diagonal[i], block.upper[i], block.curvature[i]
    for c in range(steps.size):
        steps[c] = 0
        sign = block.signs[i, c]
        if sign == 0 or live[c] == 0:
            continue
        old = alpha[i, c]
        gradient = sign * scores[i, c] - 1.0 + diagonal * old
        projected = gradient
        if old <= 0:
            projected = min(gradient, 0.0)
        elif old >= upper:
            projected = max(gradient, 0.0)
        if first:
            extremes[0, c] = max(extremes[0, c], projected)
            extremes[1, c] = min(extremes[1, c], projected)
        if projected != 0:
            alpha[i, c] = min(max(old - gradient / curvature, 0.0), upper)
            steps[c] = (alpha[i, c] - old) * sign
            moved |= steps[c] != 0
    return moved


@njit()
def add_objectives(block, alpha, scores, sums):
    """Add up, for every machine, Σ α, ½ Σ D α² and the losses of the block's samples.

    sums : (3, lanes) float64
    """
    for i in range(alpha.shape[0]):
        diagonal = block.diagonal[i]
        for c in range(alpha.shape[1]):
            sign, a = block.signs[i, c], np.float64(alpha[i, c])
            slack = max(1.0 - sign * scores[i, c], 0.0)
            sums[0, c] += a
            sums[1, c] += 0.5 * diagonal * a * a
            if sign != 0 and slack > 0:
                if diagonal > 0:
                    sums[2, c] += slack * slack / (2.0 * diagonal)
                else:
                    sums[2, c] += block.upper[i] * slack
