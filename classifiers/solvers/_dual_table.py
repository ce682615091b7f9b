"""Loops of coordinate descent on the table T ([Wu10], Algorithm 2), and Crammer–Singer's.

For one problem, a cell is what sum_i α_i y_i x_ij loses above its level: lost[j, k] =
sum_i α_i y_i max(x_ij - k, 0), so T[j, k] = lost[j, 0] - lost[j, k]. Other than T itself, this
changes with a sample only below the sample's own level, and most levels are low. A feature at
level 0 neither adds to a score nor changes the table: only the others are visited.
"""

from typing import NamedTuple

import numpy as np

from visualwords.compiled import njit

TOGETHER = 4  # cells: most levels are low, and turns whose number varies can't be predicted


class CodedRows(NamedTuple):
    """Rows as numbers of cells, dense or sparse, and the layout of the table.

    Attributes
    ----------
    codes : (n × d,) or (entries,) uint8 or uint16
        Number of the level among those that have a cell; row i has those from ``bounds[i]`` to
        ``bounds[i + 1] - 1``.
    features : (entries,) int32
        Features of the codes; empty if there is a code for every feature.
    bounds : (n + 1,) int64
    offsets : (d + 1,) int64
        First cell of every feature, a multiple of `TOGETHER`.
    heights : (cells,) float32
        Level of every cell; those that only fill up repeat the highest of their feature.
    """

    codes: np.ndarray
    features: np.ndarray
    bounds: np.ndarray
    offsets: np.ndarray
    heights: np.ndarray


@njit()
def find_cells(i, rows, first, cells):
    """First cell and cell of every feature of row i that is not at level 0; returns how many."""
    start, stop = np.uint64(rows.bounds[i]), np.uint64(rows.bounds[i + 1])
    count = np.uint64(0)
    for k in range(start, stop):  # no branch on the code: it can't be predicted
        j = np.uint64(rows.features[k]) if rows.features.size else k - start
        first[count] = rows.offsets[j]
        cells[count] = first[count] + rows.codes[k]
        count += np.uint64(rows.codes[k] != 0)
    return count


@njit()
def score(count, first, cells, lost):
    """sum_j T[j, x_j] = sum_j lost[j, 0] - lost[j, x_j]  [Wu10, Eq. 6], in two sums at a time."""
    a = b = 0.0
    one = np.uint64(1)
    whole = count & ~one
    for k in range(np.uint64(0), whole, np.uint64(2)):
        a += lost[first[k]] - lost[cells[k]]
        b += lost[first[k + one]] - lost[cells[k + one]]
    if whole < count:
        a += lost[first[whole]] - lost[cells[whole]]
    return a + b


@njit()
def add(factor, count, first, cells, heights, lost):
    """T_jk += factor min(x_j, k) for all levels of all features  [Wu10, Eq. 12]."""
    change = lost.dtype.type(factor)
    for k in range(np.uint64(count)):
        height = heights[cells[k]]
        for start in range(np.uint64(first[k]), np.uint64(cells[k]), np.uint64(TOGETHER)):
            for step in range(TOGETHER):
                cell = start + np.uint64(step)
                lost[cell] += change * max(height - heights[cell], np.float32(0))


@njit()
def epoch(rows, y, problem, order, bounds, alpha, lost):
    """Visit the rows of ``order`` once; return how many were kept, and the extremes of PG.

    A row at a bound whose gradient points out of the box by more than ``bounds`` is shrunk:
    ``order`` keeps the others in front  [LIBLINEAR's shrinking].
    """
    diagonal, upper, curvature = problem.diagonal, problem.upper, problem.curvature
    largest, smallest, kept = -np.inf, np.inf, 0
    first, cells = np.empty((2, rows.offsets.size), np.int64)
    for i in order:
        count = find_cells(i, rows, first, cells)
        old = alpha[i]
        gradient = y[i] * score(count, first, cells, lost) - 1.0 + diagonal[i] * old
        if (old <= 0.0 and gradient > bounds[0]) or (old >= upper[i] and gradient < bounds[1]):
            continue
        order[kept] = i
        kept += 1
        projected = gradient
        if old <= 0.0:
            projected = min(gradient, 0.0)
        elif old >= upper[i]:
            projected = max(gradient, 0.0)
        largest, smallest = max(largest, projected), min(smallest, projected)
        if projected != 0.0:
            alpha[i] = min(max(old - gradient / curvature[i], 0.0), upper[i])
            add((alpha[i] - old) * y[i], count, first, cells, rows.heights, lost)
    return kept, largest, smallest


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
def crammer_singer_epoch(rows, order, codes, norms, cost, alpha, lost):
    """Visit rows, solving for all classes of one at a time; return the largest violation.

    Row i has one alpha_m for every class m, alpha_m <= cost_i for its own class and <= 0 for the
    others, with sum 0; w_m = sum_i alpha_im B(x_i).      lost : (cells, classes)
    """
    worst = 0.0
    first, cells = np.empty((2, rows.offsets.size), np.int64)
    new, gradient = np.empty((2, alpha.shape[1]))
    for i in order:
        count = find_cells(i, rows, first, cells)
        gradient[:] = 1.0
        gradient[codes[i]] = 0.0
        for k in range(count):
            gradient += lost[first[k]] - lost[cells[k]]
        worst = max(worst, violation_of(gradient, alpha[i], cost[i], codes[i]))
        best_alpha(gradient - norms[i] * alpha[i], norms[i], cost[i], codes[i], new)
        change = new - alpha[i]
        if np.abs(change).max() <= 1e-12 * cost[i]:
            continue
        alpha[i] = new
        for k in range(count):
            for cell in range(first[k], cells[k]):
                lost[cell] += (rows.heights[cells[k]] - rows.heights[cell]) * change
    return worst
