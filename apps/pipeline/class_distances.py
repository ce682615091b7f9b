"""How far a row is from classes, and from the nearest row where classes differ."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ["ClassDistances", "NearestDirection"]

LEARN_FROM = 4096  # rows at most, evenly taken
LEAST_VARIANCE = 1e-4  # of the largest
ROWS_PER_COMPONENT = 8  # a covariance of fewer rows says little of its components


@dataclass(frozen=True)
class ClassDistances:
    """Relative Mahalanobis distance [1]_: min_c ‖x − m_c‖²_W − ‖x − m‖²_T.

    W is the covariance within classes and T that of all rows. What makes a row unlike all training
    rows, whatever their class, is in both distances and cancels out; what makes it unlike every
    class stays.

    Attributes
    ----------
    means : (n_classes, d) float64
        Of the classes, whitened by ``within``.
    mean : (d,) float64
        Of all rows, whitened by ``total``.
    within, total : (d, d) float64
        Columns whiten: their product with their transpose is the inverse of the covariance.

    References
    ----------
    .. [1] J. Ren, S. Fort, J. Liu, A. Roy, S. Padhy, B. Lakshminarayanan: A simple fix to
       Mahalanobis distance for improving near-OOD detection, 2021.

    Examples
    --------
    >>> rows = np.repeat([[0.0, 0], [8, 0]], 50, axis=0)
    >>> rows += np.random.default_rng(0).normal(size=rows.shape)
    >>> found = ClassDistances.fit(rows, np.repeat([0, 1], 50)).relative(np.array([[0, 0], [4, 0]]))
    >>> bool(found[1] > found[0] + 8)
    True
    """

    means: np.ndarray
    mean: np.ndarray
    within: np.ndarray
    total: np.ndarray

    @classmethod
    def fit(cls, rows: np.ndarray, codes: np.ndarray) -> "ClassDistances":
        """Learn from rows, (n, d), and the indices of their classes."""
        rows, codes = _evenly(rows, codes)
        means, mean = _class_means(rows, codes), rows.mean(axis=0)
        within, total = _whitening(rows - means[codes]), _whitening(rows - mean)
        return cls(means @ within, mean @ total, within, total)

    @cached_property
    def _squares(self) -> np.ndarray:
        """Squared lengths of the means."""
        return (self.means**2).sum(axis=1)

    def relative(self, rows: np.ndarray) -> np.ndarray:
        """Return the relative distance of rows, (n,): the higher, the less of any class."""
        near, found = rows @ self.within, rows @ self.total - self.mean
        squares = (near**2).sum(axis=1)[:, None] + self._squares
        squares -= 2 * near @ self.means.T
        return squares.min(axis=1) - (found**2).sum(axis=1)


@dataclass(frozen=True)
class NearestDirection:
    """1 − the highest cosine with a training row, by what does not vary within classes.

    Rows are whitened by the covariance within classes, which leaves little of what members of one
    class differ in, and compared by their directions from the mean of all. Only as many of the
    first components are used as there are rows to learn them from.

    Attributes
    ----------
    mean : (q,) float64
        Of all rows.
    within : (q, q) float64
        Whitens.
    directions : (n, q) float64
        Of training rows, of length 1.

    Examples
    --------
    >>> rows = np.repeat([[0.0, 8], [8, 0]], 50, axis=0)
    >>> rows += np.random.default_rng(0).normal(size=rows.shape)
    >>> known = NearestDirection.fit(rows, np.repeat([0, 1], 50))
    >>> found = known.distances(np.array([[0.0, 16], [16, 16]]))
    >>> bool(found[1] > found[0] + 0.5)
    True
    """

    mean: np.ndarray
    within: np.ndarray
    directions: np.ndarray

    @classmethod
    def fit(cls, rows: np.ndarray, codes: np.ndarray) -> "NearestDirection":
        """Learn from components, (n, d), the strongest first, and the indices of their classes."""
        rows, codes = _evenly(rows, codes)
        rows = rows[:, : max(2, len(rows) // ROWS_PER_COMPONENT)]
        mean, within = rows.mean(axis=0), _whitening(rows - _class_means(rows, codes)[codes])
        return cls(mean, within, _unit((rows - mean) @ within))

    def distances(self, rows: np.ndarray) -> np.ndarray:
        """Return the distance of rows to the nearest direction, (n,), 0 to 2."""
        found = _unit((rows[:, : len(self.mean)] - self.mean) @ self.within)
        return 1 - (found @ self.directions.T).max(axis=1)


def _evenly(rows: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most `LEARN_FROM` rows and their classes, numbered from 0."""
    step = -(-len(rows) // LEARN_FROM)
    return rows[::step].astype(np.float64), np.unique(codes[::step], return_inverse=True)[1]


def _class_means(rows: np.ndarray, codes: np.ndarray) -> np.ndarray:
    sums = np.zeros((int(codes.max()) + 1, rows.shape[1]))
    np.add.at(sums, codes, rows)
    return sums / np.bincount(codes)[:, None]


def _unit(rows: np.ndarray) -> np.ndarray:
    """Return rows of length 1; a row of nothing has no direction."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _whitening(residuals: np.ndarray) -> np.ndarray:
    """Return what whitens rows of mean 0, by their shrunk covariance (OAS [1]_).

    References
    ----------
    .. [1] Y. Chen, A. Wiesel, Y. Eldar, A. Hero: Shrinkage algorithms for MMSE covariance
       estimation, IEEE Trans. Signal Processing 58, 2010, Eq. (23).
    """
    n, d = residuals.shape
    covariance = residuals.T @ residuals / n
    trace, squares = np.trace(covariance), (covariance**2).sum()
    spread = (n + 1) * (squares - trace**2 / d)  # without 2 / d, as scikit-learn: d is large
    shrinkage = min(1.0, (squares + trace**2) / spread) if spread > 0 else 1.0
    covariance *= 1 - shrinkage
    covariance[np.diag_indices(d)] += shrinkage * trace / d
    variances, directions = np.linalg.eigh(covariance)
    least = max(LEAST_VARIANCE * variances[-1], 1e-12)  # equal rows vary in nothing
    return directions / np.sqrt(np.maximum(variances, least))
