"""Loops of the papers' baselines: coordinate descent, stochastic gradients, kernels of sets."""

import numpy as np

from visualwords.compiled import njit


@njit()
def step(gradient, alpha, curvature, cost):
    """New α and the projected gradient: line 7 of [Yang12], Algorithm 1."""
    projected = gradient
    if alpha <= 0:
        projected = min(gradient, np.float32(0))
    elif alpha >= cost:
        projected = max(gradient, np.float32(0))
    if projected != 0:
        alpha = min(max(alpha - gradient / curvature, np.float32(0)), cost)
    return alpha, projected


@njit()
def pass_with_tables(order, y, Q, cost, alpha, a, index, bounds, value, read, write):
    """Lines 4 to 9 of [Yang12], Algorithm 3, degree 2: a score is Σ_q a[j]·read[h], a step a write.

    read, write : (b + 1, 3) float32, the powers 1, T₁, T₁² and T₂ of PmSVM-LUT; of the feature map
    both are its three numbers, and the pass is LIBLINEAR's on features that are not stored.
    """
    b = np.float32(len(read) - 1)
    largest, smallest = -np.inf, np.inf
    for i in order:
        g = np.float32(0)
        for q in range(bounds[i], bounds[i + 1]):
            j, h = index[q], int(b * value[q])
            for k in range(3):
                g += a[j, k] * read[h, k]
        new, projected = step(y[i] * g - np.float32(1), alpha[i], Q[i], cost)
        largest, smallest = max(largest, projected), min(smallest, projected)
        if new != alpha[i]:
            delta = (new - alpha[i]) * y[i]
            alpha[i] = new
            for q in range(bounds[i], bounds[i + 1]):
                j, h = index[q], int(b * value[q])
                for k in range(3):
                    a[j, k] += delta * write[h, k]
    return largest, smallest


@njit()
def pass_precomputed(order, y, Q, cost, alpha, a, index, bounds, logs, mean1, mean2, c0, inverse):
    """Lines 4 to 9 of [Yang12], Algorithm 2, degree 2, with M_p(c_0, x) taken as c_0 (Sec. 5)."""
    largest, smallest = -np.inf, np.inf
    for i in order:
        g = np.float32(0)
        for q in range(bounds[i], bounds[i + 1]):
            j, t = index[q], logs[q]
            g += a[j, 0] + a[j, 1] * t + a[j, 2] * t * t
        new, projected = step(y[i] * g - np.float32(1), alpha[i], Q[i], cost)
        largest, smallest = max(largest, projected), min(smallest, projected)
        if new != alpha[i]:
            delta = (new - alpha[i]) * y[i]
            alpha[i] = new
            for q in range(bounds[i], bounds[i + 1]):
                j = index[q]
                for k in range(3):
                    a[j, k] += delta * (
                        inverse[k, 0] * c0 + inverse[k, 1] * mean1[q] + inverse[k, 2] * mean2[q]
                    )
    return largest, smallest


@njit()
def scores_by_logarithm(index, value, bounds, a, scores):
    """[Yang12], Eq. (9): a logarithm for every value of a test row.  a : (n_classes, d, 3)"""
    for i in range(bounds.size - 1):
        for q in range(bounds[i], bounds[i + 1]):
            j, t = index[q], np.log(value[q] + np.float32(0.05))
            for c in range(a.shape[0]):
                scores[i, c] += a[c, j, 0] + a[c, j, 1] * t + a[c, j, 2] * t * t


@njit()
def scores_by_table(index, value, bounds, a, read, scores):
    """[Yang12], Eq. (20): the table's entry for every value of a test row."""
    b = np.float32(len(read) - 1)
    for i in range(bounds.size - 1):
        for q in range(bounds[i], bounds[i + 1]):
            j, h = index[q], int(b * min(value[q], np.float32(1)))
            for c in range(a.shape[0]):
                for k in range(3):
                    scores[i, c] += a[c, j, k] * read[h, k]


@njit()
def descend(levels, y, order, steps, shrinks, table):
    """w ← shrink w; w += step y B(x) if y wᵀB(x) < 1; sample by sample, B of [Wu10], Eq. (4).

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


@njit()
def best_partners(points, bounds, scale, gram):
    """The mean, over both of two sets, of every point's exp(−‖x − y‖² / scale) to its best partner.

    points : (n, d) float64   bounds : (n_sets + 1,)   gram : (n_sets, n_sets)
    """
    for i in range(bounds.size - 1):
        for j in range(i + 1):
            first, second = bounds[i + 1] - bounds[i], bounds[j + 1] - bounds[j]
            if first == 0 or second == 0:
                continue
            nearest = np.full(second, np.inf)
            total = 0.0
            for p in range(bounds[i], bounds[i + 1]):
                least = np.inf
                for q in range(second):
                    apart = distance(points, p, bounds[j] + q)
                    least, nearest[q] = min(least, apart), min(nearest[q], apart)
                total += np.exp(-least / scale)
            gram[i, j] = gram[j, i] = (total / first + np.exp(-nearest / scale).mean()) / 2


@njit()
def sums_over_pairs(points, bounds, scale, gram):
    """The mean of exp(−‖x − y‖² / scale) over all pairs of points of two sets; likewise."""
    for i in range(bounds.size - 1):
        for j in range(i + 1):
            total = 0.0
            for p in range(bounds[i], bounds[i + 1]):
                for q in range(bounds[j], bounds[j + 1]):
                    total += np.exp(-distance(points, p, q) / scale)
            n_pairs = (bounds[i + 1] - bounds[i]) * (bounds[j + 1] - bounds[j])
            gram[i, j] = gram[j, i] = total / max(n_pairs, 1)


@njit()
def distance(points, p, q):
    """Squared Euclidean distance of two points."""
    apart = 0.0
    for k in range(points.shape[1]):
        between = points[p, k] - points[q, k]
        apart += between * between
    return apart


@njit()
def hinge_pass_dense(gram, y, cost, order, alpha, scores):
    """A pass of dual coordinate descent (no bias) that keeps all scores: n numbers a step."""
    worst = 0.0
    for i in order:
        gradient = y[i] * scores[i] - 1.0
        new = min(max(alpha[i] - gradient / gram[i, i], 0.0), cost)
        change = (new - alpha[i]) * y[i]
        if change != 0:
            worst, alpha[i] = max(worst, abs(gradient)), new
            for j in range(scores.size):
                scores[j] += change * gram[i, j]
    return worst


@njit()
def hinge_pass_sparse(value, index, bounds, diagonal, y, cost, order, alpha, scores):
    """The same where a step touches the pairs alone that are not zero."""
    worst = 0.0
    for i in order:
        gradient = y[i] * scores[i] - 1.0
        new = min(max(alpha[i] - gradient / diagonal[i], 0.0), cost)
        change = (new - alpha[i]) * y[i]
        if change != 0:
            worst, alpha[i] = max(worst, abs(gradient)), new
            for q in range(bounds[i], bounds[i + 1]):
                scores[index[q]] += change * value[q]
    return worst
