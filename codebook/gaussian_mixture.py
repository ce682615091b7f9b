"""A mixture of Gaussians with diagonal covariances, learned fast."""

from typing import Any

import numpy as np

from visualwords.codebook._moments import add_soft_moments
from visualwords.codebook.kmeans import KMeansCodebook
from visualwords.progress import Progress, Silent

__all__ = ["DiagonalMixture"]

_BLOCK = 1024  # descriptors treated at once, within the second-level cache
_FLOOR = 1e-3  # least variance, as a share of the data's
LEAST = float(np.log(1e-4))  # smaller shares of the largest responsibility count as 0


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
        precisions = 1 / self.variances
        self._factors = np.concatenate([self.means * precisions, -0.5 * precisions], axis=1).astype(
            np.float32
        )
        self._constants = (
            np.log(self.weights)
            - 0.5 * np.log(2 * np.pi * self.variances).sum(axis=1)
            - 0.5 * (self.means**2 * precisions).sum(axis=1)
        ).astype(np.float32)

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
        """
        progress = progress or Silent()
        codebook = KMeansCodebook(n_gaussians, random_state, max_iter=20).fit(X)
        labels = codebook.predict(X)
        floor = _FLOOR * np.maximum(X.var(axis=0, dtype=np.float64), 1e-12)
        squares = np.zeros(codebook.words_.shape)
        np.add.at(squares, labels, (X - codebook.words_[labels]).astype(np.float64) ** 2)
        counts = np.maximum(np.bincount(labels, minlength=n_gaussians), 1)
        variances = np.maximum(squares / counts[:, None], floor)
        mixture = cls(counts / counts.sum(), codebook.words_, variances)
        progress.start("learning a mixture", max_iter)
        before = -np.inf
        for _ in range(max_iter):
            mixture, likelihood = mixture._improved(X, floor)
            progress.advance()
            if likelihood - before <= tol:
                break
            before = likelihood
        return mixture

    def log_probabilities(self, X: np.ndarray) -> np.ndarray:
        """Return log w_k + log N(x; μ_k, σ²_k), (n, k) float32."""
        both = np.concatenate([X, X * X], axis=1)
        result = both @ self._factors.T
        result += self._constants
        return result

    def moments(
        self, X: np.ndarray, cells: np.ndarray, n_cells: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Σ q, Σ q x and Σ q x² over the descriptors of each cell.

        q are the responsibilities of the Gaussians; those below 10⁻⁴ of the largest count as 0.

        Parameters
        ----------
        X : (n, d) float32, C order
        cells : (n,) int32
        n_cells : int

        Returns
        -------
        (n_cells, k), (n_cells, k, d), (n_cells, k, d) float32
        """
        k, d = self.means.shape
        zeroth = np.zeros((n_cells, k), np.float32)
        first, second = np.zeros((n_cells, k, d), np.float32), np.zeros((n_cells, k, d), np.float32)
        size = min(_BLOCK, len(X))
        both, logits = np.empty((size, 2 * d), np.float32), np.empty((size, k), np.float32)
        for start in range(0, len(X), _BLOCK):
            part = X[start : start + _BLOCK]
            m = len(part)
            both[:m, :d] = part
            np.multiply(part, part, out=both[:m, d:])
            np.matmul(both[:m], self._factors.T, out=logits[:m])
            add_soft_moments(
                *(part, logits[:m], self._constants, cells[start : start + _BLOCK]),
                *(np.float32(LEAST), zeroth, first, second),
            )
        return zeroth, first, second

    def _improved(self, X: np.ndarray, floor: np.ndarray) -> tuple["DiagonalMixture", float]:
        """One iteration; also the mean log-likelihood before it."""
        k, d = self.means.shape
        sums, likelihood = [np.zeros(k), np.zeros((k, d)), np.zeros((k, d))], 0.0
        for start in range(0, len(X), _BLOCK):
            part = X[start : start + _BLOCK]
            for total, more in zip(sums, self.moments(part, np.zeros(len(part), np.int32), 1)):
                total += more[0]
            logits = self.log_probabilities(part)
            top = logits.max(axis=1, keepdims=True)
            likelihood += float((np.log(np.exp(logits - top).sum(axis=1)) + top[:, 0]).sum())
        mass = np.maximum(sums[0], 1e-6)[:, None]
        means = sums[1] / mass
        variances = np.maximum(sums[2] / mass - means**2, floor)
        weights = mass[:, 0] / mass.sum()
        return DiagonalMixture(weights, means, variances), likelihood / len(X)
