"""What training a classifier with tables gives."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TrainedTables:
    """What training gives.

    Attributes
    ----------
    offsets : (d + 1,) int64
    tables : (cells, lanes) float32
        Every feature has all numbered levels up to its highest in training.
    alpha : (n_problems, m) float64, or None
        Of the rows taking part; the primal solver has none.
    n_iter : int
    violation : float
    solver : str
        The one taken.
    """

    offsets: np.ndarray
    tables: np.ndarray
    alpha: np.ndarray | None
    n_iter: int
    violation: float
    solver: str
