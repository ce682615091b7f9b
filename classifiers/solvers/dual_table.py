"""Coordinate descent on tables: Algorithm 2 of [Wu10], and Crammer–Singer's SVM (Sec. 3.4)."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from visualwords.classifiers.solvers.dual_gram import tables_of
from visualwords.classifiers.solvers.problems import (
    FINEST_SINGLE,
    DualProblem,
    LevelProblem,
    Solved,
    dual_problem,
)
from visualwords.classifiers.tables.level_tables import build_tables, cells_of_rows, row_norms
from visualwords.compiled import njit
from visualwords.parallel import map_in_threads

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


def solve_dual(problem: LevelProblem) -> Solved:
    """Solve HIK SVMs one by one, each on its table; see `LevelProblem`."""
    rows = coded_rows(problem)
    dual = dual_problem(problem.cost, row_norms(problem.levels)[problem.rows], problem.loss)

    def solve(y: np.ndarray) -> Solved:
        return solve_dual_table(rows, y, dual, **problem.schedule)

    alpha, n_iter, violation = zip(*map_in_threads(solve, problem.signs, problem.n_jobs))
    return tables_of(problem, np.stack(alpha)), max(n_iter), max(violation)


def coded_rows(problem: LevelProblem) -> CodedRows:
    """The rows that take part as numbers of cells."""
    codes = cells_of_rows(problem.levels, problem.rows, problem.layout)
    sizes = np.diff(problem.layout.offsets)
    widths = -(-sizes // TOGETHER) * TOGETHER
    offsets = np.concatenate([[0], np.cumsum(widths)])
    numbers = np.arange(offsets[-1]) - np.repeat(offsets[:-1], widths)
    heights = problem.layout.heights[np.minimum(numbers, np.repeat(sizes - 1, widths))]
    layout = offsets, heights.astype(np.float32)
    if sparse.issparse(codes):
        return CodedRows(codes.data, codes.indices, codes.indptr.astype(np.int64), *layout)
    n, d = codes.shape
    return CodedRows(codes.reshape(-1), np.empty(0, np.int32), d * np.arange(n + 1), *layout)


def solve_dual_table(
    rows: CodedRows,
    y: np.ndarray,
    problem: DualProblem,
    *,
    tol: float,
    max_iter: int,
    seed: int | None,
) -> Solved:
    """Solve one HIK SVM without bias by dual coordinate descent with shrinking.

    Rows that will probably stay at their bounds are left out, and visited again before stopping.

    Parameters
    ----------
    rows : CodedRows
    y : (n,)
        ±1.
    problem : DualProblem
    tol : float
        Stop once the largest and the smallest projected gradient of a pass differ by at most this.
    max_iter : int
        Passes over the samples.
    seed : int or None
        Seed of the visiting order; None is the paper's cyclic order.

    Returns
    -------
    alpha : (n,) float64
    n_iter : int
    violation : float
        Difference of the projected gradients in the last pass.
    """
    y, alpha = np.ascontiguousarray(y, np.float64), np.zeros(y.size)
    lost = np.zeros(rows.offsets[-1], np.float32 if tol >= FINEST_SINGLE else np.float64)
    rng, everything = np.random.default_rng(seed), np.array([np.inf, -np.inf])
    active, bounds = np.arange(y.size), everything
    n_iter, violation = 0, np.inf
    while n_iter < max_iter:
        n_iter += 1
        order = active.copy() if seed is None else rng.permutation(active)
        kept, largest, smallest = epoch(rows, y, problem, order, bounds, alpha, lost)
        violation = float(largest - smallest)
        active = order[:kept]
        if violation > tol:
            limits = largest if largest > 0 else np.inf, smallest if smallest < 0 else -np.inf
            bounds = np.array(limits)
        elif kept == y.size:
            break
        else:
            active, bounds = np.arange(y.size), everything
    return alpha, n_iter, violation


def solve_crammer_singer(problem: LevelProblem) -> Solved:
    """Solve one HIK SVM for all classes, by dual coordinate descent.

    Minimises ½ Σ_m w_mᵀw_m + Σ_i C_i max_m (1 − [m = y_i] + (w_m − w_{y_i})ᵀB(x_i)), which has
    the hinge as its loss. It ends once no row's gradients differ by more than ``problem.tol`` where
    its α can change.

    Parameters
    ----------
    problem : LevelProblem
        With a problem for each class, also of two.

    Returns
    -------
    tables, n_iter, violation : as in `LevelProblem`, one table for each class
    """
    n, n_classes = problem.rows.size, problem.positive.size
    alpha = np.zeros((n, n_classes))
    norms = np.maximum(row_norms(problem.levels)[problem.rows], 1e-12)
    rows, rng = coded_rows(problem), np.random.default_rng(problem.seed)
    given = problem.codes, norms, problem.cost, alpha, np.zeros((rows.heights.size, n_classes))
    n_iter, violation = 0, np.inf
    while n_iter < problem.max_iter and violation > problem.tol:
        n_iter += 1
        order = np.arange(n) if problem.seed is None else rng.permutation(n)
        violation = float(crammer_singer_epoch(rows, order, *given))
    tables = build_tables(problem.levels, problem.rows, alpha, problem.layout, problem.n_jobs)
    return tables, n_iter, violation


# Loops of coordinate descent on the table T ([Wu10], Algorithm 2), and Crammer–Singer's.
#
# For one problem, a cell is what sum_i α_i y_i x_ij loses above its level: lost[j, k] = sum_i α_i
# y_i max(x_ij - k, 0), so T[j, k] = lost[j, 0] - lost[j, k]. Other than T itself, this changes
# with a sample only below the sample's own level, and most levels are low. A feature at level 0
# neither adds to a score nor changes the table: only the others are visited.


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
