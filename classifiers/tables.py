"""Tables of additive models, compact: every feature has only the levels that training saw."""

from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers import _tables

_FEATURES_AT_A_TIME = 64  # one cache line of every uint8 row


def table_offsets(levels: Any) -> np.ndarray:
    """Return where each feature's levels begin in a compact table, and the number of cells.

    Parameters
    ----------
    levels : (n, d) unsigned array or CSR matrix

    Returns
    -------
    (d + 1,) int64
        Feature j has ``offsets[j + 1] - offsets[j] = 1 + max_i levels[i, j]`` cells.
    """
    top = np.zeros(levels.shape[1], np.int64)
    if sparse.issparse(levels):
        np.maximum.at(top, levels.indices, levels.data)
    else:
        _tables.highest_levels(levels, top)
    return np.concatenate([[0], np.cumsum(top + 1)])


def build_tables(
    levels: np.ndarray, rows: np.ndarray, coefficients: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    """Return T_jk = Σ_i c_i min(x_ij, k) of several outputs ([Wu10], Sec. 3.2).

    Parameters
    ----------
    levels : (n, d) unsigned
    rows : (m,) int
        The samples that take part.
    coefficients : (m, n_outputs)
        c_i = α_i y_i of every output.
    offsets : (d + 1,) int64

    Returns
    -------
    (cells, n_outputs) float32
    """
    d = levels.shape[1]
    values = np.empty((offsets[-1], coefficients.shape[1]), np.float32)
    for first in range(0, d, _FEATURES_AT_A_TIME):
        last = min(first + _FEATURES_AT_A_TIME, d)
        base, end = offsets[first], offsets[last]
        part = np.zeros((end - base, coefficients.shape[1]))
        _tables.sum_by_level(levels, rows, coefficients, offsets - base, first, last, part)
        _tables.tables_from_sums(offsets - base, first, last, part)
        values[base:end] = part
    return values


def look_up(levels: np.ndarray, offsets: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the scores Σ_j T[j, x_ij]; levels above a feature's highest count as that one.

    Returns
    -------
    (n, n_outputs) float64
    """
    out = np.zeros((levels.shape[0], values.shape[1]))
    _tables.look_up(levels, offsets, values, out)
    return out


def expand_tables(offsets: np.ndarray, values: np.ndarray, n_levels: int) -> np.ndarray:
    """Return the tables as a full array (n_outputs, d, n_levels), last values repeated."""
    cells = np.minimum(offsets[:-1, None] + np.arange(n_levels), offsets[1:, None] - 1)
    return np.ascontiguousarray(np.moveaxis(values[cells], 2, 0))
