"""Histogram intersection Gram matrix of small integers (quantised or counted histograms)."""

import numpy as np

from visualwords.classifiers.kernels import _intersection_uint8 as loops
from visualwords.threads import in_threads

_ROWS_AT_A_TIME = 64  # these stay in the second-level cache while all columns pass


def level_gram(
    x: np.ndarray, y: np.ndarray | None = None, *, n_jobs: int | None = None
) -> np.ndarray:
    """Return G[i, j] = Σ_k min(x[i, k], y[j, k]) of unsigned integers, exactly.

    Parameters
    ----------
    x : (n, d) uint8 or uint16
    y : (m, d) of the same type, optional
        Default: x, of which half the matrix is computed.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Returns
    -------
    (n, m) float32
        Exact up to 2²⁴, that is, for 65,000 features of 255.

    Notes
    -----
    Minima of bytes are added up. Values above 255 are cut into slices, min(x, y) =
    min(x ∧ 255, y ∧ 255) + min((x − 255)⁺, (y − 255)⁺), and a slice has only the features that
    reach it.

    Examples
    --------
    >>> level_gram(np.array([[1, 300], [2, 299]], np.uint16))
    array([[301., 300.],
           [300., 301.]], dtype=float32)
    """
    gram = _byte_gram(_slice(x, 0), None if y is None else _slice(y, 0), n_jobs)
    highest = x.max(axis=0, initial=0)
    if y is not None:
        highest = np.minimum(highest, y.max(axis=0, initial=0))
    for start in range(255, int(highest.max(initial=0)), 255):
        reach = highest > start
        other = None if y is None else _slice(y[:, reach], start)
        gram += _byte_gram(_slice(x[:, reach], start), other, n_jobs)
    if y is None:
        in_threads(
            lambda first, last: loops.mirror(gram, first, last), len(gram), _ROWS_AT_A_TIME, n_jobs
        )
    return gram


def _slice(x: np.ndarray, start: int) -> np.ndarray:
    """The part of the values between start and start + 255, as bytes in C order."""
    if x.dtype == np.uint8:
        return np.ascontiguousarray(x)
    return (np.clip(x, start, start + 255) - start).astype(np.uint8, order="C")


def _byte_gram(x: np.ndarray, y: np.ndarray | None, n_jobs: int | None) -> np.ndarray:
    """Sums of minima of bytes; without y at least for the lower half of the matrix."""
    symmetric = y is None
    other = x if y is None else y
    out = np.zeros((x.shape[0], other.shape[0]), np.float32)  # slices are added in full
    if not loops.WIDTH or x.shape[0] < 2 or other.shape[0] < 4:
        loops.gram_rows_plain(x, other, 0, x.shape[0], out)
        return out
    if x.shape[1] < loops.WIDTH:
        x = _widen(x)
        other = x if symmetric else _widen(other)
    mask = loops.tail_mask(x.shape[1])
    in_threads(
        lambda first, last: loops.gram_rows(x, other, first, last, symmetric, mask, out),
        x.shape[0],
        _ROWS_AT_A_TIME,
        n_jobs,
        last_first=symmetric,
    )
    return out


def _widen(x: np.ndarray) -> np.ndarray:
    """Add columns of zeros up to one vector."""
    return np.pad(x, ((0, 0), (0, loops.WIDTH - x.shape[1])))
