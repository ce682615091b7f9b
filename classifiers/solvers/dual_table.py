"""Coordinate descent on tables: Algorithm 2 of [Wu10], and Crammer–Singer's SVM (Sec. 3.4)."""

import numpy as np
from scipy import sparse

from visualwords.classifiers.solvers import _dual_table
from visualwords.classifiers.solvers._dual_table import TOGETHER, CodedRows
from visualwords.classifiers.solvers.dual_gram import tables_of
from visualwords.classifiers.solvers.problems import (
    FINEST_SINGLE,
    DualProblem,
    LevelProblem,
    dual_problem,
)
from visualwords.classifiers.tables.level_tables import build_tables, cells_of_rows, row_norms
from visualwords.parallel import map_in_threads


def solve_dual(problem: LevelProblem) -> tuple[np.ndarray, int, float]:
    """Solve HIK SVMs one by one, each on its table; see `LevelProblem`."""
    rows = coded_rows(problem)
    dual = dual_problem(problem.cost, row_norms(problem.levels)[problem.rows], problem.loss)

    def solve(y: np.ndarray) -> tuple[np.ndarray, int, float]:
        return solve_dual_table(
            rows, y, dual, tol=problem.tol, max_iter=problem.max_iter, seed=problem.seed
        )

    alpha, n_iter, violation = zip(*map_in_threads(solve, problem.signs, problem.n_jobs))
    return tables_of(problem, np.stack(alpha)), max(n_iter), max(violation)


def coded_rows(problem: LevelProblem) -> CodedRows:
    """Return the rows that take part as numbers of cells."""
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
) -> tuple[np.ndarray, int, float]:
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
        kept, largest, smallest = _dual_table.epoch(rows, y, problem, order, bounds, alpha, lost)
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


def solve_crammer_singer(problem: LevelProblem) -> tuple[np.ndarray, int, float]:
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
        violation = float(_dual_table.crammer_singer_epoch(rows, order, *given))
    tables = build_tables(problem.levels, problem.rows, alpha, problem.layout, problem.n_jobs)
    return tables, n_iter, violation
