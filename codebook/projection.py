"""Principal components of descriptors."""

import numpy as np

from visualwords.codebook._fisher import LANES, project_bytes
from visualwords.codebook.byte_products import as_bytes, pack_columns

__all__ = ["AffineMap", "Projection", "check_finite"]

_BLOCK = 8192


class Projection:
    """Descriptors as their coordinates along the directions of largest variance.

    y = P (x − mean).

    Parameters
    ----------
    mean : (d,) float32
    directions : (n_components, d) float32

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0, 0], [2, 2], [4, 4]], np.uint8)
    >>> Projection.learn(x, 1).apply(x).round(3).ravel()
    array([-2.828,  0.   ,  2.828], dtype=float32)
    """

    def __init__(self, mean: np.ndarray, directions: np.ndarray):
        self.mean = np.ascontiguousarray(mean, np.float32)
        self.directions = np.ascontiguousarray(directions, np.float32)
        self.offset = self.directions.astype(np.float64) @ self.mean
        self._map = AffineMap(self.directions, self.offset)

    @classmethod
    def learn(cls, X: np.ndarray, n_components: int) -> "Projection":
        """Learn the directions from descriptors (n, d).

        The largest number of each direction is positive, so that the signs are reproducible.
        """
        d = X.shape[1]
        if not 1 <= n_components <= d:
            raise ValueError(f"n_components={n_components}; descriptors have 1 to {d}")
        check_finite(X)
        mean = X.mean(axis=0, dtype=np.float64)
        covariance = np.zeros((d, d))
        for start in range(0, len(X), _BLOCK):
            part = X[start : start + _BLOCK] - mean
            covariance += part.T @ part
        directions = np.linalg.eigh(covariance / max(len(X), 1))[1].T[::-1][:n_components]
        largest = np.abs(directions).argmax(axis=1)
        directions = directions * np.sign(directions[np.arange(n_components), largest])[:, None]
        return cls(mean, directions)

    def rounded(self) -> "Projection":
        """Return the projection whose directions are multiples of 1/127 of their largest number.

        Bytes are projected with it several times faster, and exactly. It turns the directions by
        less than a degree.
        """
        codes, scales = as_bytes(self.directions)
        return Projection(self.mean, codes * scales[:, None])

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return the coordinates of descriptors, (n, n_components) float32."""
        return self._map.apply(X)


class AffineMap:
    """y = A x − b of many x, in float32; by products of whole numbers where that is exact.

    Parameters
    ----------
    directions : (m, d) array
        A. If the numbers of each row are multiples of 1/127 of its largest, bytes are multiplied
        as whole numbers.
    offset : (m,) array
    width : int, optional, keyword only
        Further columns up to this number are 0.
    """

    def __init__(self, directions: np.ndarray, offset: np.ndarray, *, width: int | None = None):
        m, d = directions.shape
        self._matrix = np.zeros((width or m, d), np.float32)
        self._offset = np.zeros(width or m, np.float32)
        self._matrix[:m], self._offset[:m] = directions, offset
        self._tables = None
        codes, scales = as_bytes(directions)
        error = np.abs(codes * scales[:, None] - directions).max(axis=1)
        if LANES and (error <= 1e-4 * scales).all():
            self._tables, self._scale = pack_columns(codes), np.zeros(width or m, np.float32)
            self._scale[:m] = scales

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return y of each row of X, (n, width) float32."""
        prepared = self.prepare(X)
        if prepared is None:
            return X.astype(np.float32, copy=False) @ self._matrix.T - self._offset
        out = np.empty((len(X), len(self._offset)), np.float32)
        quads, projection = prepared
        project_bytes(quads, *projection, out[:, None])
        return out

    def prepare(self, X: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]] | None:
        """Return bytes as quads, and what projects them; None where whole numbers can't."""
        if X.dtype != np.uint8 or self._tables is None:
            return None
        return _in_quads(X), (self._tables, self._scale, self._offset)


def _in_quads(X: np.ndarray) -> np.ndarray:
    """Rows of bytes as rows of numbers of four bytes, with zeros at the end if need be."""
    if X.shape[1] % 4:
        X = np.pad(X, ((0, 0), (0, -X.shape[1] % 4)))
    return np.ascontiguousarray(X).view(np.int32)


def check_finite(descriptors: np.ndarray) -> None:
    """Raise ValueError that counts the descriptors with NaN or infinity, if there are any."""
    if descriptors.dtype.kind != "f" or np.isfinite(descriptors).all():
        return
    n_bad = int((~np.isfinite(descriptors).all(axis=1)).sum())
    raise ValueError(
        f"{n_bad} of {len(descriptors)} descriptors have NaN or infinite numbers; leave them out"
    )
