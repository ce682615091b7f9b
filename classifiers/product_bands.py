"""Products of rows with the rows that follow them: what blocks need that begin anywhere."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from visualwords.classifiers.row_file import RowFile
from visualwords.classifiers.solvers import _dual_blocks


def pieces_of(n: int, width: int) -> list[tuple[int, int, int]]:
    """Return the rows of a piece of the band, and the end of those that it needs.

    Examples
    --------
    >>> pieces_of(10, 4)
    [(0, 4, 8), (4, 8, 10), (8, 10, 10)]
    """
    return [(s, min(s + width, n), min(s + 2 * width, n)) for s in range(0, n, width)]


def cut(products: np.ndarray, width: int) -> np.ndarray:
    """Return each row's products with itself and the rows after it, (b, width) float32.

    Parameters
    ----------
    products : (b, c)
        Of neighbouring rows with themselves and the rows that follow.
    width : int
    """
    band = np.empty((len(products), width), np.float32)
    _dual_blocks.cut_band(products, width, band)
    return band


def keep(
    parts: Iterable[np.ndarray], shape: tuple[int, int], file: RowFile | None
) -> tuple[Any, np.ndarray]:
    """Return a band in memory or in a file, and the squared lengths of all rows."""
    band: Any = np.empty(shape, np.float32) if file is None else file
    norms, start = np.empty(shape[0]), 0
    for part in parts:
        norms[start : start + len(part)] = part[:, 0]
        if file is None:
            band[start : start + len(part)] = part
        else:
            file.append(part)
        start += len(part)
    return band, norms


def gram_of(band: Any, start: int, end: int, factor: float = 1.0) -> np.ndarray:
    """Return the products of neighbouring rows among each other, (b, b) float32."""
    gram = np.empty((end - start, end - start), np.float32)
    _dual_blocks.fill_gram(band[start:end], np.float32(factor), gram)
    return gram
