"""One pass over many descriptors as a map over parts, their results put together in order.

Parts are slices of a fixed size, so the outcome does not depend on how many threads or machines
share the work, sums of floating-point numbers included.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from visualwords.workers import map_on_workers

__all__ = ["map_parts"]

ROWS = 1 << 16  # of a part


def map_parts(function: Callable[[np.ndarray], Any], X: np.ndarray, n_jobs: int | None) -> list:
    """Return what a function makes of each part of the rows, in their order.

    Parameters
    ----------
    function : callable
        Takes the rows of a part. It goes to other processes where joblib's active backend has
        such, so it must be importable there: a function of a module, or a ``partial`` of one.
    X : (n, d) array
    n_jobs : int or None
        Threads, or workers of the active backend.

    Examples
    --------
    >>> import numpy as np
    >>> map_parts(len, np.zeros((70_000, 1)), n_jobs=1)
    [65536, 4464]
    """
    parts = ((X[start : start + ROWS],) for start in range(0, len(X), ROWS))
    return list(map_on_workers(function, parts, n_jobs=n_jobs))
