"""Newton's method on the tables: the way when features are few and samples many."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from visualwords.classifiers.solvers import _primal as loops
from visualwords.classifiers.solvers.problems import LevelProblem
from visualwords.classifiers.tables.level_tables import cells_of_rows
from visualwords.parallel import map_in_threads

_SUBSAMPLE = 8  # the first steps are taken on this fraction of the samples …
_SMALLEST_SUBSAMPLE = 1024  # … if it has this many
_ROUGH_MOVE = 1.0  # how far the subsample's scores may still be from their optimum
_ACCURACY = 0.1  # of the linear systems, relative
_MAX_TURNS = 200  # of conjugate gradients
_ENOUGH_DECREASE = 0.01  # Armijo's constant


class CellProblem(NamedTuple):
    """Samples as cells of a table, named directly.

    Attributes
    ----------
    cells : (n, d) uint16 or uint32
    starts : (d + 1,) int64
        First cell of every feature, which is level 0.
    stiffness : (n_cells,) float64
        1 / distance of a level to the one below that has a cell; 0 at level 0.
    """

    cells: np.ndarray
    starts: np.ndarray
    stiffness: np.ndarray


def solve_primal(problem: LevelProblem) -> tuple[np.ndarray, int, float]:
    """Solve HIK SVMs of squared hinge one by one, by Newton's method; see `LevelProblem`."""
    if problem.loss != "squared_hinge":
        raise ValueError("solver='primal' needs loss='squared_hinge'; the hinge has a corner")
    data = cell_problem(problem)

    def solve(y: np.ndarray) -> tuple[np.ndarray, int, float]:
        how = {"tol": problem.tol, "max_iter": problem.max_iter, "seed": problem.seed}
        return solve_primal_table(data, y, problem.cost, **how)

    tables, n_iter, violation = zip(*map_in_threads(solve, problem.signs, problem.n_jobs))
    return np.stack(tables, axis=1).astype(np.float32), max(n_iter), max(violation)


def cell_problem(problem: LevelProblem) -> CellProblem:
    """Return the rows that take part, as cells."""
    codes = cells_of_rows(problem.levels, problem.rows, problem.layout)
    starts = problem.layout.offsets
    kind = np.uint16 if starts[-1] <= 1 << 16 else np.uint32
    cells = (codes.toarray() if sparse.issparse(codes) else codes).astype(kind)
    cells += starts[:-1].astype(kind)
    distance = np.diff(problem.layout.cell_heights(), prepend=0).astype(np.float64)
    distance[starts[:-1]] = np.inf
    return CellProblem(cells, starts, 1 / distance)


def solve_primal_table(
    data: CellProblem,
    y: np.ndarray,
    cost: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    seed: int | None,
) -> tuple[np.ndarray, int, float]:
    """Minimise ½ wᵀw + Σ C_i max(0, 1 − y_i wᵀB(x_i))² over tables by Newton's method.

    The unknowns are the table's values, in which the loss of a sample is a sum of look-ups and
    ½ wᵀw a sum of squared differences of neighbours: a product with the Hessian costs one look-up
    and one addition per entry, and the part of the Hessian that belongs to one feature is
    tridiagonal, which makes a good preconditioner.

    Parameters
    ----------
    data : CellProblem
    y : (n,)
        ±1.
    cost : (n,)
        C of every sample, > 0.
    tol : float
        Stop once a step moves no sample's score by more than this.
    max_iter : int
        Newton steps.
    seed : int or None
        Seed of the subsample on which the first steps are taken; None takes no such steps.

    Returns
    -------
    table : (n_cells,) float64
    n_iter : int
        Newton steps on all samples.
    violation : float
        The last step's largest move of a score.
    """
    n = y.size
    y, cost = np.ascontiguousarray(y, np.float64), np.ascontiguousarray(cost, np.float64)
    table = np.zeros(data.stiffness.size)
    part = n // _SUBSAMPLE
    if seed is not None and part >= _SMALLEST_SUBSAMPLE:
        some = np.sort(np.random.default_rng(seed).permutation(n)[:part])
        scale = cost.sum() / cost[some].sum()
        table, *_ = solve_primal_table(
            data._replace(cells=data.cells[some]), y[some], scale * cost[some],
            tol=_ROUGH_MOVE, max_iter=max_iter, seed=seed,
        )  # fmt: skip
    scores = np.empty(n)
    loops.sum_cells(data.cells, table, scores)
    n_iter, move = 0, np.inf
    while n_iter < max_iter and move > tol:
        n_iter += 1
        step, change = _newton_step(data, y, cost, table, scores)
        table += step
        scores += change
        move = float(np.abs(change).max())
    return table, n_iter, move


def _newton_step(
    data: CellProblem, y: np.ndarray, cost: np.ndarray, table: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return changes of table and scores: a Newton step, halved until it lowers the loss."""
    slack = 1 - y * scores
    rows = np.flatnonzero(slack > 0)
    stretched, bent = np.empty((2, table.size))
    loops.smoothness(data.stiffness, table, stretched)
    gradient = np.zeros(table.size)
    loops.sum_by_cell(data.cells, rows, -2 * cost * slack * y, gradient)
    gradient += stretched
    gradient[data.starts[:-1]] = 0
    step = loops.newton_direction(data, rows, 2 * cost, gradient, _ACCURACY, _MAX_TURNS)
    change = np.empty(y.size)
    loops.sum_cells(data.cells, step, change)
    loops.smoothness(data.stiffness, step, bent)
    slope, linear, quadratic = gradient @ step, stretched @ step, step @ bent
    before = cost @ np.maximum(slack, 0) ** 2
    length = 1.0
    while length > 1e-8:  # the full step nearly always does
        after = cost @ np.maximum(slack - length * y * change, 0) ** 2
        decrease = before - after - length * linear - 0.5 * length**2 * quadratic
        if decrease >= -_ENOUGH_DECREASE * length * slope - 1e-12 * before:
            break
        length /= 2
    return length * step, length * change
