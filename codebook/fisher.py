"""Fisher vectors: how an image would change the mixture that describes all images."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from visualwords.codebook._moments import fisher_gradients
from visualwords.codebook.gaussian_mixture import DiagonalMixture
from visualwords.codebook.projection import AffineMap, Projection
from visualwords.codebook.soft_moments import SoftMoments
from visualwords.codebook.window_vectors import WindowVectors
from visualwords.features.local_features import LocalFeatures
from visualwords.parallel import with_one_library_thread
from visualwords.progress import Progress

__all__ = ["FisherVectors"]


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
        Threads that learn, or workers of joblib's active backend; the result does not depend on it.

    Attributes
    ----------
    projection_ : Projection
    mixture_ : DiagonalMixture

    Notes
    -----
    Deviations from the paper: the gradient to the mixture's weights is left out, as is usual;
    responsibilities below 10⁻⁴ of a descriptor's largest count as 0; principal directions of bytes
    are rounded to multiples of 1/127 of their largest number, so that whole numbers project them.
    A window without descriptors is 0.

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

    def __init__(
        self,
        n_gaussians: int = 64,
        n_components: int | None = 64,
        pyramid: Any = 8,
        random_state: Any = None,
        *,
        power: float = 0.5,
        scope: str = "window",
        max_iter: int = 30,
        max_descriptors: int | None = 200_000,
        n_jobs: int | None = None,
    ):
        self.n_gaussians = n_gaussians
        self.n_components = n_components
        self.pyramid = pyramid
        self.random_state = random_state
        self.power = power
        self.scope = scope
        self.max_iter = max_iter
        self.max_descriptors = max_descriptors
        self.n_jobs = n_jobs

    @with_one_library_thread
    def fit(self, X: Any, y: Any = None, *, progress: Progress | None = None) -> "FisherVectors":
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
        random = check_random_state(self.random_state)
        descriptors = self._sample(X, y, random)
        self.projection_ = self._learn_projection(descriptors)
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
        """Return everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        mixture = self.mixture_
        return {
            "mean": self.projection_.mean,
            "directions": self.projection_.directions,
            "weights": mixture.weights,
            "means": mixture.means,
            "variances": mixture.variances,
        }

    def set_state(self, state: dict[str, np.ndarray]) -> "FisherVectors":
        """Restore what :meth:`get_state` returned; the parameters must be the same."""
        self.projection_ = Projection(state["mean"], state["directions"])
        self._set_mixture(DiagonalMixture(state["weights"], state["means"], state["variances"]))
        return self

    def _vectors(self, features: LocalFeatures) -> np.ndarray:
        """Return the gradients of every window."""
        return self._gradients(features.descriptors, self._pyramid.cells(features.positions))

    @property
    def _n_numbers(self) -> int:
        return 2 * self._constants[0].size

    def _column_names(self) -> list[str]:
        """Return names like ``gaussian13_mean5``."""
        k, d = self._constants.shape[1:]
        return [
            f"gaussian{i}_{kind}{j}"
            for kind in ("mean", "spread")
            for i in range(k)
            for j in range(d)
        ]

    def _learn_projection(self, descriptors: np.ndarray) -> Projection:
        d = descriptors.shape[1]
        if self.n_components is None:
            return Projection(np.zeros(d), np.eye(d))
        learned = Projection.learn(descriptors, self.n_components)
        return learned.rounded() if descriptors.dtype == np.uint8 else learned

    def _set_mixture(self, mixture: DiagonalMixture) -> None:
        """Keep the mixture, and what images are encoded with, in standardised coordinates."""
        self.mixture_ = mixture
        center, spread = mixture.center, mixture.spread
        standard = mixture.moved(1 / spread, -center / spread)
        self._moments = SoftMoments(standard.weights, standard.means, standard.variances)
        self._map = AffineMap(
            self.projection_.directions / spread[:, None],
            (self.projection_.offset + center) / spread,
            width=self._moments.width,
        )
        root = np.sqrt(mixture.weights)[:, None]
        factors = 1 / (root * np.sqrt(standard.variances)), 1 / (np.sqrt(2) * root)
        self._constants = np.empty((4, *standard.means.shape), np.float32)
        self._constants[:2] = standard.means, standard.variances
        self._constants[2], self._constants[3] = factors[0], factors[1] / standard.variances

    def _gradients(self, descriptors: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """G_μ and G_σ of every window, (n_windows, 2 K d)."""
        pyramid, width = self._pyramid, self._moments.width
        n_cells = pyramid.membership.shape[1]
        zeroth, sums = self._moments.empty(n_cells)
        self._moments.add(descriptors, cells, zeroth, sums, self._map)
        n = pyramid.membership @ np.bincount(cells, minlength=n_cells).astype(np.float32)
        shares = (1 / np.maximum(n, 1)).astype(np.float32)
        k, d = self._constants.shape[1:]
        out = np.empty((len(n), 2, k, d), np.float32)
        sums = sums.reshape(n_cells, k, 2, width)
        fisher_gradients(zeroth, sums, shares, *pyramid.members, self._constants, out)
        return out.reshape(len(n), -1)
