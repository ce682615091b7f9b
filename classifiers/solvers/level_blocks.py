"""HIK SVMs of many samples: dual coordinate descent in blocks of rows, in memory or from a file.

The exact problem: scores are looked up in tables for all machines at once, products inside a block
are exact sums of minima, and the tables are brought up to date once a block.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.kernels.minmax import level_gram
from visualwords.classifiers.quantizer import Quantizer
from visualwords.classifiers.row_file import RowFile
from visualwords.classifiers.solvers.dual_blocks import (
    BlockSamples,
    BlockSolution,
    Machines,
    band_pieces,
    cut_band,
    keep_band,
    solve_dual_blocks,
)
from visualwords.classifiers.solvers.problems import FINEST_SINGLE, LevelProblem, dual_problem
from visualwords.classifiers.tables.layout import TableLayout, layout_of_features
from visualwords.classifiers.tables.level_tables import CellLists
from visualwords.compiled import as_compiled
from visualwords.parallel import within_reach

ROWS_OF_A_BLOCK = 512
FEWEST_PROBLEMS = 4  # fewer do not fill vectors
_BYTES_OF_SAMPLE = 1 << 26  # of a file's rows, which decide about the quantisation


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


def solve_blocks(problem: LevelProblem) -> tuple[np.ndarray, int, float]:
    """Solve HIK SVMs in blocks of rows; see `LevelProblem`."""
    solution, n_iter, violation = solve_with_folds(problem, np.full(problem.rows.size, -1))
    return solution.weights, n_iter, violation


def solve_with_folds(problem: LevelProblem, folds: np.ndarray) -> tuple[BlockSolution, int, float]:
    """Solve HIK SVMs with all samples, and without each of some folds.

    Parameters
    ----------
    problem : LevelProblem
        Of dense levels of one byte, or of a `RowFile` of them, whose rows are in random order and
        taken as they are; what training needs is kept beside it.
    folds : (m,) int
        Of the rows that take part; −1 is none.

    Returns
    -------
    solution : BlockSolution
        Weights are the tables of all samples, as in `LevelProblem`.
    n_iter : int
    violation : float
    """
    levels = problem.levels
    if sparse.issparse(levels) or levels.dtype != np.uint8:
        raise ValueError("solver='blocks' needs dense samples, of at most 256 levels")
    n = problem.rows.size
    in_file = isinstance(levels, RowFile)
    ordered: Any = levels if in_file else levels[problem.rows]

    def parts() -> Iterator[np.ndarray]:
        for start, end, last in band_pieces(n, ROWS_OF_A_BLOCK):
            some = ordered[start:last]
            products = level_gram(some[: end - start], some, n_jobs=problem.n_jobs)
            yield cut_band(products, ROWS_OF_A_BLOCK)

    file = RowFile(f"{levels.path}-products") if in_file else None
    band, norms = keep_band(parts(), (n, ROWS_OF_A_BLOCK), file)
    dual = dual_problem(problem.cost, norms, problem.loss)
    with within_reach([ordered]) as [reference]:
        solution, n_iter, violation = solve_dual_blocks(
            LevelBlocks,
            reference,
            (band, problem.layout),
            BlockSamples(problem.codes, folds, dual),
            Machines.of(problem.positive, folds),
            tol=problem.tol,
            max_iter=problem.max_iter,
            seed=problem.seed,
            n_jobs=problem.n_jobs,
        )
    weights = np.ascontiguousarray(solution.weights.T, np.float32)
    return solution._replace(weights=weights), n_iter, violation


class LevelBlocks:
    """Rows of levels in blocks; weights are tables, (cells, lanes).

    Parameters
    ----------
    levels : (n, d) uint8 array or RowFile
        In the order of the blocks.
    band : (n, size) float32 array or RowFile
        Products of every row with the rows that follow it.
    layout : TableLayout
    """

    factor = 1.0

    def __init__(self, levels: Any, band: Any, layout: TableLayout):
        self.levels, self.band, self.layout = levels, band, layout
        self.heights = layout.cell_heights()

    def load(self, start: int, end: int) -> CellLists:
        """Return the cells of neighbouring rows."""
        rows = as_compiled(np.ascontiguousarray(self.levels[start:end]))
        return CellLists.of(rows, np.arange(end - start), self.layout)

    def new_weights(self, lanes: int, dtype: Any) -> np.ndarray:
        """Return tables of zeros."""
        return np.zeros((self.layout.offsets[-1], lanes), dtype)

    def scores(self, rows: CellLists, weights: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return the sums of look-ups, wanted or not."""
        out = np.zeros(wanted.shape)
        rows.add_scores(weights, out)
        return out.astype(weights.dtype, copy=False)

    def update(self, rows: CellLists, coefficients: np.ndarray, weights: np.ndarray) -> None:
        """Add the tables of a block's rows."""
        rows.add_tables(coefficients, self.layout.offsets, self.heights, weights)

    def lanes_of(self, weights: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """Return the tables of some machines, (k, cells)."""
        return weights[:, lanes].T


def levels_in_file(
    X: RowFile, learn: Callable[[np.ndarray, np.ndarray | None], Quantizer]
) -> tuple[RowFile, TableLayout]:
    """Return a file with the levels of all rows, by a quantisation learned from the first rows.

    Parameters
    ----------
    X : RowFile
        Rows of numbers in random order.
    learn : function of rows and weights that gives a quantizer

    Returns
    -------
    levels : RowFile
        Beside X.
    layout : TableLayout
    """
    n_sample = max(1, _BYTES_OF_SAMPLE // max(X.shape[1] * X.dtype.itemsize, 1))
    quantizer = learn(X[:n_sample], None)
    levels = RowFile(f"{X.path}-levels")
    present, highest = np.zeros(256, np.bool_), np.zeros(X.shape[1], np.uint8)
    for start in range(0, len(X), n_sample):
        some = quantizer.levels_of(X[start : start + n_sample])
        if some.dtype != np.uint8:
            raise ValueError("rows of a file need at most 256 levels; lower n_bins")
        levels.append(some)
        present[np.unique(some)] = True
        highest = np.maximum(highest, some.max(axis=0))
    return levels, layout_of_features(present, highest)
