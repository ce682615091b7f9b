"""Training rows in an order that depends on their content only, equal rows merged.

A model then depends neither on the order in which samples are given nor on whether a sample is
repeated or given a weight, and every sample can be found again in a later training set.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.tables import _levels
from visualwords.parallel import in_threads

_ROWS_AT_A_TIME = 256


@dataclass(frozen=True)
class CanonicalRows:
    """Which rows take part in training, in what order, and at what cost.

    Attributes
    ----------
    rows : (m,) int64
        One row of each group of equal rows with equal labels, ordered by content.
    cost : (m,) float64
        Sum of the costs of the group.
    keys : (m,) uint64
        Numbers that name the rows' contents and labels.
    """

    rows: np.ndarray
    cost: np.ndarray
    keys: np.ndarray


def canonical_rows(
    levels: Any, labels: np.ndarray, cost: np.ndarray, n_jobs: int | None = None
) -> CanonicalRows:
    """Order the rows of positive cost by content and merge equal ones of equal labels.

    Parameters
    ----------
    levels : (n, d) unsigned array or CSR matrix
    labels : (n,)
        Numbers that do not depend on which other classes there are, such as from
        :func:`label_keys`.
    cost : (n,) float64
    n_jobs : int or None
        Threads.

    Returns
    -------
    CanonicalRows
    """
    keys = _row_keys(levels, n_jobs) ^ labels
    taking_part = np.flatnonzero(cost > 0)
    order = taking_part[np.argsort(keys[taking_part], kind="stable")]
    sorted_keys = keys[order]
    first = np.ones(order.size, bool)
    same = np.flatnonzero(sorted_keys[1:] == sorted_keys[:-1]) + 1
    if same.size:
        equal = _equal_rows(levels[order[same - 1]], levels[order[same]])
        first[same[equal]] = False
    group = np.cumsum(first) - 1
    merged = np.bincount(group, weights=cost[order], minlength=int(first.sum()))
    return CanonicalRows(order[first], merged, sorted_keys[first])


def row_norms(levels: Any) -> np.ndarray:
    """Return Σ_j x_ij, which is the kernel's value of every row with itself; float64."""
    if sparse.issparse(levels):
        return np.asarray(levels.sum(axis=1, dtype=np.float64)).ravel()
    sums = np.empty(levels.shape[0])
    _levels.sum_rows(levels, sums)
    return sums


def label_keys(classes: np.ndarray) -> np.ndarray:
    """Return one random-looking number for every class, the same in every process."""
    numbers = []
    for label in classes.tolist():
        text = repr(label).encode()
        seed = int.from_bytes(text[:4096], "little")
        numbers.append(np.random.default_rng(seed).integers(0, 2**64, dtype=np.uint64))
    return np.array(numbers, np.uint64)


def _equal_rows(left: Any, right: Any) -> np.ndarray:
    """Which rows of two matrices are the same."""
    if sparse.issparse(left):
        return (left != right).getnnz(axis=1) == 0
    return np.all(left == right, axis=1)


def _row_keys(levels: Any, n_jobs: int | None) -> np.ndarray:
    """Numbers that name the contents of rows; equal for dense and sparse."""
    rng = np.random.default_rng(levels.shape[1])
    factors = rng.integers(0, 2**64, levels.shape[1], dtype=np.uint64) | np.uint64(1)
    keys = np.empty(levels.shape[0], np.uint64)
    with np.errstate(over="ignore"):  # sums modulo 2**64 are meant
        if sparse.issparse(levels):
            _levels.hash_sparse_rows(levels.data, levels.indices, levels.indptr, factors, keys)
        else:
            in_threads(
                lambda a, b: _levels.hash_rows(levels[a:b], factors, keys[a:b]),
                len(keys),
                _ROWS_AT_A_TIME,
                n_jobs,
            )
    return keys
