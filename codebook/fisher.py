"""Fisher vectors: how an image would change the mixture that describes all images."""

from typing import Any

import numpy as np

from visualwords.codebook.gaussian_mixture import DiagonalMixture
from visualwords.codebook.local_encoder import LocalEncoder
from visualwords.codebook.projection import Projection

__all__ = ["FisherVectors"]


class FisherVectors(LocalEncoder):
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
        sign(v) |v|^power; 1 for none.
    scope : {"window", "level", "image"}, default "window"
        What is brought to length 1.
    max_iter : int, default 30
        Of learning the mixture.
    max_descriptors : int or None, default 200,000
        Learn from no more than these.

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
    ):
        self.n_gaussians = n_gaussians
        self.n_components = n_components
        self.pyramid = pyramid
        self.random_state = random_state
        self.power = power
        self.scope = scope
        self.max_iter = max_iter
        self.max_descriptors = max_descriptors

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        mixture = self.mixture_
        return {
            **self._projection_state(),
            "weights": mixture.weights,
            "means": mixture.means,
            "variances": mixture.variances,
        }

    def set_state(self, state: dict[str, np.ndarray]) -> "FisherVectors":
        """Become the encoder, of the same parameters, whose :meth:`get_state` this is."""
        self.projection_ = Projection(state["mean"], state["directions"])
        self._set_mixture(DiagonalMixture(state["weights"], state["means"], state["variances"]))
        return self

    def _learn(self, projected, random, progress) -> None:
        self._set_mixture(
            DiagonalMixture.learn(
                projected,
                self.n_gaussians,
                max_iter=self.max_iter,
                random_state=random,
                progress=progress,
            )
        )

    def _set_mixture(self, mixture: DiagonalMixture) -> None:
        """Keep the mixture, and what sums are multiplied with, in float32."""
        self.mixture_ = mixture
        root, spread = np.sqrt(mixture.weights)[:, None], np.sqrt(mixture.variances)
        self._means = mixture.means.astype(np.float32)
        self._variances = mixture.variances.astype(np.float32)
        self._mean_factors = (1 / (root * spread)).astype(np.float32)
        self._spread_factors = (1 / (np.sqrt(2) * root * mixture.variances)).astype(np.float32)

    def _encode(self, projected: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """G_μ and G_σ of every window, (n_windows, 2 K d)."""
        member = self._pyramid.membership
        zeroth, first, second = (
            (member @ part.reshape(member.shape[1], -1)).reshape(len(member), *part.shape[1:])
            for part in self.mixture_.moments(projected, cells, member.shape[1])
        )
        n = member @ np.bincount(cells, minlength=member.shape[1]).astype(np.float32)
        share = (1 / np.maximum(n, 1))[:, None, None].astype(np.float32)
        zeroth = zeroth[:, :, None]
        second -= self._means * (2 * first - zeroth * self._means) + zeroth * self._variances
        first -= zeroth * self._means
        first *= self._mean_factors * share
        second *= self._spread_factors * share
        return np.concatenate([g.reshape(len(member), -1) for g in (first, second)], axis=1)

    def _names(self) -> list[str]:
        k, d = self._means.shape
        return [
            f"gaussian{i}_{kind}{j}"
            for kind in ("mean", "spread")
            for i in range(k)
            for j in range(d)
        ]
