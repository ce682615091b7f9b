"""One pass over many descriptors as a map over parts, with the results in order.

Parts are slices of a fixed size, so the outcome does not depend on how many threads or machines
share the work, sums of floating-point numbers included.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from visualwords.workers import map_on_workers, within_reach

__all__ = ["in_parts", "map_parts"]

ROWS = 1 << 16  # of a part


@contextmanager
def in_parts(X: np.ndarray) -> Iterator[list[Any]]:
    """Yield the parts of an array for several calls of `map_parts`; each is sent once."""
    with within_reach([X[start : start + ROWS] for start in range(0, len(X), ROWS)]) as parts:
        yield parts


def map_parts(
    function: Callable[[np.ndarray], Any], parts: Sequence[Any], n_jobs: int | None
) -> list:
    """Return what a function makes of each part of the rows, in their order.

    Parameters
    ----------
    function : callable
        Takes the rows of a part. It may run in other processes of joblib's active backend, so it
        must be importable there: a function of a module, or a ``partial`` of one.
    parts : sequence
        From `in_parts`.
    n_jobs : int or None
        Threads, or workers of the active backend.

    Examples
    --------
    >>> with in_parts(np.zeros((70_000, 1))) as parts:
    ...     map_parts(len, parts, n_jobs=1)
    [65536, 4464]
    """
    return list(map_on_workers(function, ((part,) for part in parts), n_jobs=n_jobs))
