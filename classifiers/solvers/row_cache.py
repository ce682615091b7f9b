"""Rows of a Gram matrix that is never whole: computed in blocks, those used last are kept."""

from collections.abc import Callable
from typing import Any

import numpy as np

from visualwords.compiled import take

FEWEST_ROWS = 32  # kept however little memory is allowed
BYTES = 4  # of a kernel value


class RowCache:
    """Full rows of the Gram matrix of n samples, shared by all problems on them.

    Parameters
    ----------
    kernel : function of two sets of samples → block of the Gram matrix
    X : samples
    n : int
        How many.
    max_bytes : int
        Memory for rows; 32 are kept even if they need more.

    Attributes
    ----------
    rows : (capacity, n) float32
        As in LIBSVM: twice as many fit.
    place_of : (n,) int64
        Which of ``rows`` is a sample's, or −1.
    n_computed : int
        Rows that were computed so far.

    Examples
    --------
    >>> cache = RowCache(lambda x, y: x @ y.T, np.eye(3), 3, 0)
    >>> cache.fetch(np.array([1]))
    >>> cache.rows[cache.place_of[1]]
    array([0., 1., 0.], dtype=float32)
    """

    def __init__(self, kernel: Callable[[Any, Any], Any], X: Any, n: int, max_bytes: int) -> None:
        self._kernel, self._X = kernel, X
        capacity = min(n, max(FEWEST_ROWS, max_bytes // (n * BYTES)))
        self.rows = np.empty((capacity, n), np.float32)
        self.place_of = np.full(n, -1, np.int64)
        self.n_computed = 0
        self._holders = np.full(capacity, -1, np.int64)
        self._used = np.zeros(capacity, np.int64)
        self._clock = 0

    def fetch(self, samples: np.ndarray) -> None:
        """Have the rows of these samples, at most as many as there is room for."""
        self.touch(samples[self.place_of[samples] >= 0])
        missing = samples[self.place_of[samples] < 0]
        if not missing.size:
            return
        places = np.argsort(self._used, kind="stable")[: missing.size]
        former = self._holders[places]
        self.place_of[former[former >= 0]] = -1
        self.rows[places] = self._kernel(take(self._X, missing), self._X)
        self.n_computed += missing.size
        self.place_of[missing], self._holders[places] = places, missing
        self.touch(missing)

    def touch(self, samples: np.ndarray) -> None:
        """Note that these rows were used now; the longest unused make room for others."""
        self._clock += 1
        self._used[self.place_of[samples]] = self._clock
