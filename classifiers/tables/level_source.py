"""Levels of samples that can be let go while a large matrix is made, and made again afterwards."""

from collections.abc import Callable
from typing import Any

import numpy as np


class LevelSource:
    """Levels (n, d) of all samples, whole or a part at a time.

    Parameters
    ----------
    levels : (n, d) unsigned array or CSR matrix
    make : function of rows and columns, optional
        Makes the levels of some rows (indices or a slice) and columns (a slice) again. Without it
        the levels are never let go.

    Examples
    --------
    >>> X = np.array([[0.5, 2.5], [1.5, 3.5]])
    >>> source = LevelSource(X.astype(np.uint8), lambda *part: X[part].astype(np.uint8))
    >>> source.release()
    >>> source.part(np.array([1]), slice(0, 1)).tolist(), source.whole().tolist()
    ([[1]], [[0, 2], [1, 3]])
    """

    def __init__(self, levels: Any, make: Callable[[Any, slice], np.ndarray] | None = None):
        self.shape, self.dtype = levels.shape, levels.dtype
        self._levels: Any = levels
        self._make = make

    @property
    def can_release(self) -> bool:
        """Whether the levels can be made again."""
        return self._make is not None

    def release(self) -> None:
        """Let the levels go, if they can be made again."""
        if self._make is not None:
            self._levels = None

    def whole(self) -> Any:
        """Return all levels; they are kept from now on."""
        if self._levels is None and self._make is not None:
            self._levels = self._make(slice(None), slice(None))
        return self._levels

    def part(self, rows: np.ndarray, columns: slice) -> np.ndarray:
        """Return the levels of some rows and columns, in C order, without keeping them."""
        if self._levels is None and self._make is not None:
            return np.ascontiguousarray(self._make(rows, columns))
        return np.ascontiguousarray(self._levels[rows, columns])
