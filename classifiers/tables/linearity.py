"""How close an additive model is to a linear one: would a linear SVM do?"""

from typing import Any

import numpy as np
from scipy import sparse


def level_counts(levels: Any, n_levels: int) -> np.ndarray:
    """Return how often every level occurs in every feature, (d, n_levels)."""
    n, d = levels.shape
    if sparse.issparse(levels):
        place = levels.indices.astype(np.int64) * n_levels + levels.data
        counts = np.bincount(place, minlength=d * n_levels).reshape(d, n_levels)
        counts[:, 0] += n - counts.sum(axis=1)
        return counts
    counts = np.empty((d, n_levels), np.int64)
    for j in range(d):
        counts[j] = np.bincount(levels[:, j], minlength=n_levels)
    return counts


def straight_tables(tables: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the tables with every feature's curve replaced by its least-squares line.

    Parameters
    ----------
    tables : (n_outputs, d, n_levels)
    counts : (d, n_levels)
        Weights of the levels in the fit.

    Examples
    --------
    >>> bent = np.array([[[0.0, 1.0, 1.0]]])
    >>> straight_tables(bent, np.array([[1, 1, 1]])).round(2).tolist()
    [[[0.17, 0.67, 1.17]]]
    """
    level = np.arange(tables.shape[2])
    total = np.maximum(counts.sum(axis=1), 1)
    middle = counts @ level / total
    centred = level - middle[:, None]
    spread = np.einsum("jk,jk,jk->j", counts, centred, centred)
    mean = np.einsum("ojk,jk->oj", tables, counts / total[:, None])
    slope = np.einsum("ojk,jk,jk->oj", tables, counts, centred)
    slope = np.divide(slope, spread, out=np.zeros_like(slope), where=spread > 0)
    return mean[:, :, None] + slope[:, :, None] * centred
