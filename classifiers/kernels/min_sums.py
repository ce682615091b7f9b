"""Sums of minima of all pairs of rows, in the layout that is fastest for the data at hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.kernels import _min_sums as loops
from visualwords.classifiers.kernels.level_gram import level_gram
from visualwords.parallel import in_threads, n_threads

EXACT_IN_FLOAT32 = 1 << 24
# Nanoseconds for one minimum on an AVX2 core; only their ratios matter.
COST_OF_LIST_ENTRY = 2.0
COST_OF_BYTE = 0.015
COST_OF_FLOAT = {np.dtype(np.float32): 0.04, np.dtype(np.float64): 0.08}


def min_sums(x: Any, y: Any, *, n_jobs: int | None = None) -> np.ndarray:
    """Return G[i, j] = Σ_k min(x[i, k], y[j, k]) of non-negative rows.

    Parameters
    ----------
    x, y : ndarray or CSR array of shape (n, d), (m, d)
        Non-negative; ``y is x`` halves the work.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    (n, m) float64, or float32 where neither side has more than 32-bit floats or 16-bit integers

    Notes
    -----
    Small whole numbers (of any type) are compared as bytes; mostly empty columns by inverted
    lists; the rest in dense tiles. The choice follows from the counts of non-zeros.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0], [3.0, 0.0]])
    >>> min_sums(x, x)
    array([[3., 1.],
           [1., 3.]])
    """
    narrow = all(np.can_cast(side.dtype, np.float32) for side in (x, y))
    dtype = np.dtype(np.float32 if narrow else np.float64)
    if 0 in (x.shape[0], y.shape[0], x.shape[1]):
        return np.zeros((x.shape[0], y.shape[0]), dtype)
    counts = _column_counts(x)
    lists = COST_OF_LIST_ENTRY * float(counts @ (counts if y is x else _column_counts(y)))
    entries = float(x.shape[0] * y.shape[0])
    levels = _byte_slices(x, y)
    if levels:
        if lists < COST_OF_BYTE * levels * entries:
            return _by_lists(x, y, dtype, n_jobs)
        return _by_bytes(x, y, dtype, n_jobs)
    if lists < COST_OF_FLOAT[dtype] * x.shape[1] * entries:
        return _by_lists(x, y, dtype, n_jobs)
    return _by_tiles(x, y, dtype, n_jobs)


def _column_counts(x: Any) -> np.ndarray:
    """How many rows have each column, as float64."""
    if sparse.issparse(x):
        return np.bincount(x.indices, minlength=x.shape[1]).astype(np.float64)
    return np.count_nonzero(x, axis=0).astype(np.float64)


def _byte_slices(x: Any, y: Any) -> int:
    """Columns of bytes that hold both sides exactly (255 levels each); 0 if they can't."""
    sides = (x,) if y is x else (x, y)
    if all(side.dtype == np.uint8 for side in sides) and 255 * x.shape[1] < EXACT_IN_FLOAT32:
        return x.shape[1]
    total = 0
    for side in sides:
        values = side.data if sparse.issparse(side) else side
        if values.dtype.kind == "f":
            for part in (values[:4], values):  # most real-valued data fail at once
                if not np.all(part == np.rint(part)):
                    return 0
        highest = side.max(axis=0)
        highest = highest.toarray() if sparse.issparse(highest) else highest
        if highest.max() > np.iinfo(np.uint16).max or side.sum(axis=1).max() >= EXACT_IN_FLOAT32:
            return 0
        total = max(total, int(np.ceil(np.maximum(highest, 1) / 255).sum()))
    return total


def _by_bytes(x: Any, y: Any, dtype: np.dtype, n_jobs: int | None) -> np.ndarray:
    """Sums of minima of whole numbers, exactly."""

    is_byte = all(side.dtype == np.uint8 or side.max() <= 255 for side in (x, y))

    def levels(side: Any) -> np.ndarray:
        small = side.astype(np.uint8 if is_byte else np.uint16, copy=False)
        return small.toarray() if sparse.issparse(small) else small

    gram = level_gram(levels(x), None if y is x else levels(y), n_jobs=n_jobs)
    return gram.astype(dtype, copy=False)


def _by_tiles(x: Any, y: Any, dtype: np.dtype, n_jobs: int | None) -> np.ndarray:
    """Sums of minima of real numbers, dense."""

    def dense(side: Any) -> np.ndarray:
        side = side.toarray() if sparse.issparse(side) else side
        return np.ascontiguousarray(side, dtype=dtype)

    a = dense(x)
    b = a if y is x else dense(y)
    return in_stripes(
        lambda first, last, out: loops.dense_rows(a, b, dtype.type(1), first, last, y is x, out),
        np.empty((x.shape[0], y.shape[0]), dtype),
        y is x,
        n_jobs,
    )


def _by_lists(x: Any, y: Any, dtype: np.dtype, n_jobs: int | None) -> np.ndarray:
    """Sums of minima over the features that both rows have."""
    rows = sparse.csr_array(x).astype(dtype, copy=False)
    lists = sparse.csc_array(y).astype(dtype, copy=False)
    lists.sort_indices()
    a = (rows.indptr, rows.indices, rows.data)
    b = (lists.indptr, lists.indices, lists.data)
    return in_stripes(
        lambda first, last, out: loops.sparse_rows(*a, *b, first, last, y is x, out),
        np.empty((x.shape[0], y.shape[0]), dtype),
        y is x,
        n_jobs,
    )


def in_stripes(
    fill: Callable[[int, int, np.ndarray], None],
    out: np.ndarray,
    symmetric: bool,
    n_jobs: int | None,
) -> np.ndarray:
    """Fill stripes of rows on threads (the long ones of a triangle first), then mirror."""
    height = max(loops.BREADTH, -(-len(out) // (8 * n_threads(n_jobs))))
    in_threads(lambda i, j: fill(i, j, out), len(out), height, n_jobs, last_first=True)
    if symmetric:
        loops.mirror(out)
    return out
