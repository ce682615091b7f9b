"""Signed bytes in blocks of rows, for dual coordinate descent without their Gram matrix."""

from typing import Any

import numpy as np

from visualwords.classifiers.row_file import RowFile
from visualwords.workers import map_on_workers

COLUMNS_AT_A_TIME = 1024  # 1,024 · 127² < 2²⁴: sums of products are exact in float32
NUMBERS_OF_A_BLOCK = 1 << 23
ROWS_OF_A_BLOCK = 64, 256  # at least, at most; twice as many saved no passes


class ByteBlocks:
    """Rows whose mean squared length counts as 1, in blocks of neighbours of an order.

    They are the rows that `visualwords.classifiers.solvers.dual_blocks` solves on; weights are
    (lanes, d) sums of rows as they are.

    Parameters
    ----------
    X : (n, d) int8 array or RowFile
    order : (n,) int, or None
        In which the rows form blocks; those of a file are in their order.
    bounds : (n_blocks + 1,) int
        First row of every block.
    grams : sequence of (b, b) float32, or RowFile
        Products of the rows of each block.
    mean_square : float
        Mean squared length of the rows, as they are.
    """

    def __init__(
        self, X: Any, order: np.ndarray | None, bounds: np.ndarray, grams: Any, mean_square: float
    ):
        self.X, self.order, self.bounds = X, order, bounds
        self.grams, self.mean_square = grams, mean_square
        self._room = np.empty((0, X.shape[1]))

    def load(self, number: int, dtype: Any) -> np.ndarray:
        """Return the rows of a block as floats, in room that the next block takes over."""
        some = rows_between(self.X, self.order, *self.bounds[number : number + 2])
        if len(self._room) < len(some) or self._room.dtype != dtype:
            self._room = np.empty(some.shape, dtype)
        rows = self._room[: len(some)]
        np.copyto(rows, some)
        return rows

    def gram(self, number: int) -> np.ndarray:
        """Return the products of a block's rows among each other."""
        start, end = self.bounds[number : number + 2]
        in_file = isinstance(self.grams, RowFile)
        raw = self.grams[start:end][:, : end - start] if in_file else self.grams[number]
        return raw / np.float32(self.mean_square)

    def new_weights(self, lanes: int, dtype: Any) -> np.ndarray:
        """Return weights of no training."""
        return np.zeros((lanes, self.X.shape[1]), dtype)

    def scores(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the scores of a block's rows."""
        found = rows @ weights.T
        found /= found.dtype.type(self.mean_square)
        return found

    def update(self, rows: np.ndarray, coefficients: np.ndarray, weights: np.ndarray) -> None:
        """Add the rows of a block times their coefficients to the weights."""
        weights += coefficients.T @ rows

    def squares(self, weights: np.ndarray) -> np.ndarray:
        """Return ‖w‖² of every machine."""
        return np.einsum("cj,cj->c", weights, weights, dtype=np.float64) / self.mean_square

    def lanes_of(self, weights: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """Return the weights of some machines."""
        return weights[lanes]


def prepare_blocks(
    X: Any, reference: Any, order: np.ndarray | None, grams: RowFile | None, n_jobs: int | None
) -> tuple[np.ndarray, Any, np.ndarray, float]:
    """Compute the products of rows in blocks, once, where there are workers by these.

    Parameters
    ----------
    X : (n, d) int8 array or RowFile
    reference : Any
        What `visualwords.workers.within_reach` gave for X.
    order : (n,) int, or None
    grams : RowFile or None
        A new file for the products; None keeps them in memory: as many numbers for each row as a
        block has rows.
    n_jobs : int or None

    Returns
    -------
    bounds, grams and mean square of `ByteBlocks`, and before the last the squared lengths of all
    rows whose mean is 1, in order
    """
    n, d = X.shape
    size = int(np.clip(NUMBERS_OF_A_BLOCK // max(d, 1) // 16 * 16, *ROWS_OF_A_BLOCK))
    bounds = np.append(np.arange(0, n, size), n)
    pieces = zip(bounds[:-1].tolist(), bounds[1:].tolist())
    found = map_on_workers(_products_between, pieces, shared=[reference, order], n_jobs=n_jobs)
    kept: Any = [] if grams is None else grams
    norms = []
    for products in found:
        norms.append(np.diagonal(products).copy())
        small = products.astype(np.float32)
        if grams is not None:  # a file's rows have one length
            small = np.pad(small, ((0, 0), (0, min(size, n) - len(small))))
        kept.append(small)
    every = np.concatenate(norms)
    mean_square = max(float(every.mean()), 1.0)
    return bounds, kept, every, mean_square


def rows_between(X: Any, order: np.ndarray | None, start: int, end: int) -> np.ndarray:
    """Return neighbouring rows of an order."""
    return X[start:end] if order is None else X[order[start:end]]


def _products_between(X: Any, order: np.ndarray | None, start: int, end: int) -> np.ndarray:
    rows = rows_between(X, order, start, end)
    return exact_product(rows, rows)


def exact_product(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return X Yᵀ of int8 matrices as whole numbers in float64.

    Examples
    --------
    >>> import numpy as np
    >>> exact_product(np.array([[1, -2]], np.int8), np.array([[3, 4], [0, 127]], np.int8)).tolist()
    [[-5.0, -254.0]]
    """
    total = np.zeros((len(X), len(Y)))
    for start in range(0, X.shape[1], COLUMNS_AT_A_TIME):
        part = slice(start, start + COLUMNS_AT_A_TIME)
        left = X[:, part].astype(np.float32)
        right = left if X is Y else Y[:, part].astype(np.float32)
        total += left @ right.T
    return total
