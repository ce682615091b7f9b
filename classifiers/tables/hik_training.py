"""One-vs-rest HIK SVMs from level matrices: the choice of the solver, and its workers."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers import one_vs_rest
from visualwords.classifiers.solvers.crammer_singer import (
    solve_crammer_singer_gram,
    solve_crammer_singer_tables,
)
from visualwords.classifiers.solvers.dual_gram import FEWEST_LANES
from visualwords.classifiers.tables import additive_tables
from visualwords.classifiers.tables.hik_solving import (
    Settings,
    build,
    gram_is_faster,
    gram_of,
    solve_on_gram,
    solve_on_tables,
    solve_primal,
)
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
from visualwords.workers import map_on_workers


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


def train_crammer_singer(
    levels: Any,
    numbers: LevelNumbers,
    labels: np.ndarray,
    n_classes: int,
    taking_part: CanonicalRows,
    settings: Settings,
    *,
    solver: str = "auto",
    gram_limit: int = 1 << 30,
) -> TrainedTables:
    """Train one Crammer–Singer machine, on the Gram matrix where ``gram_is_faster``.

    ``labels`` (n,) are class numbers; the other parameters are those of :func:`train_tables`.
    Two classes have one table: of the second class over the first.
    """
    rows = taking_part.rows
    shape = (*levels.shape, levels.shape[1] * CELLS_AT_LEAST, n_classes)
    how: dict[str, Any] = {
        "n_classes": n_classes,
        "tol": settings.tol,
        "max_iter": settings.max_iter,
        "seed": settings.seed,
    }
    codes = numbers.numbers_of(levels, settings.n_jobs)
    layout = full_layout(codes, aligned=False)
    data = LevelCodes(codes, layout.offsets, numbers.heights[layout.heights.astype(int)])
    if solver == "gram" or (solver == "auto" and gram_is_faster(*shape, gram_limit=gram_limit)):
        solver = "gram"
        gram = gram_of(levels, rows, gram_limit, settings.n_jobs)
        solved = solve_crammer_singer_gram(gram, labels[rows], taking_part.cost, **how)
        alpha = solved[0]
    else:
        solver = "dual"
        dense = LevelCodes(
            codes.toarray() if sparse.issparse(codes) else codes, data.offsets, data.heights
        )
        cost = np.zeros(labels.size)
        cost[rows] = taking_part.cost
        solved = solve_crammer_singer_tables(dense, rows, labels, cost, row_norms(levels), **how)
        alpha = solved[0][rows]
    cells = additive_tables.build_tables(
        codes,
        rows,
        additive_tables.add_lanes(alpha, np.float64),
        data.offsets,
        data.heights,
        settings.n_jobs,
    )
    if n_classes == 2:
        cells = np.ascontiguousarray(cells[:, 1:2] - cells[:, :1])
    return TrainedTables(data.offsets, cells, alpha.T, *solved[1:], solver)
