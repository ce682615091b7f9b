"""One-vs-rest HIK SVMs from level matrices: parameters, the choice of the solver, and training.

The Gram matrix is used here; `visualwords.classifiers.tables.hik_solving` solves on tables.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from visualwords.classifiers import one_vs_rest
from visualwords.classifiers.kernels.level_gram import level_gram
from visualwords.classifiers.solvers.dual_gram import (
    FEWEST_LANES,
    FINEST_SINGLE,
    dual_problem,
    solve_dual_gram,
)
from visualwords.classifiers.tables import additive_tables
from visualwords.classifiers.tables.hik_solving import solve_on_tables, solve_primal
from visualwords.classifiers.tables.level_codes import (
    CELLS_AT_LEAST,
    LevelCodes,
    LevelNumbers,
    encode_levels,
    full_layout,
    table_layout,
)
from visualwords.classifiers.tables.rows import CanonicalRows, row_norms
from visualwords.classifiers.tables.trained_tables import TrainedTables
from visualwords.parallel import map_on_workers

FEWEST_PROBLEMS = 4  # in blocks; fewer do not fill the lanes
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


def suits_blocks(model: Any, X: Any, n_classes: int, n_folds: int) -> bool:
    """Return whether an `ICDClassifier` trains in blocks of rows, folds included."""
    if model.multi_class != "ovr" or model.n_bins > MOST_IN_BLOCKS:
        return False
    if model.solver == "blocks":
        return True
    if model.solver != "auto" or sparse.issparse(X):
        return False
    n_problems = 1 if n_classes == 2 else n_classes
    n, d = np.shape(X)
    return blocks_are_faster(n, d, n_problems, n_folds, model.tol)


def blocks_are_faster(n: int, d: int, n_problems: int, n_folds: int, tol: float) -> bool:
    """Return whether to train dense samples in blocks of rows, and not on Gram matrices.

    In units of time measured with 3,000 histograms of 4,200 words: a Gram matrix takes
    n² (d/64 + 2 p) for p problems, and each fold about 0.64 of that again; blocks take, in 20
    passes, 0.75 n (120 d + (6,000 + 1.2 d) l) for all l problems of all folds together.

    Examples
    --------
    >>> blocks_are_faster(2000, 4200, 10, 5, 0.1), blocks_are_faster(5000, 4200, 10, 5, 0.1)
    (False, True)
    """
    if n_problems < FEWEST_PROBLEMS or tol < FINEST_SINGLE:
        return False
    on_gram = n * (1 + 0.64 * n_folds) * (d / 64 + 2 * n_problems)
    return on_gram > 0.75 * (120 * d + (6000 + 1.2 * d) * n_problems * (1 + n_folds))


def train_tables(
    levels: Any,
    numbers: LevelNumbers,
    y: np.ndarray,
    taking_part: CanonicalRows,
    settings: Settings,
    *,
    solver: str = "auto",
    gram_limit: int = 1 << 30,
    start: np.ndarray | None = None,
    start_tables: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    reuse: bool = False,
) -> TrainedTables:
    """Train one HIK SVM for every row of targets.

    Where joblib's active backend has other processes, blocks of problems are trained there, with
    the same result; problems that start from an earlier training are not.

    Parameters
    ----------
    levels : (n, d) unsigned array or CSR matrix
    numbers : LevelNumbers
        The levels that the result's tables have.
    y : (n_problems, n)
        ±1.
    taking_part : CanonicalRows
    settings : Settings
    solver : {"auto", "gram", "dual", "primal"}
        "auto": the Gram matrix if ``gram_is_faster``; otherwise Newton's method in the
        primal if the data are dense, the loss is the squared hinge and tables have no more cells
        than there are samples; otherwise dual coordinate descent on tables.
    gram_limit : int
        Bytes that the Gram matrix may take.
    start : (n_problems, m), optional
        First α of the rows taking part, for the dual solvers.
    start_tables : function of starts and levels, optional
        Gives first tables (n_problems, cells) for the primal solver.
    reuse : bool
        Whether the levels may be overwritten.
    """
    layout = None
    if solver == "auto":
        solver, layout = _fastest(levels, numbers, y.shape[0], taking_part, settings, gram_limit)
    if start is None and start_tables is None:
        problems = one_vs_rest.blocks(y.shape[0], FEWEST_LANES if solver == "gram" else 1)
        if len(problems) > 1:
            pieces = [(y[some],) for some in problems]
            shared = [levels, numbers, taking_part, settings, solver, gram_limit]
            return _joined(pieces, list(map_on_workers(_train_block, pieces, shared=shared)))
    if solver == "gram":
        solved = solve_on_gram(levels, y, taking_part, settings, start, gram_limit)
        codes = numbers.numbers_of(levels, settings.n_jobs)
        full = full_layout(codes, aligned=False)
        data = LevelCodes(codes, full.offsets, numbers.heights[full.heights.astype(int)])
        alpha, n_iter, violation = solved
        cells = build(data, alpha, y, taking_part, settings)
        return TrainedTables(data.offsets, cells, alpha, n_iter, violation, "gram")
    if layout is None:
        layout = table_layout(
            levels, taking_part.rows, int(numbers.heights[-1]) + 1, settings.n_jobs
        )
    if solver == "primal":
        if sparse.issparse(levels):
            levels, reuse = levels.toarray(), True
        data = encode_levels(levels, layout, reuse)
        offsets, heights, cells, n_iter, violation = solve_primal(
            data, y, taking_part, settings, start_tables
        )
        offsets, values = additive_tables.tables_at(offsets, heights, cells, numbers.heights)
        return TrainedTables(offsets, values, None, n_iter, violation, "primal")
    norms = row_norms(levels)
    data = encode_levels(levels, layout, reuse)
    alpha, n_iter, violation = solve_on_tables(data, norms, y, taking_part, settings, start)
    cells = build(data, alpha, y, taking_part, settings)
    offsets, values = additive_tables.tables_at(data.offsets, data.heights, cells, numbers.heights)
    return TrainedTables(offsets, values, alpha, n_iter, violation, "dual")


def _fastest(
    levels: Any,
    numbers: LevelNumbers,
    n_problems: int,
    taking_part: CanonicalRows,
    settings: Settings,
    gram_limit: int,
) -> tuple[str, Any]:
    """Return the name of the solver to take, and the layout of tables if it has been made."""
    shape = (*levels.shape, levels.shape[1] * CELLS_AT_LEAST, n_problems)
    if gram_is_faster(*shape, gram_limit=gram_limit):
        return "gram", None
    layout = table_layout(levels, taking_part.rows, int(numbers.heights[-1]) + 1, settings.n_jobs)
    few_cells = layout.offsets[-1] <= taking_part.rows.size and not sparse.issparse(levels)
    return "primal" if few_cells and settings.loss == "squared_hinge" else "dual", layout


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


def _train_block(
    levels: Any,
    numbers: LevelNumbers,
    taking_part: CanonicalRows,
    settings: Settings,
    solver: str,
    gram_limit: int,
    y: np.ndarray,
) -> TrainedTables:
    """Train some of the problems, on a worker that has all samples."""
    how: dict[str, Any] = {"solver": solver, "gram_limit": gram_limit}
    return train_tables(levels, numbers, y, taking_part, settings, **how)


def _joined(targets: list[tuple[np.ndarray]], blocks: list[TrainedTables]) -> TrainedTables:
    """Put the solutions of blocks of problems side by side."""
    values = [block.tables[:, : len(y)] for (y,), block in zip(targets, blocks)]
    alphas = [block.alpha for block in blocks if block.alpha is not None]
    return TrainedTables(
        blocks[0].offsets,
        additive_tables.add_lanes(np.concatenate(values, axis=1), np.float32),
        np.concatenate(alphas) if alphas else None,
        max(block.n_iter for block in blocks),
        max(block.violation for block in blocks),
        blocks[0].solver,
    )
