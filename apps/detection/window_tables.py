"""Look-up tables of a trained classifier: its score for each column and level."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from visualwords.classifiers import ICDClassifier

__all__ = ["CONSTANT", "RaggedTables", "tables_of", "with_constants"]

N_CONSTANTS, CONSTANT = 16, 255  # together about a tenth of the levels of a window


@dataclass(frozen=True)
class RaggedTables:
    """One table for each column, each as long as the levels seen in training.

    Attributes
    ----------
    starts : (d + 1,) int64
        First cell of each column's table, which begins with level 0.
    cells : (n,) float32

    Examples
    --------
    >>> tables = RaggedTables(np.array([0, 2, 3]), np.array([0, 5, 0], np.float32))
    >>> tables.full(4).tolist()
    [[0.0, 5.0, 5.0, 5.0], [0.0, 0.0, 0.0, 0.0]]
    """

    starts: np.ndarray
    cells: np.ndarray

    @property
    def tops(self) -> np.ndarray:
        """Highest level of each column; larger ones have its value."""
        return np.diff(self.starts) - 1

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Return the sums of look-ups of levels (n, d), (n,) float32."""
        return self.cells[self.starts[:-1] + np.minimum(rows, self.tops)].sum(axis=1)

    def full(self, n_levels: int) -> np.ndarray:
        """Return the tables as one array (d, n_levels)."""
        level = np.minimum(np.arange(n_levels), self.tops[:, None])
        return self.cells[self.starts[:-1, None] + level]


def with_constants(vectors: np.ndarray, n_constants: int = N_CONSTANTS) -> np.ndarray:
    """Append constant columns to levels, which give a classifier its offset.

    Without an offset a window without gradients, all levels 0, would score 0 whatever was learned.
    """
    return np.hstack([vectors, np.full((len(vectors), n_constants), CONSTANT, vectors.dtype)])


def tables_of(
    classifier: "ICDClassifier", scale: float = 1.0, n_constants: int = N_CONSTANTS
) -> RaggedTables:
    """Return the tables of a classifier of two classes that was trained on levels with constants.

    Levels between those that training met have values between theirs. The offset is spread evenly
    over all tables. Cells are rounded to half precision, which is how a model file keeps them.
    """
    full = classifier.tables_[0]
    n_columns = len(full) - n_constants
    offset = full[n_columns:, CONSTANT].sum(dtype=np.float64)
    n_cells = np.diff(classifier.layout_.offsets)[:n_columns]
    tops = classifier.layout_.heights[np.maximum(n_cells, 1) - 1]
    starts = np.concatenate([[0], np.cumsum(tops + 1)]).astype(np.int64)
    column = np.repeat(np.arange(n_columns), tops + 1)
    level = np.arange(starts[-1]) - np.repeat(starts[:-1], tops + 1)
    cells = (full[column, level] + offset / n_columns) * scale
    return RaggedTables(starts, cells.astype(np.float16).astype(np.float32))
