"""Products of the rows of all images, channel by channel, for recipes that share channels.

A search changes one thing at a time: C, class weights, a channel more. The matrix of products of
byte rows is the sum of those of their channels, in whole numbers, so that it is the same whatever
was kept.
"""

from collections.abc import Sequence

import numpy as np

from visualwords.classifiers import byte_training

MOST_ROWS = 3000  # 72 MB for a channel
MOST_KEPT = 8  # channels


class ChannelProducts:
    """X Xᵀ of channels, those last used.

    Parameters
    ----------
    n_jobs : int or None

    Examples
    --------
    >>> rows = np.array([[1, 2, 3], [0, 1, -1]], np.int8)
    >>> ChannelProducts(None).of(rows, ["two columns", "one column"], [2, 1]).tolist()
    [[14.0, -1.0], [-1.0, 2.0]]
    """

    def __init__(self, n_jobs: int | None):
        self.n_jobs = n_jobs
        self._kept: dict[str, np.ndarray] = {}

    def of(self, rows: np.ndarray, names: Sequence[str], widths: Sequence[int]) -> np.ndarray:
        """Return X Xᵀ of byte rows, (n, n) float64.

        Parameters
        ----------
        rows : (n, d) int8
        names : of the channels, side by side in the rows; a name stands for the same rows always
        widths : columns of each channel
        """
        total = np.zeros((len(rows), len(rows)))
        for name, width, end in zip(names, widths, np.cumsum(widths)):
            found = self._kept.pop(name, None)
            if found is None:
                found = byte_training.products_of(rows[:, end - width : end], self.n_jobs)
            self._kept[name] = found  # the last used are last
            total += found
        for name in list(self._kept)[:-MOST_KEPT]:
            del self._kept[name]
        return total


def are_shared(rows: object, n_classes: int, n_trainings: int) -> bool:
    """Return whether a classifier of bytes uses the products, and they are small enough to keep."""
    if not isinstance(rows, np.ndarray) or rows.dtype != np.int8 or len(rows) > MOST_ROWS:
        return False
    n_outputs = 1 if n_classes == 2 else n_classes
    return byte_training.gram_is_faster(len(rows), n_trainings * n_outputs)
