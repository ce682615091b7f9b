"""Newton's method on the tables: the way when features are few and samples many."""

from dataclasses import dataclass

import numpy as np

from visualwords.classifiers.solvers import _primal_table as loops
from visualwords.classifiers.solvers.level_nodes import LevelNodes, level_nodes
from visualwords.classifiers.tables.level_codes import LevelCodes

_SUBSAMPLE = 8  # the first steps are taken on this fraction of the samples …
_SMALLEST_SUBSAMPLE = 1024  # … if it has this many
_ROUGH_MOVE = 1.0  # how far the subsample's scores may still be from their optimum
_ACCURACY = 0.1  # of the linear systems, relative
_MAX_TURNS = 200  # of conjugate gradients
_ENOUGH_DECREASE = 0.01  # Armijo's constant


@dataclass(frozen=True)
class CellProblem:
    """Samples as cells of a table, for the primal problem.

    Attributes
    ----------
    cells : (n, d) uint16 or uint32
    starts : (d + 1,) int64
    stiffness : (n_cells,) float64
        1 / distance of a level to the occurring level below it; 0 at level 0.
    levels : (n_cells,) float32
    """

    cells: np.ndarray
    starts: np.ndarray
    stiffness: np.ndarray
    levels: np.ndarray


def cell_problem(data: LevelCodes, rows: np.ndarray) -> CellProblem:
    """Arrange some rows of numbered levels for Newton's method: cells named directly, no gaps."""
    used = np.ones(data.heights.size, bool)
    used[1:] = data.heights[1:] != data.heights[:-1]
    used[data.offsets[:-1]] = True
    position = np.concatenate([[0], np.cumsum(used)])
    starts = position[data.offsets]
    levels = data.heights[used]
    distance = np.diff(levels, prepend=0).astype(np.float64)
    distance[starts[:-1]] = np.inf
    kind = np.uint16 if levels.size <= 1 << 16 else np.uint32
    cells = data.codes[rows].astype(kind)
    cells += starts[:-1].astype(kind)
    return CellProblem(cells, starts, 1 / distance, levels)


def solve_primal_table(
    data: CellProblem,
    y: np.ndarray,
    cost: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    seed: int | None,
    start: np.ndarray | None = None,
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
    start : (n_cells,), optional
        First table.

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
    table = np.zeros(data.levels.size) if start is None else np.array(start, np.float64)
    part = n // _SUBSAMPLE
    if seed is not None and start is None and part >= _SMALLEST_SUBSAMPLE:
        some = np.sort(np.random.default_rng(seed).permutation(n)[:part])
        fewer = CellProblem(data.cells[some], data.starts, data.stiffness, data.levels)
        scale = cost.sum() / cost[some].sum()
        table, *_ = solve_primal_table(
            fewer, y[some], scale * cost[some], tol=_ROUGH_MOVE, max_iter=max_iter, seed=seed
        )
    nodes = level_nodes(data.starts)
    scores = np.empty(n)
    loops.sum_cells(data.cells, np.arange(n), table, scores)
    n_iter, move = 0, np.inf
    while n_iter < max_iter and move > tol:
        n_iter += 1
        step, change = _newton_step(data, nodes, y, cost, table, scores)
        table += step
        scores += change
        move = float(np.abs(change).max())
    return table, n_iter, move


def _newton_step(
    data: CellProblem,
    nodes: LevelNodes,
    y: np.ndarray,
    cost: np.ndarray,
    table: np.ndarray,
    scores: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """One step of Newton's method with a line search; returns changes of table and scores."""
    slack = 1 - y * scores
    rows = np.flatnonzero(slack > 0)
    stretched = np.empty(table.size)
    loops.smoothness(data.stiffness, table, stretched)
    gradient = np.zeros(table.size)
    loops.sum_by_cell(data.cells, rows, -2 * cost * slack * y, gradient)
    gradient += stretched
    loops.clear_level_0(data.starts, gradient)
    nodes.renew(data.cells, rows, 2 * cost, data.stiffness)
    step, _ = loops.newton_direction(
        data.cells, rows, 2 * cost, data.stiffness, data.starts, nodes.nodes, nodes.shares,
        nodes.inverse, gradient, _ACCURACY, _MAX_TURNS,
    )  # fmt: skip
    change = np.empty(y.size)
    loops.sum_cells(data.cells, np.arange(y.size), step, change)
    length = _line_search(data, y, cost, stretched, scores, step, change, gradient @ step)
    return length * step, length * change


def _line_search(
    data: CellProblem,
    y: np.ndarray,
    cost: np.ndarray,
    stretched: np.ndarray,
    scores: np.ndarray,
    step: np.ndarray,
    change: np.ndarray,
    slope: float,
) -> float:
    """Halve the step until it lowers the objective; the full step nearly always does."""
    bent = np.empty(step.size)
    loops.smoothness(data.stiffness, step, bent)
    linear, quadratic = stretched @ step, step @ bent
    before = loops.squared_hinge(y, scores, change, 0.0, cost)
    length = 1.0
    while length > 1e-8:
        after = loops.squared_hinge(y, scores, change, length, cost)
        decrease = before - after - length * linear - 0.5 * length**2 * quadratic
        if decrease >= -_ENOUGH_DECREASE * length * slope - 1e-12 * before:
            break
        length /= 2
    return length
