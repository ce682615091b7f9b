"""Loops of dual coordinate descent for the Crammer–Singer multi-class SVM.

Sample i has one alpha_m for every class m, alpha_m <= C_i for its own class and <= 0 for the
others, with sum 0; w_m = sum_i alpha_im B(x_i). One visit solves for all classes of a sample.
"""

import numpy as np

from visualwords.compiled import njit


@njit()
def best_alpha(linear, curvature, cost, own, out):
    """Minimise ½ curvature |a|² + linear·a over the alphas of one sample, exactly, by sorting.

    [LIBLINEAR, Keerthi et al. 2008]: a_m = min(bound_m, (beta − linear_m) / curvature).
    """
    shifted = linear.copy()
    shifted[own] += curvature * cost
    shifted = -np.sort(-shifted)
    beta, r = shifted[0] - curvature * cost, 1
    while r < shifted.size and beta < r * shifted[r]:
        beta += shifted[r]
        r += 1
    beta /= r
    for m in range(linear.size):
        bound = cost if m == own else 0.0
        out[m] = min(bound, (beta - linear[m]) / curvature)


@njit()
def violation_of(gradient, alpha, cost, own):
    """How far the gradients of one sample are from optimal: max G − min G over what can fall."""
    smallest = np.inf
    for m in range(gradient.size):
        if alpha[m] < (cost if m == own else 0.0):
            smallest = min(smallest, gradient[m])
    return max(gradient.max() - smallest, 0.0)


@njit()
def gram_epoch(gram, order, labels, norms, cost, alpha, scores):
    """Visit samples with scores[m] = gram @ alpha[:, m] kept up to date; returns the violation."""
    worst = 0.0
    new = np.empty(alpha.shape[1])
    for i in order:
        gradient = scores[:, i] + 1.0
        gradient[labels[i]] -= 1.0
        worst = max(worst, violation_of(gradient, alpha[i], cost[i], labels[i]))
        best_alpha(gradient - norms[i] * alpha[i], norms[i], cost[i], labels[i], new)
        for m in range(new.size):
            change = new[m] - alpha[i, m]
            if abs(change) > 1e-12 * cost[i]:
                alpha[i, m] = new[m]
                for k in range(gram.shape[0]):
                    scores[m, k] += change * np.float64(gram[i, k])
    return worst


@njit()
def table_epoch(codes, offsets, heights, order, labels, norms, cost, alpha, tables):
    """The same on tables (cells, classes)  [Wu10, Eq. 6 and 12]; codes : (n, d) or flat rows."""
    worst = 0.0
    n_classes = alpha.shape[1]
    new, gradient = np.empty(n_classes), np.empty(n_classes)
    for i in order:
        gradient[:] = 1.0
        gradient[labels[i]] = 0.0
        for j in range(codes.shape[1]):
            gradient += tables[offsets[j] + codes[i, j]]
        worst = max(worst, violation_of(gradient, alpha[i], cost[i], labels[i]))
        best_alpha(gradient - norms[i] * alpha[i], norms[i], cost[i], labels[i], new)
        change = new - alpha[i]
        alpha[i] = new
        for j in range(codes.shape[1]):
            height = heights[offsets[j] + codes[i, j]]
            if height > 0:
                for k in range(offsets[j] + 1, offsets[j + 1]):
                    tables[k] += min(heights[k], height) * change
    return worst
