"""Products of bytes with columns of small whole numbers, laid out for vector instructions."""

import numpy as np

from visualwords.codebook._fisher import GROUP, PLANES

__all__ = ["LARGEST", "as_bytes", "pack_columns"]

LARGEST = 127  # of the whole numbers that are multiplied with bytes


def as_bytes(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round rows to whole numbers of at most 127, and return what each is to be multiplied with.

    Parameters
    ----------
    rows : (k, d) array

    Returns
    -------
    (k, d) int8 and (k,) float64

    Examples
    --------
    >>> codes, scales = as_bytes(np.array([[1.0, 0.5], [0.0, -8.0]]))
    >>> codes.tolist(), (scales * 127).tolist()
    ([[127, 64], [0, -127]], [1.0, 8.0])
    """
    largest = np.abs(rows).max(axis=1).astype(np.float64)
    scales = np.where(largest > 0, largest, 1) / LARGEST
    return np.rint(rows / scales[:, None]).astype(np.int8), scales


def pack_columns(codes: np.ndarray) -> np.ndarray:
    """Lay out whole numbers (k, d) as columns side by side, for products with rows of bytes.

    Returns
    -------
    (n_groups, ⌈d / 4⌉, PLANES, GROUP) int32
        Each number has the codes of one column for four bytes; or, with two planes, for two even
        bytes in one and two odd ones in the other.
    """
    k, d = codes.shape
    n_groups, n_quads = -(-k // GROUP), -(-d // 4)
    padded = np.zeros((n_groups * GROUP, 4 * n_quads), np.int8)
    padded[:k, :d] = codes
    if PLANES == 1:
        numbers = padded.view(np.int32)[:, None]
    else:
        pairs = padded.reshape(-1, n_quads, 2, 2).transpose(0, 3, 1, 2)
        numbers = np.ascontiguousarray(pairs, np.int16).view(np.int32)[..., 0]
    return np.ascontiguousarray(
        numbers.reshape(n_groups, GROUP, PLANES, n_quads).transpose(0, 3, 2, 1)
    )
