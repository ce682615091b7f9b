"""Several kernel SVMs on one Gram matrix that is never whole, advanced together.

Every problem moves the samples whose rows are there, as `visualwords.classifiers.solvers.smo`
does, and asks for the rows of those that violate its optimality condition most. Rows that one
problem asked for serve all others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from visualwords.classifiers.solvers._smo import Point, minimise, subtract_rows
from visualwords.classifiers.solvers.row_cache import RowCache
from visualwords.classifiers.solvers.smo import (
    Solution,
    first_point,
    goal_for,
    may_move,
    rows_of,
    solution,
    violation_of,
    whole,
)

ROWS_AT_A_TIME = 16  # asked for by a problem on either side of its margin
FULL = 0.75  # share of the cache that problems advanced together may fill with what they move
NEARER = 0.1  # share of the violation that is left before other rows are fetched


@dataclass
class _Task:
    """A problem under way."""

    y: np.ndarray
    point: Point
    goal: float
    n_iter: int = 0
    violation: float = np.inf


def solve_together(
    cache: RowCache,
    signs: Sequence[np.ndarray],
    cost: np.ndarray,
    *,
    starts: np.ndarray | Sequence[np.ndarray] | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000_000,
) -> list[Solution]:
    """Solve each problem as `smo.solve` does.

    Parameters
    ----------
    cache : RowCache
        Of n samples.
    signs : sequence of (n,) arrays of ±1
        y of every problem.
    cost : (n,) ≥ 0
        C of every sample.
    starts : sequence of (n,), optional
        β of every problem to begin from.
    tol, max_iter : as for ``smo.solve``

    Examples
    --------
    >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> cache = RowCache(lambda a, b: a @ b.T, x, 4, 0)
    >>> (found,) = solve_together(cache, [np.array([-1.0, -1, 1, 1])], np.full(4, 10.0))
    >>> found.coefficients.round(3).tolist()
    [0.0, -0.5, 0.5, 0.0]
    """
    tasks = []
    for number, y in enumerate(signs):
        start = None if starts is None else starts[number]
        tasks.append(_Task(y, first_point(y, cost, start), goal_for(y.size, tol)))
        _subtract_start(cache, tasks[-1].point)
    waiting = list(tasks)
    while waiting:
        group = _fitting(waiting, len(cache.rows))
        side = max(1, min(ROWS_AT_A_TIME, len(cache.rows) // (4 * len(group))))
        cache.fetch(np.unique(np.concatenate([_wanted(task, cache, side) for task in group])))
        for task in group:
            _advance(task, cache, max_iter)
        waiting = [t for t in waiting if t.violation > t.goal and t.n_iter < max_iter]
    return [solution(task.y, task.point, task.n_iter, task.violation) for task in tasks]


def _subtract_start(cache: RowCache, point: Point) -> None:
    """v = y − Kβ for a β that is not 0."""
    moved, columns = np.flatnonzero(point.beta), np.arange(point.v.size)
    for first in range(0, moved.size, len(cache.rows)):
        part = moved[first : first + len(cache.rows)]
        cache.fetch(part)
        subtract_rows(whole(cache.rows), cache.place_of[part], point.beta[part], columns, point.v)


def _fitting(tasks: list[_Task], capacity: int) -> list[_Task]:
    """The first tasks whose moving samples fit into the cache together, at least one."""
    moving = np.zeros(tasks[0].y.size, bool)
    for number, task in enumerate(tasks):
        moving |= may_move(task.point) & (task.point.beta != 0)
        if moving.sum() + 4 * number > FULL * capacity:
            return tasks[: max(1, number)]
    return tasks


def _wanted(task: _Task, cache: RowCache, side: int) -> np.ndarray:
    """Samples without a row that violate the condition most, at most ``side`` on either side."""
    point = task.point
    missing = may_move(point) & (cache.place_of < 0)
    found = []
    for can_move, order in (
        (point.beta < point.upper, -point.v),
        (point.beta > point.lower, point.v),
    ):
        candidates = np.flatnonzero(missing & can_move)
        if task.n_iter:
            candidates = candidates[np.argsort(order[candidates], kind="stable")]
        else:  # all alike: spread over the samples
            candidates = candidates[:: max(1, candidates.size // side)]
        found.append(candidates[:side])
    return np.concatenate(found)


def _advance(task: _Task, cache: RowCache, max_iter: int) -> None:
    """Move the samples whose rows are there until others violate the condition far more."""
    point = task.point
    members = np.flatnonzero((cache.place_of >= 0) & may_move(point))
    places = cache.place_of[members]
    cache.touch(members)
    own = Point(*(values[members] for values in point))
    diagonal = cache.rows[places, members].astype(np.float64)
    near = max(NEARER * violation_of(point), 0.5 * task.goal)
    source = whole(cache.rows)
    rows = rows_of(source, places, members)
    done, _ = minimise(rows, diagonal, own, near, max_iter - task.n_iter)
    changes = own.beta - point.beta[members]
    moved = np.flatnonzero(changes)
    columns = np.arange(point.v.size)
    subtract_rows(source, places[moved], changes[moved], columns, point.v)
    for values, found in zip(point[:2], own[:2]):
        values[members] = found
    task.n_iter += done
    task.violation = violation_of(point)
