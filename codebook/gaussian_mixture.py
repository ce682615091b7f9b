"""A mixture of Gaussians with diagonal covariances, learned fast."""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from visualwords.codebook.codebook import in_parts, map_parts
from visualwords.codebook.kmeans import KMeansCodebook
from visualwords.codebook.soft_moments import SoftMoments
from visualwords.parallel import map_in_threads
from visualwords.progress import Progress, Silent

__all__ = ["DiagonalMixture"]

_BLOCK = 8192  # points whose sums are added in float32
_FLOOR = 1e-3  # least variance, as a share of the data's


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
        random_state: Any = None,
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
        x = _standardised(X, center, spread)
        mixture = _of_clusters(x[:, : X.shape[1]], labels, n_gaussians)
        progress.start("learning a mixture", max_iter)
        before = -np.inf
        with in_parts(x) as parts:
            for _ in range(max_iter):
                mixture, likelihood = mixture._improved(parts, len(x), n_jobs)
                progress.advance()
                if likelihood - before <= tol:
                    break
                before = likelihood
        return mixture.moved(spread, center)

    def moved(self, factors: np.ndarray, offsets: np.ndarray) -> "DiagonalMixture":
        """Return the mixture of the points x · factors + offsets."""
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
        """Return log w_k + log N(x; μ_k, σ²_k), (n, k) float64."""
        precisions = 1 / self.variances
        constants = np.log(self.weights) - 0.5 * (
            np.log(2 * np.pi * self.variances) + self.means**2 * precisions
        ).sum(axis=1)
        X = X.astype(np.float64)
        return X @ (self.means * precisions).T - 0.5 * (X**2 @ precisions.T) + constants

    def _improved(
        self, parts: Sequence[Any], n: int, n_jobs: int | None
    ) -> tuple["DiagonalMixture", float]:
        """One iteration on n standardised points; also the mean log-likelihood before it."""
        k, d = self.means.shape
        sums, likelihood = [np.zeros(k), np.zeros((k, d)), np.zeros((k, d))], 0.0
        moments = map_parts(partial(_moments, self, n_jobs), parts, n_jobs=1)
        for block in chain.from_iterable(moments):
            *more, log_p = block
            for total, added in zip(sums, more):
                total += added[0]
            likelihood += log_p
        mass = np.maximum(sums[0], 1e-6)[:, None]
        means = sums[1] / mass
        variances = np.maximum(sums[2] / mass - means**2, _FLOOR)
        weights = mass[:, 0] / mass.sum()
        return DiagonalMixture(weights, means, variances), likelihood / n


def _moments(mixture: DiagonalMixture, n_jobs: int | None, x: np.ndarray) -> list[tuple[Any, ...]]:
    """Return the sums over each block of points."""
    moments = SoftMoments(mixture.weights, mixture.means, mixture.variances)
    blocks = [x[start : start + _BLOCK] for start in range(0, len(x), _BLOCK)]
    return map_in_threads(
        lambda block: moments.of(block, np.zeros(len(block), np.int32), 1), blocks, n_jobs
    )


def _standardised(X: np.ndarray, center: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Points of mean 0 and variance 1, with as many columns as :class:`SoftMoments` wants."""
    d = X.shape[1]
    result = np.zeros((len(X), SoftMoments.padded(d)), np.float32)
    result[:, :d] = (X - center.astype(np.float32)) / spread.astype(np.float32)
    return result


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
