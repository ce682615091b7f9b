"""Crammer–Singer machines of the HIK from level matrices."""

from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.solvers.crammer_singer import (
    solve_crammer_singer_gram,
    solve_crammer_singer_tables,
)
from visualwords.classifiers.tables import additive_tables
from visualwords.classifiers.tables.hik_training import Settings, gram_is_faster, gram_of
from visualwords.classifiers.tables.level_codes import (
    CELLS_AT_LEAST,
    LevelCodes,
    LevelNumbers,
    full_layout,
)
from visualwords.classifiers.tables.rows import CanonicalRows, row_norms
from visualwords.classifiers.tables.trained_tables import TrainedTables


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

    ``labels`` (n,) are class numbers; the other parameters are those of
    `visualwords.classifiers.tables.hik_training.train_tables`.
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
