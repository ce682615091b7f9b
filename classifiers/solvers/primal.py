"""Newton's method on the tables: the way when features are few and samples many."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from visualwords.classifiers.solvers.problems import LevelProblem, Solved
from visualwords.classifiers.tables.level_tables import cells_of_rows
from visualwords.compiled import njit
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


def solve_primal(problem: LevelProblem) -> Solved:
    """Solve HIK SVMs of squared hinge one by one, by Newton's method; see `LevelProblem`."""
    if problem.loss != "squared_hinge":
        raise ValueError("solver='primal' needs loss='squared_hinge'; the hinge has a corner")
    data = cell_problem(problem)

    def solve(y: np.ndarray) -> Solved:
        return solve_primal_table(data, y, problem.cost, **problem.schedule)

    tables, n_iter, violation = zip(*map_in_threads(solve, problem.signs, problem.n_jobs))
    return np.stack(tables, axis=1).astype(np.float32), max(n_iter), max(violation)


def cell_problem(problem: LevelProblem) -> CellProblem:
    """The rows that take part, as cells."""
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
) -> Solved:
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
    sum_cells(data.cells, table, scores)
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
    """Changes of table and scores: a Newton step, halved until it lowers the loss."""
    slack = 1 - y * scores
    rows = np.flatnonzero(slack > 0)
    stretched, bent = np.empty((2, table.size))
    smoothness(data.stiffness, table, stretched)
    gradient = np.zeros(table.size)
    sum_by_cell(data.cells, rows, -2 * cost * slack * y, gradient)
    gradient += stretched
    gradient[data.starts[:-1]] = 0
    step = newton_direction(data, rows, 2 * cost, gradient, _ACCURACY, _MAX_TURNS)
    change = np.empty(y.size)
    sum_cells(data.cells, step, change)
    smoothness(data.stiffness, step, bent)
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


# Loops of Newton's method on the tables of one problem.
#
# ``cells`` (n, d) names, for every sample and feature, the cell of the table t that holds T[j,
# x_ij]; feature j owns the cells ``starts[j] … starts[j + 1] - 1``, of which the first is level 0
# and stays 0. With ``stiffness`` g = 1 / (difference of a cell's level to the one below), or 0 at
# level 0, ½ wᵀw = ½ sum g (t_k − t_{k−1})²; L is the tridiagonal matrix of this form.


@njit()
def sum_cells(cells, t, out):
    """out[i] = sum_j t[cells[i, j]]  [Wu10, Eq. 6]."""
    for i in range(cells.shape[0]):
        row = cells[i]
        total = 0.0
        for j in range(np.uint64(row.size)):
            total += t[row[j]]
        out[i] = total


@njit()
def sum_by_cell(cells, rows, weights, out):
    """out[c] += sum of weights[i] over the samples i of ``rows`` that have the cell c."""
    for i in rows:
        row = cells[i]
        weight = weights[i]
        for j in range(np.uint64(row.size)):
            out[row[j]] += weight


@njit()
def multiply(cells, rows, weights, stiffness, starts, v, out):
    """out = (L + sum_i weights_i B_i B_iᵀ) v: the Hessian times v, by look-up and binning."""
    smoothness(stiffness, v, out)
    for i in rows:
        row = cells[i]
        total = 0.0
        for j in range(np.uint64(row.size)):
            total += v[row[j]]
        total *= weights[i]
        for j in range(np.uint64(row.size)):
            out[row[j]] += total
    out[starts[:-1]] = 0.0  # the table is 0 at level 0, and so are all its changes


@njit()
def smoothness(stiffness, t, out):
    """out = L t."""
    out[0] = 0.0
    for k in range(1, t.size):
        force = stiffness[k] * (t[k] - t[k - 1])
        out[k] = force
        out[k - 1] -= force


@njit()
def factorise_tridiagonal(stiffness, starts, weight, inverse):
    """inverse = the inverted pivots of L + diag(weight)."""
    for j in range(starts.size - 1):
        inverse[starts[j]] = 0.0
        for k in range(starts[j] + 1, starts[j + 1]):
            above = stiffness[k + 1] if k + 1 < starts[j + 1] else 0.0
            pivot = stiffness[k] + above + weight[k] - stiffness[k] ** 2 * inverse[k - 1]
            inverse[k] = 1.0 / pivot


@njit()
def solve_tridiagonal(stiffness, starts, inverse, right, out):
    """out = (L + diag(weight))⁻¹ right, with the pivots of ``factorise_tridiagonal``."""
    for j in range(starts.size - 1):
        first, end = starts[j], starts[j + 1]
        out[first] = 0.0
        for k in range(first + 1, end):
            out[k] = right[k] + stiffness[k] * inverse[k - 1] * out[k - 1]
        above = 0.0
        for k in range(end - 1, first, -1):
            out[k] = inverse[k] * (out[k] + above)
            above = stiffness[k] * out[k]


@njit()
def newton_direction(problem, rows, weights, gradient, accuracy, max_turns):
    """Solve H step = −gradient by preconditioned conjugate gradients, to a relative accuracy.

    The preconditioner treats every feature alone, exactly: L + the weight of each of its levels.
    """
    cells, starts, stiffness = problem.cells, problem.starts, problem.stiffness
    inverse, image = np.zeros(gradient.size), np.zeros(gradient.size)
    sum_by_cell(cells, rows, weights, image)
    factorise_tridiagonal(stiffness, starts, image, inverse)
    step, residual = np.zeros(gradient.size), -gradient
    prepared = np.empty(gradient.size)
    solve_tridiagonal(stiffness, starts, inverse, residual, prepared)
    direction = prepared.copy()
    size = np.dot(residual, prepared)
    target = accuracy**2 * size
    for _ in range(max_turns):
        if size <= target:
            break
        multiply(cells, rows, weights, stiffness, starts, direction, image)
        length = size / np.dot(direction, image)
        step += length * direction
        residual -= length * image
        solve_tridiagonal(stiffness, starts, inverse, residual, prepared)
        before, size = size, np.dot(residual, prepared)
        direction = prepared + (size / before) * direction
    return step
