"""Fisher vectors: how an image would change the mixture that describes all images."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from visualwords.codebook._fisher import add_moments, fisher_gradients
from visualwords.codebook.codebook import in_parts, map_parts
from visualwords.codebook.kmeans import KMeansCodebook
from visualwords.codebook.projection import Projection
from visualwords.codebook.window_vectors import WindowVectors
from visualwords.estimator import Labels, Seed
from visualwords.features.local_features import LocalFeatures
from visualwords.parallel import with_one_library_thread
from visualwords.progress import Progress, Silent

LEAST = 1e-4  # smaller shares of the largest responsibility count as 0
_FLOOR = 1e-3  # least variance, as a share of the data's
_BLOCK = 512  # points multiplied at once, so that products stay in the second-level cache
_POINTS = 8192  # points whose sums are added in float32
_NARROWEST = 1e-6  # least variance of standardised coordinates
_FARTHEST = 1e12  # coordinate whose square, divided by the least variance, float32 holds


class DiagonalMixture:
    """p(x) = Σ_k w_k N(x; μ_k, diag σ²_k).

    Parameters
    ----------
    weights : (k,) array
    means, variances : (k, d) arrays

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [10.0], [11.0]], np.float32)
    >>> mixture = DiagonalMixture.learn(x, 2, random_state=0)
    >>> sorted(mixture.means.round(3).ravel().tolist())
    [0.5, 10.5]
    """

    def __init__(self, weights: np.ndarray, means: np.ndarray, variances: np.ndarray):
        self.weights = np.asarray(weights, np.float64)
        self.means = np.asarray(means, np.float64)
        self.variances = np.asarray(variances, np.float64)

    @classmethod
    def learn(
        cls,
        X: np.ndarray,
        n_gaussians: int,
        *,
        max_iter: int = 30,
        tol: float = 1e-3,
        random_state: Seed = None,
        progress: Progress | None = None,
        n_jobs: int | None = None,
    ) -> "DiagonalMixture":
        """Learn by expectation and maximisation, beginning with k-means.

        Parameters
        ----------
        X : (n, d) float32
        n_gaussians : int
        max_iter, tol : int and float
            Iterations end once the mean log-likelihood grows by at most ``tol``.
        random_state : int, RandomState or None
        progress : Progress, optional
        n_jobs : int or None
            Threads, or workers of joblib's active backend; the mixture does not depend on it.
        """
        progress = progress or Silent()
        codebook = KMeansCodebook(n_gaussians, random_state, max_iter=20, n_jobs=n_jobs).fit(X)
        labels = codebook.predict(X)
        center = X.mean(axis=0, dtype=np.float64)
        spread = np.sqrt(np.maximum(X.var(axis=0, dtype=np.float64), 1e-12))
        x = (X - center.astype(np.float32)) / spread.astype(np.float32)
        mixture = _of_clusters(x, labels, n_gaussians)
        progress.start("learning a mixture", max_iter)
        before = -np.inf
        with in_parts(x) as parts:
            for _ in range(max_iter):
                mixture, likelihood = mixture._improved(parts, n_jobs)
                progress.advance()
                if likelihood - before <= tol:
                    break
                before = likelihood
        return mixture.moved(spread, center)

    def moved(self, factors: np.ndarray, offsets: np.ndarray) -> "DiagonalMixture":
        """The mixture of the points x · factors + offsets."""
        return DiagonalMixture(
            self.weights, self.means * factors + offsets, self.variances * factors**2
        )

    @property
    def center(self) -> np.ndarray:
        """The mean of all points, (d,)."""
        return self.weights @ self.means

    @property
    def spread(self) -> np.ndarray:
        """The standard deviation of all points, (d,)."""
        squares = self.weights @ (self.variances + self.means**2)
        return np.sqrt(np.maximum(squares - self.center**2, 1e-12))

    def log_probabilities(self, X: np.ndarray) -> np.ndarray:
        """Log w_k + log N(x; μ_k, σ²_k), (n, k) float64."""
        factors, constants = self.log_factors()
        X = X.astype(np.float64)
        return np.hstack([X, X**2]) @ factors.T + constants

    def log_factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Factors (k, 2 d) and constants (k,) of the log probabilities of (x, x²)."""
        precisions = 1 / self.variances
        constants = np.log(self.weights) - 0.5 * (
            np.log(2 * np.pi * self.variances) + self.means**2 * precisions
        ).sum(axis=1)
        return np.hstack([self.means * precisions, -0.5 * precisions]), constants

    def moments(
        self,
        x: np.ndarray,
        cells: np.ndarray,
        n_cells: int,
        coordinates: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Σ q and Σ q (x, x²) of the points of each cell, and the sum of log p(x).

        q are the responsibilities q_k = p(x, k) / p(x); those below `LEAST` of a point's largest
        count as 0.

        Parameters
        ----------
        x : (n, d) array
            Of variances about 1, whose squares float32 holds.
        cells : (n,) int32
        n_cells : int
        coordinates : function, optional
            Turns some rows of x into such points: it is called for a block after the other.

        Returns
        -------
        (n_cells, k), (n_cells, k, 2 d) float32, and float

        Examples
        --------
        >>> one = DiagonalMixture(np.ones(1), np.zeros((1, 1)), np.ones((1, 1)))
        >>> x, cells = np.array([[1], [2]], np.float32), np.zeros(2, np.int32)
        >>> zeroth, sums, _ = one.moments(x, cells, 1)
        >>> zeroth.tolist(), sums.tolist()
        ([[2.0]], [[[3.0, 5.0]]])
        """
        factors, constants = self.log_factors()
        factors = np.ascontiguousarray(factors.T, np.float32)
        constants = constants.astype(np.float32)
        k, d = self.means.shape
        zeroth = np.zeros((n_cells, k), np.float32)
        sums = np.zeros((n_cells, k, 2 * d), np.float32)
        least, likelihood = np.float32(np.log(LEAST)), 0.0
        room = np.empty((min(_BLOCK, len(x)), 2 * d), np.float32)
        for start in range(0, len(x), _BLOCK):
            part = x[start : start + _BLOCK]
            both, logits = room[: len(part)], np.empty((len(part), k), np.float32)
            both[:, :d] = part if coordinates is None else coordinates(part)
            np.multiply(both[:, :d], both[:, :d], out=both[:, d:])
            np.matmul(both, factors, out=logits)
            inside = cells[start : start + _BLOCK]
            likelihood += add_moments(logits, constants, both, inside, least, zeroth, sums)
        return zeroth, sums, likelihood

    def _improved(
        self, parts: Sequence[np.ndarray], n_jobs: int | None
    ) -> tuple["DiagonalMixture", float]:
        """One iteration on standardised points; also the mean log-likelihood before it."""
        added = map_parts(partial(_sums, self), parts, n_jobs)
        zeroth, sums, likelihood, n = (sum(part) for part in zip(*added))
        mass = np.maximum(zeroth, 1e-6)[:, None]
        first, second = np.split(sums / mass, 2, axis=1)
        variances = np.maximum(second - first**2, _FLOOR)
        return DiagonalMixture(mass[:, 0] / mass.sum(), first, variances), likelihood / n


def _sums(mixture: DiagonalMixture, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, int]:
    """The sums over a part of the points in float64, their log-likelihood and number."""
    k, d = mixture.means.shape
    zeroth, sums, likelihood = np.zeros(k), np.zeros((k, 2 * d)), 0.0
    for start in range(0, len(x), _POINTS):
        part = x[start : start + _POINTS]
        more = mixture.moments(part, np.zeros(len(part), np.int32), 1)
        zeroth += more[0][0]
        sums += more[1][0]
        likelihood += more[2]
    return zeroth, sums, likelihood, len(x)


def _of_clusters(x: np.ndarray, labels: np.ndarray, k: int) -> DiagonalMixture:
    """The mixture of the means and variances of clusters."""
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels, minlength=k)
    means, variances = np.zeros((k, x.shape[1])), np.ones((k, x.shape[1]))
    for i, rows in enumerate(np.split(order, counts.cumsum()[:-1])):
        if len(rows):
            means[i] = x[rows].mean(axis=0, dtype=np.float64)
            variances[i] = x[rows].var(axis=0, dtype=np.float64)
    counts = np.maximum(counts, 1)
    return DiagonalMixture(counts / counts.sum(), means, np.maximum(variances, _FLOOR))


@dataclass(eq=False, repr=False)
class FisherVectors(WindowVectors):
    """Encode local features by the gradients of a Gaussian mixture's log-likelihood [1]_.

    Descriptors are projected to principal components and described by K Gaussians with diagonal
    covariances. A window of n descriptors, of responsibilities q, has for each Gaussian

    G_μ = Σ_i q_ik (x_i − μ_k) / (n σ_k √w_k),
    G_σ = Σ_i q_ik ((x_i − μ_k)² / σ_k² − 1) / (n √(2 w_k)),

    then signed square roots and L2 normalisation. Columns: window, G_μ of all Gaussians, G_σ of
    all. They are signed: use a linear classifier, or the GInt kernel.

    Parameters
    ----------
    n_gaussians : int, default 64
    n_components : int or None, default 64
        Principal components; None takes the descriptors as they are.
    pyramid : SpatialPyramid, or what its ``windows`` may be; default 8
        The image, 2×2 windows and 3 horizontal strips.
    random_state : int, RandomState or None
    power : float, default 0.5, keyword only
        ``sign(v) |v|^power``; 1 for none.
    scope : {"window", "level", "image"}, default "window"
        What is brought to length 1.
    max_iter : int, default 30
        Iterations of expectation-maximisation, at most.
    max_descriptors : int or None, default 200,000
        Learn from no more than these.
    n_jobs : int or None
        Threads, or workers of joblib's active backend; the result does not depend on it.

    Attributes
    ----------
    projection_ : Projection
    mixture_ : DiagonalMixture

    Notes
    -----
    Deviations from the paper: the gradient to the mixture's weights is left out, as is usual;
    responsibilities below 10⁻⁴ of a descriptor's largest count as 0. A window without descriptors
    is 0.

    References
    ----------
    .. [1] F. Perronnin, J. Sánchez, T. Mensink: Improving the Fisher kernel for large-scale image
       classification, ECCV 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from visualwords.features.local_features import LocalFeatures
    >>> random = np.random.default_rng(0)
    >>> image = LocalFeatures(random.random((50, 6)), random.random((50, 2)), np.full(50, 16.0))
    >>> encoder = FisherVectors(n_gaussians=2, n_components=3, pyramid=1, random_state=0)
    >>> row = encoder.fit_transform([image])
    >>> row.shape, float((row ** 2).sum().round(5))
    ((1, 12), 1.0)
    """

    n_gaussians: int = 64
    n_components: int | None = 64
    pyramid: Any = 8
    random_state: Seed = None
    _: KW_ONLY
    power: float = 0.5
    scope: str = "window"
    max_iter: int = 30
    max_descriptors: int | None = 200_000
    n_jobs: int | None = None

    @with_one_library_thread
    def fit(self, X: Any, y: Labels = None, *, progress: Progress | None = None) -> Self:
        """Learn the principal components and the mixture.

        Parameters
        ----------
        X : LocalFeatureSets, iterable of LocalFeatures, or (n, d) array of descriptors
        y : sequence of one label an image, optional
            Classes, and the images of a class, have equal shares in the training descriptors. Not
            used with an array, which is taken as a sample.
        progress : Progress, optional
        """
        self._check_parameters()
        from sklearn.utils import check_random_state

        random = check_random_state(self.random_state)
        descriptors = self._sample(X, y, random)
        self.projection_ = Projection.learn(descriptors, self.n_components)
        mixture = DiagonalMixture.learn(
            self.projection_.apply(descriptors),
            self.n_gaussians,
            max_iter=self.max_iter,
            random_state=random,
            progress=progress,
            n_jobs=self.n_jobs,
        )
        self._set_mixture(mixture)
        return self

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        mixture = self.mixture_
        return {
            "mean": self.projection_.mean,
            "directions": self.projection_.directions,
            "weights": mixture.weights,
            "means": mixture.means,
            "variances": mixture.variances,
        }

    def set_state(self, state: dict[str, np.ndarray]) -> Self:
        """Restore what :meth:`get_state` returned; the parameters must be the same."""
        self.projection_ = Projection(state["mean"], state["directions"])
        self._set_mixture(DiagonalMixture(state["weights"], state["means"], state["variances"]))
        return self

    def _vectors(self, features: LocalFeatures) -> np.ndarray:
        """G_μ and G_σ of every window, (n_windows, 2 K d)."""
        pyramid, (k, d) = self._pyramid, self._constants.shape[1:]
        cells, n_cells = pyramid.cells(features.positions), pyramid.membership.shape[1]
        points = features.descriptors, cells, n_cells, self._standardised
        zeroth, sums, _ = self._standard.moments(*points)
        n = pyramid.membership @ np.bincount(cells, minlength=n_cells).astype(np.float32)
        shares = (1 / np.maximum(n, 1)).astype(np.float32)
        out = np.empty((len(n), 2, k, d), np.float32)
        sums = sums.reshape(n_cells, k, 2, d)
        fisher_gradients(zeroth, sums, shares, *pyramid.members, self._constants, out)
        return out.reshape(len(n), -1)

    def _column_names(self) -> list[str]:
        """Names like ``gaussian13_mean5``."""
        k, d = self._constants.shape[1:]
        return [
            f"gaussian{i}_{kind}{j}"
            for kind in ("mean", "spread")
            for i in range(k)
            for j in range(d)
        ]

    def _set_mixture(self, mixture: DiagonalMixture) -> None:
        """Keep the mixture, and what images are encoded with, in standardised coordinates."""
        self.mixture_ = mixture
        center, spread = mixture.center, mixture.spread
        standard = mixture.moved(1 / spread, -center / spread)
        standard.variances = np.maximum(standard.variances, _NARROWEST)
        self._standard = standard
        matrix = (self.projection_.directions / spread[:, None]).T
        self._matrix = np.ascontiguousarray(matrix, np.float32)
        self._offset = ((self.projection_.offset + center) / spread).astype(np.float32)
        root = np.sqrt(mixture.weights)[:, None]
        factors = 1 / (root * np.sqrt(standard.variances)), 1 / (np.sqrt(2) * root)
        self._constants = np.empty((4, *standard.means.shape), np.float32)
        self._constants[:2] = standard.means, standard.variances
        self._constants[2], self._constants[3] = factors[0], factors[1] / standard.variances

    def _standardised(self, descriptors: np.ndarray) -> np.ndarray:
        """Coordinates of about mean 0 and variance 1, (n, d) float32."""
        with np.errstate(over="ignore", invalid="ignore"):
            x = descriptors.astype(np.float32, copy=False) @ self._matrix
            x -= self._offset
        if descriptors.dtype != np.uint8 and not np.abs(x).max(initial=0.0) <= _FARTHEST:
            raise ValueError(
                f"descriptors of this image are more than {_FARTHEST:.0e} times as far from the "
                "mean as those that the mixture was learned from; leave them out, or learn from "
                "such ones"
            )
        return x
