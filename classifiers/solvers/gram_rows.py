"""Rows of a training Gram matrix: in memory, dense or sparse, or computed when asked for."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.kernels.by_name import take


class StoredRows:
    """A Gram matrix in memory, dense or CSR."""

    def __init__(self, gram: Any) -> None:
        self.gram = gram

    def __call__(self, indices: np.ndarray) -> Any:
        """K[indices]."""
        return self.gram if indices.size == self.gram.shape[0] else self.gram[indices]

    def subset(self, indices: np.ndarray) -> "StoredRows":
        """The same of K[indices][:, indices]."""
        if sparse.issparse(self.gram):
            return StoredRows(self.gram[indices][:, indices])
        return StoredRows(self.gram[np.ix_(indices, indices)])


class RowsOnDemand:
    """Rows of a Gram matrix that is never whole: those used last are kept.

    Parameters
    ----------
    kernel : function of two sets of samples → block of the Gram matrix
    X : samples
    n : int
        How many.
    max_bytes : int
        Memory for rows; blocks asked for at once must fit twice.
    """

    def __init__(self, kernel: Callable[[Any, Any], Any], X: Any, n: int, max_bytes: int) -> None:
        self.kernel, self.X, self.n, self.max_bytes = kernel, X, n, max_bytes
        self._slot_of = np.full(n, -1, dtype=np.intp)
        self._held_by = np.empty(0, dtype=np.intp)
        self._used = np.empty(0, dtype=np.int64)
        self._kept = np.empty((0, n))
        self._clock = 0

    def __call__(self, indices: np.ndarray) -> np.ndarray:
        """K[indices]; only rows that are not kept are computed."""
        self._clock += 1
        missing = indices[self._slot_of[indices] < 0]
        self._touch(np.setdiff1d(indices, missing))
        if missing.size:
            block = np.asarray(self.kernel(take(self.X, missing), self.X))
            slots = self._free_slots(missing.size, block.dtype)
            self._kept[slots] = block
            self._slot_of[missing], self._held_by[slots] = slots, missing
            self._touch(missing)
        return self._kept[self._slot_of[indices]]

    def subset(self, indices: np.ndarray) -> Any:
        """The same of K[indices][:, indices]."""
        return gram_rows(self.kernel, take(self.X, indices), indices.size, self.max_bytes)

    def _touch(self, indices: np.ndarray) -> None:
        self._used[self._slot_of[indices]] = self._clock

    def _free_slots(self, count: int, dtype: np.dtype) -> np.ndarray:
        """Slots of the rows that were used longest ago."""
        if not self._kept.shape[0]:
            capacity = min(self.n, max(2 * count, self.max_bytes // (self.n * dtype.itemsize)))
            self._kept = np.empty((capacity, self.n), dtype)
            self._held_by = np.full(capacity, -1, dtype=np.intp)
            self._used = np.zeros(capacity, dtype=np.int64)
        slots = np.argsort(self._used, kind="stable")[:count]
        old = self._held_by[slots]
        self._slot_of[old[old >= 0]] = -1
        return slots


def gram_rows(
    kernel: Callable[[Any, Any], Any], X: Any, n: int, max_bytes: int
) -> StoredRows | RowsOnDemand:
    """Return a Gram matrix's rows: stored if they fit into ``max_bytes``, else on demand.

    Parameters
    ----------
    kernel : function of (X, Y or None) → block of the Gram matrix
    X : samples
    n : int
        How many.
    max_bytes : int

    Examples
    --------
    >>> rows = gram_rows(lambda x, y: x @ (x if y is None else y).T, np.eye(3), 3, 0)
    >>> rows(np.array([1]))
    array([[0., 1., 0.]])
    """

    def finite(x: Any, y: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):  # told in words instead
            return _checked(kernel(x, y))

    itemsize = np.asarray(finite(take(X, np.arange(1)), None)).dtype.itemsize
    if n * n * itemsize <= max_bytes:
        return StoredRows(finite(X, None))
    return RowsOnDemand(finite, X, n, max_bytes)


def _checked(block: Any) -> Any:
    """Return kernel values as they are; ``ValueError`` where they are not all finite."""
    if not np.isfinite(block.data if sparse.issparse(block) else block).all():
        raise ValueError(
            "the kernel of some samples is NaN or infinite; their values are too large for it, "
            "multiply X by a constant so that its largest value is near 1"
        )
    return block
