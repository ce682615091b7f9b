"""Principal components of descriptors."""

import numpy as np

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

    @classmethod
    def learn(cls, X: np.ndarray, n_components: int | None) -> "Projection":
        """Learn the directions from descriptors (n, d).

        The largest number of each direction is positive, so that the signs are reproducible. None
        takes the descriptors as they are.
        """
        d = X.shape[1]
        if n_components is None:
            return cls(np.zeros(d), np.eye(d))
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

    def apply(self, X: np.ndarray) -> np.ndarray:
        """The coordinates of descriptors, (n, n_components) float32."""
        found = np.empty((len(X), len(self.directions)), np.float32)
        offset = self.offset.astype(np.float32)
        for start in range(0, len(X), _BLOCK):
            part = slice(start, start + _BLOCK)
            found[part] = X[part].astype(np.float32, copy=False) @ self.directions.T - offset
        return found


def check_finite(descriptors: np.ndarray) -> None:
    """Raise ValueError that counts the descriptors with NaN or infinity, if there are any."""
    if descriptors.dtype.kind != "f" or np.isfinite(descriptors).all():
        return
    n_bad = int((~np.isfinite(descriptors).all(axis=1)).sum())
    raise ValueError(
        f"{n_bad} of {len(descriptors)} descriptors have NaN or infinite numbers; leave them out"
    )
