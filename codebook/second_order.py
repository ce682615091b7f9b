"""Second-order pooling: how the components of an image's descriptors vary together."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from visualwords.codebook._second_order import log_matrices
from visualwords.codebook.projection import Projection
from visualwords.codebook.window_vectors import WindowVectors
from visualwords.features.local_features import LocalFeatures
from visualwords.parallel import with_one_library_thread
from visualwords.progress import Progress


class SecondOrderPooling(WindowVectors):
    """Encode local features by the logarithm of their second moments in each window [1]_.

    Descriptors are projected to principal components, each divided by its standard deviation. A
    window of n such x has

    L = log(Σ_i x_i x_iᵀ / n + ε I),

    the logarithm of a matrix, by which the curved space of covariances becomes flat [2]_. Its
    diagonal and √2 times what is above it are the window's numbers, of which ``sign(v) |v|^power``
    is brought to length 1. A window like all training images has L near 0. They are signed: use a
    linear classifier, or the GInt kernel.

    Parameters
    ----------
    n_components : int, default 64
        Principal components d.
    pyramid : SpatialPyramid, or what its ``windows`` may be; default 8
        The image, 2×2 windows and 3 horizontal strips.
    random_state : int, RandomState or None
    power : float, default 0.75, keyword only
        1 for none.
    regularization : float, default 0.1
        ε, in variances of a component.
    scope : {"window", "level", "image"}, default "window"
        What is brought to length 1.
    max_descriptors : int or None, default 200,000
        Learn from no more than these.

    Attributes
    ----------
    projection_ : Projection
        Principal components.
    center_, spread_ : (d,) float32
        What is subtracted from them, and what they are divided by.

    Notes
    -----
    Deviations from [1]_: components in place of all numbers of a descriptor, so that a window has
    d (d + 1) / 2 numbers (2,080 of 64); nothing is said about places and colours; moments are those
    of whitened components, and ε is larger, as folds of training images prefer
    (docs/lab/defaults.md). A window without descriptors is 0. Logarithms are computed without
    eigenvectors, in single precision, to some 1e-5 (:mod:`visualwords.codebook._second_order`).

    References
    ----------
    .. [1] J. Carreira, R. Caseiro, J. Batista, C. Sminchisescu: Semantic segmentation with
       second-order pooling, ECCV 2012.
    .. [2] V. Arsigny, P. Fillard, X. Pennec, N. Ayache: Geometric means in a novel vector space
       structure on symmetric positive-definite matrices, SIAM J. Matrix Anal. Appl. 29, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from visualwords.features.local_features import LocalFeatures
    >>> random = np.random.default_rng(0)
    >>> image = LocalFeatures(random.random((50, 6)), random.random((50, 2)), np.full(50, 16.0))
    >>> row = SecondOrderPooling(n_components=3, pyramid=1).fit_transform([image])
    >>> row.shape, float((row ** 2).sum().round(5))
    ((1, 6), 1.0)
    """

    def __init__(
        self,
        n_components: int = 64,
        pyramid: Any = 8,
        random_state: Any = None,
        *,
        power: float = 0.75,
        regularization: float = 0.1,
        scope: str = "window",
        max_descriptors: int | None = 200_000,
    ):
        self.n_components = n_components
        self.pyramid = pyramid
        self.random_state = random_state
        self.power = power
        self.regularization = regularization
        self.scope = scope
        self.max_descriptors = max_descriptors

    @with_one_library_thread
    def fit(
        self, X: Any, y: Any = None, *, progress: Progress | None = None
    ) -> "SecondOrderPooling":
        """Learn the principal components, and how much each varies.

        Parameters
        ----------
        X : LocalFeatureSets, iterable of LocalFeatures, or (n, d) array of descriptors
        y : sequence of one label an image, optional
            Classes, and the images of a class, have equal shares in the training descriptors. Not
            used with an array, which is taken as a sample.
        progress : ignored
        """
        self._check_parameters()
        random = check_random_state(self.random_state)
        descriptors = self._sample(X, y, random)
        n_components = min(self.n_components, descriptors.shape[1])
        self.projection_ = Projection.learn(descriptors, n_components)
        components = self.projection_.apply(descriptors)
        self.center_ = components.mean(axis=0, dtype=np.float64).astype(np.float32)
        spread = components.std(axis=0, dtype=np.float64)
        self.spread_ = np.maximum(spread, 1e-6 * max(spread.max(), 1e-30)).astype(np.float32)
        return self

    def whitened(self, descriptors: np.ndarray) -> np.ndarray:
        """Return the components of descriptors, each of variance 1 in the training images."""
        matrix = self.projection_.directions / self.spread_[:, None]
        whitened = descriptors.astype(np.float32, copy=False) @ matrix.T
        whitened -= ((self.projection_.offset + self.center_) / self.spread_).astype(np.float32)
        return whitened

    def moments(self, features: LocalFeatures) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ x xᵀ / n of every window, (n_windows, d, d), and its number of patches."""
        pyramid, x = self._pyramid, self.whitened(features.descriptors)
        cells = pyramid.cells(features.positions)
        member, d = pyramid.membership.astype(np.float32), x.shape[1]
        counts = np.bincount(cells, minlength=member.shape[1])
        ends = np.cumsum(counts)
        x = x[np.argsort(cells, kind="stable")]
        sums = np.zeros((len(counts), d, d), np.float32)
        for cell in np.flatnonzero(counts):
            inside = x[ends[cell] - counts[cell] : ends[cell]]
            np.matmul(inside.T, inside, out=sums[cell])
        n = member @ counts.astype(np.float32)
        of_windows = (member @ sums.reshape(len(counts), -1)).reshape(-1, d, d)
        return of_windows / np.maximum(n, 1)[:, None, None], n

    def eigen(self, moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return eigenvalues, ε added, and eigenvectors of symmetric matrices."""
        values, vectors = np.linalg.eigh(moments)
        return np.maximum(values, 0) + np.float32(self.regularization), vectors

    def unfold(self, matrices: np.ndarray) -> np.ndarray:
        """Return symmetric matrices as vectors of the same length: Σ v² = Σ m²."""
        d = matrices.shape[1]
        row, column = np.triu_indices(d)
        factors = np.where(row == column, 1.0, np.sqrt(2.0)).astype(matrices.dtype)
        return matrices[:, row, column] * factors

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        return {
            "mean": self.projection_.mean,
            "directions": self.projection_.directions,
            "center": self.center_,
            "spread": self.spread_,
        }

    def set_state(self, state: dict[str, np.ndarray]) -> "SecondOrderPooling":
        """Restore what :meth:`get_state` returned; the parameters must be the same."""
        self.projection_ = Projection(state["mean"], state["directions"])
        self.center_, self.spread_ = state["center"], state["spread"]
        shape = self.projection_.directions.shape[:1]
        if self.center_.shape != shape or self.spread_.shape != shape or not self.spread_.min() > 0:
            raise ValueError("the components and what they are divided by do not fit together")
        return self

    def _vectors(self, features: LocalFeatures) -> np.ndarray:
        """Return the logarithms of every window's moments."""
        moments, n = self.moments(features)
        found = np.empty((len(n), len(self.center_) * (len(self.center_) + 1) // 2), np.float32)
        log_matrices(moments, float(self.regularization), found)
        found[n == 0] = 0
        return found

    def _column_names(self) -> list[str]:
        """Return names like ``component3_component5``."""
        row, column = np.triu_indices(len(self.center_))
        return [f"component{i}_component{j}" for i, j in zip(row, column)]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not self.regularization > 0:
            raise ValueError(f"regularization={self.regularization}; expected a positive number")
