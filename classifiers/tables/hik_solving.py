"""One-vs-rest HIK SVMs solved problem by problem on tables: in the dual, and in the primal."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from visualwords.classifiers.solvers.dual_gram import dual_problem
from visualwords.classifiers.solvers.dual_table import arrange_samples, solve_dual_table
from visualwords.classifiers.solvers.primal_table import cell_problem, solve_primal_table
from visualwords.classifiers.tables import additive_tables
from visualwords.classifiers.tables.level_codes import LevelCodes
from visualwords.classifiers.tables.rows import CanonicalRows
from visualwords.parallel import map_in_threads

if TYPE_CHECKING:
    from visualwords.classifiers.tables.hik_training import Settings


def solve_on_tables(
    data: LevelCodes,
    norms: np.ndarray,
    y: np.ndarray,
    taking_part: CanonicalRows,
    settings: "Settings",
    start: np.ndarray | None,
) -> tuple[np.ndarray, int, float]:
    """Solve every problem by dual coordinate descent on its table."""
    rows = taking_part.rows
    problem = dual_problem(rows, taking_part.cost, norms, settings.loss)

    def first(p: int) -> np.ndarray | None:
        if start is None:
            return None
        alpha = np.zeros(norms.size)
        alpha[rows] = start[p]
        return alpha

    samples = arrange_samples(data)
    solved = map_in_threads(
        lambda p: solve_dual_table(
            samples,
            y[p],
            problem,
            tol=settings.tol,
            max_iter=settings.max_iter,
            seed=settings.seed,
            shrinking=settings.shrinking,
            start=first(p),
        ),
        range(y.shape[0]),
        settings.n_jobs,
    )
    alpha, n_iter, violation = zip(*solved)
    return np.stack(alpha)[:, rows], max(n_iter), max(violation)


def solve_primal(
    data: LevelCodes,
    y: np.ndarray,
    taking_part: CanonicalRows,
    settings: "Settings",
    start_tables: Callable[[np.ndarray, np.ndarray], np.ndarray] | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, float]:
    """Solve every problem by Newton's method on its table; returns offsets, heights, tables, …"""
    problem = cell_problem(data, taking_part.rows)
    start = None if start_tables is None else start_tables(problem.starts, problem.levels)
    solved = map_in_threads(
        lambda p: solve_primal_table(
            problem,
            y[p, taking_part.rows],
            taking_part.cost,
            tol=settings.tol,
            max_iter=settings.max_iter,
            seed=settings.seed,
            start=None if start is None else start[p],
        ),
        range(y.shape[0]),
        settings.n_jobs,
    )
    found, n_iter, violation = zip(*solved)
    cells = additive_tables.add_lanes(np.stack(found, axis=1), np.float32)
    return problem.starts, problem.levels, cells, max(n_iter), max(violation)
