"""Products of the rows of all images, channel by channel, for recipes that share channels.

A search changes one thing at a time: C, class weights, a channel more. The matrix of products of
byte rows is the sum of those of their channels, in whole numbers, so that it is the same whatever
was kept.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from operator import iadd

import numpy as np

from visualwords.classifiers.solvers import byte_rows

MOST_ROWS = 3000  # 72 MB for a channel
MOST_KEPT = 500e6  # bytes


class ChannelProducts:
    """X Xᵀ of channels, those last used.

    Parameters
    ----------
    n_jobs : int or None

    Examples
    --------
    >>> rows = np.array([[1, 2, 3], [0, 1, -1]], np.int8)
    >>> products = ChannelProducts(None)
    >>> products.of("a channel", lambda: [rows[:, :2], rows[:, 2:]]).tolist()
    [[14.0, -1.0], [-1.0, 2.0]]
    """

    def __init__(self, n_jobs: int | None):
        self.n_jobs = n_jobs
        self._kept: dict[str, np.ndarray] = {}

    def of(self, name: str, rows: Callable[[], Iterable[np.ndarray]]) -> np.ndarray:
        """Return X Xᵀ of a channel, (n, n) float64.

        Parameters
        ----------
        name : what stands for the same rows always
        rows : function without arguments → parts of their columns, int8, where they are needed
        """
        found = self._kept.pop(name, None)
        if found is None:
            parts = (byte_rows.products_of(part, self.n_jobs) for part in rows())
            found = reduce(iadd, parts)
        self._kept[name] = found  # the last used are last
        while len(self._kept) > 1 and sum(k.nbytes for k in self._kept.values()) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return found


def are_shared(n_rows: int, n_classes: int, n_trainings: int) -> bool:
    """Return whether a classifier of bytes uses the products, and they are small enough to keep."""
    n_outputs = 1 if n_classes == 2 else n_classes
    return n_rows <= MOST_ROWS and byte_rows.gram_is_faster(n_rows, n_trainings * n_outputs)
