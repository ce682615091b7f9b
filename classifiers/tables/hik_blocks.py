"""HIK SVMs of many samples: dual coordinate descent in blocks of rows, in memory or from a file.

The exact problem of `visualwords.classifiers.tables.hik_training`: scores are looked up in tables
for all machines at once, products inside a block are exact sums of minima, and the tables are
brought up to date once a block.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from visualwords.classifiers import product_bands
from visualwords.classifiers.kernels.level_gram import level_gram
from visualwords.classifiers.quantizer import Quantizer
from visualwords.classifiers.row_file import RowFile
from visualwords.classifiers.solvers.dual_blocks import solve_in_pieces
from visualwords.classifiers.solvers.dual_gram import dual_problem
from visualwords.classifiers.solvers.machine_groups import Machines, Samples
from visualwords.classifiers.tables import _levels, _table_building, additive_tables
from visualwords.classifiers.tables.additive_tables import CellLists
from visualwords.classifiers.tables.hik_training import Settings
from visualwords.classifiers.tables.level_codes import (
    LevelNumbers,
    TableLayout,
    encode_levels,
    layout_of,
    numbers_of_present,
)
from visualwords.classifiers.tables.trained_tables import TrainedTables
from visualwords.classifiers.tables.value_survey import Limits, value_limits
from visualwords.compiled import as_compiled
from visualwords.parallel import within_reach

ROWS_OF_A_BLOCK = 512
_BYTES_OF_SAMPLE = 1 << 26  # of a file's rows, which decide about the quantisation


class LevelBlocks:
    """Rows of table cells in blocks, for `visualwords.classifiers.solvers.dual_blocks`.

    Weights are tables, (cells, lanes).

    Parameters
    ----------
    codes : (n, d) uint8 array or RowFile
        Numbers of the cells, in the order of the blocks.
    band : (n, size) float32 array or RowFile
        Products of every row with the rows that follow it.
    offsets, heights :
        Of the tables, as in `visualwords.classifiers.tables.level_codes.TableLayout`.
    """

    skips = False  # look-ups of all machines lie side by side

    def __init__(self, codes: Any, band: Any, offsets: np.ndarray, heights: np.ndarray):
        self.codes, self.band, self.size = codes, band, band.shape[1]
        self.offsets, self.heights = offsets, heights

    def load(self, start: int, end: int, dtype: Any) -> CellLists:
        """Return the cells of neighbouring rows."""
        codes = as_compiled(np.ascontiguousarray(self.codes[start:end]))
        return CellLists(codes, self.offsets, self.heights)

    def gram(self, start: int, end: int) -> np.ndarray:
        """Return their sums of minima."""
        return product_bands.gram_of(self.band, start, end)

    def new_weights(self, lanes: int, dtype: Any) -> np.ndarray:
        """Return tables of zeros."""
        return np.zeros((self.offsets[-1], lanes), dtype)

    def scores(self, rows: CellLists, weights: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return the sums of look-ups, wanted or not."""
        return rows.scores(weights.astype(np.float32, copy=False)).astype(weights.dtype)

    def update(self, rows: CellLists, coefficients: np.ndarray, weights: np.ndarray) -> None:
        """Add the tables of a block's rows."""
        rows.add_to_tables(coefficients, weights)

    def line(self, now: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return derivatives of half the squared length of tables in the direction to them."""
        slopes, curvatures = np.zeros((2, now.shape[1]))
        _table_building.add_line(self.offsets, self.heights, now, before, slopes, curvatures)
        return slopes, curvatures

    def lanes_of(self, weights: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """Return the tables of some machines, (k, cells)."""
        return weights[:, lanes].T


def levels_in_file(
    X: RowFile, learn: Callable[[np.ndarray, np.ndarray | None, Limits], Quantizer]
) -> RowFile:
    """Return a file with the levels of all rows, by a quantisation learned from the first rows.

    Parameters
    ----------
    X : RowFile
    learn : (rows, None, their limits) → a fitted Quantizer
    """
    n_sample = max(1, _BYTES_OF_SAMPLE // max(X.shape[1] * X.dtype.itemsize, 1))
    sample = X[:n_sample]
    quantizer = learn(sample, None, value_limits(sample))
    levels = RowFile(f"{X.path}-levels")
    for start in range(0, len(X), n_sample):
        found = quantizer.levels_of(X[start : start + n_sample])
        if found.dtype != np.uint8:
            raise ValueError("rows of a file need at most 256 levels; lower n_bins")
        levels.append(found)
    return levels


def train_in_blocks(
    levels: Any,
    codes: np.ndarray,
    cost: np.ndarray,
    n_classes: int,
    settings: Settings,
    *,
    order: np.ndarray | None = None,
    folds: np.ndarray | None = None,
    numbers: LevelNumbers | None = None,
) -> tuple[LevelNumbers, TrainedTables, np.ndarray]:
    """Train one HIK SVM for every class against the rest, and the same without each fold.

    Parameters
    ----------
    levels : (n, d) uint8 array or RowFile
        Rows of a file must be in random order; what training needs of them is kept beside it.
    codes : (m,) int
        Class of every sample of the order.
    cost : (m,) float64
    n_classes : int
    settings : Settings
    order : (m,) int, optional
        Samples that take part, in the order in which they form blocks; default: all as they are.
    folds : (m,) int, optional
    numbers : LevelNumbers, optional
        The levels that the result's tables have; default: those that occur.

    Returns
    -------
    numbers : LevelNumbers
    trained : TrainedTables
    held_out : (m, n_outputs), or (m,) for two classes
        Scores by machines trained without the fold, where there are folds.
    """
    n = len(codes)
    pieces = product_bands.pieces_of(n, ROWS_OF_A_BLOCK)
    present = np.zeros((levels.shape[1], np.iinfo(np.uint8).max + 1), np.uint8)
    for start, end, _ in pieces:
        some = _between(levels, order, start, end)
        _levels.mark_levels(0, some.shape[1], some, np.arange(len(some)), present)
    layout = layout_of(present, np.uint8)
    cells, band, norms = _encoded(levels, order, pieces, layout, settings.n_jobs)
    problem = dual_problem(np.arange(n), cost, norms, settings.loss)
    places = np.full(n, -2) if folds is None else folds
    excluded = [] if folds is None else np.unique(folds).tolist()
    with within_reach([cells]) as [reference]:
        solved = solve_in_pieces(
            LevelBlocks,
            reference,
            (band, layout.offsets, layout.heights),
            Samples(codes, places, problem),
            Machines.of(n_classes, [-1, *excluded]),
            tol=settings.tol,
            max_iter=settings.max_iter,
            seed=settings.seed,
            n_jobs=settings.n_jobs,
        )
    tables = additive_tables.add_lanes(solved.weights.T, np.float32)
    numbers = numbers_of_present(np.asarray(present.any(axis=0))) if numbers is None else numbers
    offsets, values = additive_tables.tables_at(
        layout.offsets, layout.heights, tables, numbers.heights
    )
    trained = TrainedTables(offsets, values, None, solved.n_iter, solved.violation, "blocks")
    return numbers, trained, solved.held_out


def _between(levels: Any, order: np.ndarray | None, start: int, end: int) -> np.ndarray:
    """Return neighbouring rows of an order."""
    return levels[start:end] if order is None else levels[order[start:end]]


def _encoded(
    levels: Any,
    order: np.ndarray | None,
    pieces: list[tuple[int, int, int]],
    layout: TableLayout,
    n_jobs: int | None,
) -> tuple[Any, Any, np.ndarray]:
    """Return all cells and the band of products, in memory or in files as the levels, and norms.

    Products are exact, and a row's product with itself is its sum.
    """
    n, d = pieces[-1][1], levels.shape[1]
    in_files = isinstance(levels, RowFile)
    cells: Any = RowFile(f"{levels.path}-cells") if in_files else np.empty((n, d), np.uint8)

    def parts() -> Iterator[np.ndarray]:
        for start, end, last in pieces:
            some = _between(levels, order, start, last)
            here = some[: end - start]
            found = encode_levels(here, layout).codes
            if in_files:
                cells.append(np.asarray(found, np.uint8))
            else:
                cells[start:end] = found
            products = level_gram(here, some, n_jobs=n_jobs)
            yield product_bands.cut(products, ROWS_OF_A_BLOCK)

    file = RowFile(f"{levels.path}-products") if in_files else None
    return cells, *product_bands.keep(parts(), (n, ROWS_OF_A_BLOCK), file)
