"""Histogram intersection Gram matrix of small integers (quantised or counted histograms)."""

import numpy as np

from visualwords.classifiers.kernels import _intersection_uint8 as loops
from visualwords.parallel import in_threads

_ROWS_AT_A_TIME = 64  # these stay in the second-level cache while all columns pass
_LARGEST, _SMALL = 255, 127  # values of a slice: any byte, or such that two add up to a byte
_GAIN_OF_SMALL = 0.8  # time of a slice of small values, relative to one of any bytes
_COPIED_AT_A_TIME = 16  # rows


def level_gram(
    x: np.ndarray,
    y: np.ndarray | None = None,
    *,
    rows: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return G[i, j] = Σ_k min(x[i, k], y[j, k]) of unsigned integers, exactly.

    Parameters
    ----------
    x : (n, d) uint8 or uint16
    y : (m, d) of the same type, optional
        Default: x, of which half the matrix is computed.
    rows : (n,) int, optional
        Of x: these instead of all.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    (n, m) float32
        Exact up to 2²⁴, that is, for 65,000 features of 255.

    Notes
    -----
    Minima of bytes are added up. Values above s = 255 are cut into slices, min(x, y) =
    min(x ∧ s, y ∧ s) + min((x − s)⁺, (y − s)⁺), and a slice has only the features that reach it.
    Where few features exceed 127, s is 127, as sums of two such bytes are bytes.

    Examples
    --------
    >>> level_gram(np.array([[1, 300], [2, 299]], np.uint16))
    array([[301., 300.],
           [300., 301.]], dtype=float32)
    """
    rows = np.arange(x.shape[0]) if rows is None else rows
    gram = np.zeros((rows.size, rows.size if y is None else y.shape[0]), np.float32)
    if 0 in (*gram.shape, x.shape[1]):
        return gram
    highest = x.max(axis=0)
    if y is not None:
        highest = np.minimum(highest, y.max(axis=0))
    step = _slice_step(highest)
    for start in range(0, int(highest.max()), step):
        reach = None if start == 0 else highest > start
        a = _slice(x, rows, reach, start, step)
        b = a if y is None else _slice(y, np.arange(y.shape[0]), reach, start, step)
        _add_byte_gram(a, b, step == _SMALL, gram, n_jobs)
    if y is None:
        in_threads(
            lambda first, last: loops.mirror(gram, first, last), len(gram), _ROWS_AT_A_TIME, n_jobs
        )
    return gram


def _slice_step(highest: np.ndarray) -> int:
    """The size of slices that takes less time for features with these highest values."""
    small, large = (np.ceil(highest / step).sum() for step in (_SMALL, _LARGEST))
    return _SMALL if _GAIN_OF_SMALL * small <= large else _LARGEST


def _slice(
    x: np.ndarray, rows: np.ndarray, reach: np.ndarray | None, start: int, step: int
) -> np.ndarray:
    """The part of the values between start and start + step, as bytes.

    Zeros fill up the rows and their number, so that vectors never cross cache lines and blocks of
    rows are whole.
    """
    d = x.shape[1] if reach is None else int(reach.sum())
    shape = -(-rows.size // 4) * 4, -(-d // loops.MULTIPLE) * loops.MULTIPLE
    room = np.zeros(shape[0] * shape[1] + loops.MULTIPLE, np.uint8)
    offset = -room.ctypes.data % loops.MULTIPLE
    out = room[offset : offset + shape[0] * shape[1]].reshape(shape)
    for first in range(0, rows.size, _COPIED_AT_A_TIME):
        some = x[rows[first : first + _COPIED_AT_A_TIME]]
        if reach is not None:
            some = np.maximum(some[:, reach], start) - start
        out[first : first + len(some), :d] = np.minimum(some, step)
    return out


def _add_byte_gram(
    x: np.ndarray, y: np.ndarray, small: bool, out: np.ndarray, n_jobs: int | None
) -> None:
    """Add sums of minima of bytes to out; if y is x, at least to the lower half."""

    def fill(first: int, last: int) -> None:
        if loops.WIDTH:
            loops.gram_rows(x, y, first, last, y is x, small, out)
        else:
            loops.gram_rows_plain(x, y, first, last, out)

    in_threads(fill, out.shape[0], _ROWS_AT_A_TIME, n_jobs, last_first=y is x)
