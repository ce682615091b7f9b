"""Signed bytes in blocks of rows, for dual coordinate descent without their Gram matrix."""

from typing import Any

import numpy as np

from visualwords.classifiers import _byte_rows, product_bands
from visualwords.classifiers.row_file import RowFile
from visualwords.parallel import map_on_workers

COLUMNS_AT_A_TIME = 1024  # 1,024 · 127² < 2²⁴: sums of products are exact in float32
NUMBERS_OF_A_BLOCK = 1 << 20
ROWS_OF_A_BLOCK = 64, 128  # at least, at most; more saved no passes


class ByteBlocks:
    """Rows whose mean squared length counts as 1, for blocks of neighbours of an order.

    They are the rows that `visualwords.classifiers.solvers.dual_blocks` solves on; weights are
    (lanes, d) sums of rows as they are.

    Parameters
    ----------
    X : (n, d) int8 array or RowFile
    order : (n,) int, or None
        In which the rows form blocks; those of a file are in their order.
    band : (n, size) float32 array or RowFile
        Products of every row with the rows that follow it in the order.
    mean_square : float
        Mean squared length of the rows, as they are.
    """

    skips = True

    def __init__(self, X: Any, order: np.ndarray | None, band: Any, mean_square: float):
        self.X, self.order, self.band = X, order, band
        self.size, self.mean_square = band.shape[1], mean_square

    def load(self, start: int, end: int, dtype: Any) -> np.ndarray:
        """Return neighbouring rows."""
        return rows_between(self.X, self.order, start, end)

    def gram(self, start: int, end: int) -> np.ndarray:
        """Return the products of neighbouring rows among each other."""
        return product_bands.gram_of(self.band, start, end, 1 / self.mean_square)

    def new_weights(self, lanes: int, dtype: Any) -> np.ndarray:
        """Return weights of no training."""
        return np.zeros((lanes, self.X.shape[1]), dtype)

    def scores(self, rows: np.ndarray, weights: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return the wanted scores of a block's rows; 0 for the others."""
        lanes, counts = _marked(wanted)
        sums = np.zeros(lanes.shape, weights.dtype)
        _byte_rows.score(rows, weights, lanes, counts, sums)
        found = np.zeros(wanted.shape, weights.dtype)
        _byte_rows.spread(sums, lanes, counts, found.dtype.type(1 / self.mean_square), found)
        return found

    def update(self, rows: np.ndarray, coefficients: np.ndarray, weights: np.ndarray) -> None:
        """Add the rows of a block times their coefficients to the weights."""
        places, counts = _marked(coefficients.T)
        _byte_rows.add(rows, coefficients, places, counts, weights)

    def lanes_of(self, weights: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """Return the weights of some machines."""
        return weights[lanes]


def _marked(marks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each row of marks is not 0, as `_byte_rows.list_marked` writes it."""
    places = np.empty((len(marks), marks.shape[1] + _byte_rows.SIDE_BY_SIDE - 1), np.int64)
    counts = np.empty(len(marks), np.int64)
    _byte_rows.list_marked(marks, places, counts)
    return places, counts


def band_of_products(
    X: Any, reference: Any, order: np.ndarray | None, file: RowFile | None, n_jobs: int | None
) -> tuple[Any, np.ndarray]:
    """Compute the products of rows with those that follow, where there are workers by these.

    Parameters
    ----------
    X : (n, d) int8 array or RowFile
    reference : Any
        What `visualwords.parallel.within_reach` gave for X.
    order : (n,) int, or None
    file : RowFile or None
        A new file for the products; None keeps them in memory: as many numbers for each row as a
        block has rows.
    n_jobs : int or None

    Returns
    -------
    band : (n, size) float32 array or RowFile
    norms : (n,) float64
        Squared lengths of the rows, in order.
    """
    n, d = X.shape
    size = int(np.clip(NUMBERS_OF_A_BLOCK // max(d, 1) // 16 * 16, *ROWS_OF_A_BLOCK))
    pieces = product_bands.pieces_of(n, size)
    shared = [reference, order, size]
    found = map_on_workers(_band_between, pieces, shared=shared, n_jobs=n_jobs)
    return product_bands.keep(found, (n, size), file)


def rows_between(X: Any, order: np.ndarray | None, start: int, end: int) -> np.ndarray:
    """Return neighbouring rows of an order."""
    return X[start:end] if order is None else X[order[start:end]]


def _band_between(
    X: Any, order: np.ndarray | None, size: int, start: int, end: int, last: int
) -> np.ndarray:
    rows = rows_between(X, order, start, last)
    return product_bands.cut(exact_product(rows[: end - start], rows), size)


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
