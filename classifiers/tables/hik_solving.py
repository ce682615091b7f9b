"""Solvers of one-vs-rest HIK SVMs, and their settings: on the Gram matrix, on tables, primal."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from visualwords.classifiers.kernels.level_gram import level_gram
from visualwords.classifiers.solvers.dual_gram import dual_problem, solve_dual_gram
from visualwords.classifiers.solvers.dual_table import arrange_samples, solve_dual_table
from visualwords.classifiers.solvers.primal_table import cell_problem, solve_primal_table
from visualwords.classifiers.tables import additive_tables
from visualwords.classifiers.tables.level_codes import LevelCodes
from visualwords.classifiers.tables.rows import CanonicalRows
from visualwords.threads import map_in_threads

MOST_IN_BLOCKS = 255  # v̄ that a byte holds
_CHOICES = {
    "loss": ("squared_hinge", "hinge"),
    "multi_class": ("ovr", "crammer_singer"),
    "solver": ("auto", "dual", "gram", "primal", "blocks"),
    "order": ("random", "cyclic"),
    "quantization": ("auto", "uniform", "quantile", "integer"),
}


@dataclass(frozen=True)
class Settings:
    """How to solve: parameters of the classifier that the solvers share."""

    loss: str
    tol: float
    max_iter: int
    seed: int | None
    shrinking: bool
    n_jobs: int | None

    @classmethod
    def of(cls, model: Any) -> "Settings":
        """Return the settings of an `ICDClassifier`; this draws the seed of its order."""
        seed = None
        if model.order == "random":
            seed = int(check_random_state(model.random_state).randint(2**31))
        return cls(model.loss, model.tol, model.max_iter, seed, model.shrinking, model.n_jobs)


def check_parameters(model: Any) -> None:
    """Refuse parameters of an `ICDClassifier` that do not exist or do not go together."""
    for name, allowed in _CHOICES.items():
        if getattr(model, name) not in allowed:
            raise ValueError(f"{name}={getattr(model, name)!r}: choose one of {allowed}")
    for name in ("C", "tol", "max_iter"):
        if not getattr(model, name) > 0:
            raise ValueError(f"{name}={getattr(model, name)!r}: must be positive")
    if model.solver == "blocks" and (model.multi_class != "ovr" or model.n_bins > MOST_IN_BLOCKS):
        raise ValueError("solver='blocks' needs multi_class='ovr' and n_bins of at most 255")
    if model.solver == "primal" and model.loss == "hinge":
        raise ValueError("solver='primal' needs loss='squared_hinge'; the hinge has a corner")
    if model.solver == "primal" and model.multi_class == "crammer_singer":
        raise ValueError("solver='primal' needs multi_class='ovr'; use solver='auto'")


def gram_is_faster(n: int, d: int, n_cells: int, n_problems: int, *, gram_limit: int) -> bool:
    """Return whether coordinate descent needs fewer steps on the Gram matrix than on tables.

    Steps are vector instructions: ``n² d / 64 + 2 p n²`` on the matrix, which takes 4n² bytes, and
    ``20 p n (d + cells / 8)`` on tables, for n samples, d features and p problems.

    Examples
    --------
    >>> gram_is_faster(1500, 6200, 60_000, 15, gram_limit=2**30)
    True
    >>> gram_is_faster(10_000, 6144, 60_000, 1, gram_limit=2**30)
    False
    """
    on_gram = n * n * d / 64 + 2 * n_problems * n * n
    on_tables = 20 * n_problems * n * (d + n_cells / 8)
    return on_gram < on_tables and 4 * n * n <= gram_limit


def build(
    data: LevelCodes,
    alpha: np.ndarray,
    y: np.ndarray,
    taking_part: CanonicalRows,
    settings: Settings,
) -> np.ndarray:
    """Make the tables of a dual solution."""
    rows = taking_part.rows
    coefficients = additive_tables.add_lanes((alpha * y[:, rows]).T, np.float64)
    return additive_tables.build_tables(
        data.codes, rows, coefficients, data.offsets, data.heights, settings.n_jobs
    )


def solve_on_gram(
    levels: Any,
    y: np.ndarray,
    taking_part: CanonicalRows,
    settings: Settings,
    start: np.ndarray | None,
    gram_limit: int,
) -> tuple[np.ndarray, int, float]:
    """Solve all problems on the exact Gram matrix of the rows taking part."""
    rows = taking_part.rows
    gram = gram_of(levels, rows, gram_limit, settings.n_jobs)
    everyone = np.arange(rows.size)
    norms = gram.diagonal().astype(np.float64)
    problem = dual_problem(everyone, taking_part.cost, norms, settings.loss)
    alpha, n_iter, violation = solve_dual_gram(
        gram,
        y[:, rows],
        problem,
        tol=settings.tol,
        max_iter=settings.max_iter,
        seed=settings.seed,
        start=start,
        n_jobs=settings.n_jobs,
    )
    return alpha, int(n_iter.max()), float(violation.max())


def gram_of(levels: Any, rows: np.ndarray, gram_limit: int, n_jobs: int | None) -> np.ndarray:
    """The exact Gram matrix of some rows, if it may be made."""
    if 4 * rows.size**2 > gram_limit:
        raise ValueError(
            f"solver='gram' needs {4 * rows.size**2:,} bytes for {rows.size:,} samples, more than "
            f"gram_limit={gram_limit:,}; use solver='auto' or raise gram_limit"
        )
    if sparse.issparse(levels):
        return level_gram(levels[rows].toarray(), n_jobs=n_jobs)
    return level_gram(levels, rows=rows, n_jobs=n_jobs)


def solve_on_tables(
    data: LevelCodes,
    norms: np.ndarray,
    y: np.ndarray,
    taking_part: CanonicalRows,
    settings: Settings,
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
    settings: Settings,
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
