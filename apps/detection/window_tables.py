"""What a trained classifier adds to a window's score for each column and level."""

from dataclasses import dataclass

import numpy as np

from visualwords.classifiers import ICDClassifier

__all__ = ["RaggedTables", "tables_of"]


@dataclass(frozen=True)
class RaggedTables:
    """One table a column, each as long as the levels it has met.

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

    def full(self, n_levels: int) -> np.ndarray:
        """Return the tables as one array (d, n_levels)."""
        level = np.minimum(np.arange(n_levels), self.tops[:, None])
        return self.cells[self.starts[:-1, None] + level]


def tables_of(classifier: ICDClassifier, scale: float = 1.0) -> RaggedTables:
    """Return the tables of a classifier of two classes that was trained on integer levels.

    Levels between those that training met have values between theirs. The cells are rounded to
    half precision, which is how a model file keeps them.
    """
    full = classifier.tables_[0] * np.float32(scale)
    n_cells = np.diff(classifier.table_offsets_)
    tops = classifier.table_levels_[np.maximum(n_cells, 1) - 1]
    starts = np.concatenate([[0], np.cumsum(tops + 1)]).astype(np.int64)
    column = np.repeat(np.arange(len(tops)), tops + 1)
    level = np.arange(starts[-1]) - np.repeat(starts[:-1], tops + 1)
    cells = full[column, level].astype(np.float16).astype(np.float32)
    return RaggedTables(starts, cells)
