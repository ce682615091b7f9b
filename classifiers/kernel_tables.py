"""The tables of a kernel expansion for given data: T1 and T2 of [Yang12], for any expansion."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.kernel_expansions import EigenExpansion
from visualwords.classifiers.level_rows import LevelRows, LevelScale, level_rows


@dataclass(frozen=True)
class KernelTables:
    """Turns data into rows of levels, and gives the vectors that the levels stand for.

    Parameters
    ----------
    scale : LevelScale
    score : (levels, rank) float32
        s of every level (T1, with all its powers).
    expansion : EigenExpansion or PolynomialExpansion, optional
        Not needed for prediction by table.
    exact : bool
        Every distinct value of the data read is a level of its own; ``score`` is not used.
    """

    scale: LevelScale
    score: np.ndarray
    expansion: Any = None
    exact: bool = False

    def read(self, X: Any, place: np.ndarray) -> tuple[LevelRows, np.ndarray, np.ndarray]:
        """Return the pairs of X, the vectors s of their levels, and the levels' values.

        Parameters
        ----------
        X : array or canonical CSR matrix
        place : (n_columns,) uint32
            New column of every old one.
        """
        if not self.exact:
            return level_rows(X, self.scale, place), self.score, self.scale.values()
        rows, values = _distinct_rows(X, self.scale, place)
        return rows, self.expansion.score(values), values

    def update(self, score: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the vectors u (T2) of some levels and what each adds to Q_ii."""
        if isinstance(self.expansion, EigenExpansion):
            return score, np.square(score, dtype=np.float64).sum(axis=1)
        return self.expansion.update(values), self.expansion.diagonal(values)


def _distinct_rows(X: Any, scale: LevelScale, place: np.ndarray) -> tuple[LevelRows, np.ndarray]:
    """Pairs whose level is the position of the value among the distinct ones, and these."""
    if not sparse.issparse(X):
        X = sparse.csr_matrix(np.asarray(X, np.float32) - scale.shift)
        scale = LevelScale(np.zeros(1, np.float32), scale.factor, scale.top)
    shares = scale.shares(X.indices, X.data.astype(np.float64))
    distinct, levels = np.unique(shares, return_inverse=True)
    rows = LevelRows(place[X.indices], levels.astype(np.uint32), X.indptr.astype(np.int64))
    return rows, distinct
