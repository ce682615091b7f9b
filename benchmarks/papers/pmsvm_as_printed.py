"""PmSVM and PmSVM-LUT as printed: Algorithms 2 and 3 of [Yang12], the baselines of ours.

Samples are visited in random order, a new one every pass; the stopping rule is LIBLINEAR's. What
each keeps of the data is in ``memory``: 20 and 8 bytes for every value that is not zero.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.papers._pmsvm_as_printed import pass_precomputed, pass_with_tables
from visualwords.classifiers.low_rank.kernel_expansions import AD_HOC_NODES

AD_HOC = np.array(AD_HOC_NODES)


def chebyshev(degree: int) -> np.ndarray:
    """Return the nodes of Eq. 16 for the variable ln(x + 0.05)."""
    low, high = np.log(0.05), np.log(1.05)
    cosines = np.cos((2 * np.arange(1, degree + 2) - 1) / (2 * (degree + 1)) * np.pi)
    return np.exp((low + high) / 2 + (high - low) / 2 * cosines) - 0.05


def power_mean(x: Any, y: Any, p: float) -> np.ndarray:
    """Return Eq. 4 for two numbers above 0, 0 otherwise."""
    if p == -1:
        return 2 * x * y / np.maximum(x + y, 1e-30)
    positive = (x > 0) & (y > 0)
    x, y = np.where(positive, x, 1.0), np.where(positive, y, 1.0)
    return np.where(positive, ((x**p + y**p) / 2) ** (1 / p), 0.0)


def one_vs_rest(
    one_pass: Callable[..., tuple[float, float]],
    codes: np.ndarray,
    n_columns: int,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, list[int]]:
    """Train every class against the rest; return three numbers a column, and the passes."""
    n_classes = codes.max() + 1
    weights = np.zeros((1 if n_classes == 2 else n_classes, n_columns, 3), np.float32)
    passes = []
    for c, a in enumerate(weights):
        positive = codes == (1 if n_classes == 2 else c)
        y = np.where(positive, np.float32(1), np.float32(-1))
        alpha, rng = np.zeros(y.size, np.float32), np.random.default_rng(0)
        violation, n = np.inf, 0
        while violation > tol and n < max_iter:
            n += 1
            high, low = one_pass(rng.permutation(y.size), y, alpha, a)
            violation = high - low
        passes.append(n)
    return weights, passes


def predicted(X: sparse.csr_matrix, weights: np.ndarray, mapped: np.ndarray) -> np.ndarray:
    """Return class numbers from the weights and the three numbers of every stored value."""
    scores = np.empty((X.shape[0], len(weights)))
    for c, a in enumerate(weights):
        added = np.einsum("nk,nk->n", a[X.indices], mapped)
        scores[:, c] = sparse.csr_matrix((added, X.indices, X.indptr), X.shape).sum(1).ravel()
    return (scores[:, 0] > 0).astype(int) if len(weights) == 1 else scores.argmax(axis=1)


class PmSVMAsPrinted:
    """One-vs-rest by one of the two algorithms, on values in [0, 1].

    Parameters
    ----------
    p, C : float
    tables : bool
        PmSVM-LUT (Algorithm 3), else PmSVM (Algorithm 2).
    tol, max_iter : float, int
    """

    def __init__(
        self,
        p: float = -1.0,
        C: float = 0.01,
        tables: bool = True,
        tol: float = 0.1,
        max_iter: int = 200,
    ):
        self.p, self.C, self.tables = p, C, tables
        self.tol, self.max_iter = tol, max_iter

    def fit(self, X: Any, codes: np.ndarray) -> "PmSVMAsPrinted":
        """Learn from rows and class numbers 0, 1, …"""
        X = sparse.csr_matrix(X)
        self.value = X.data.astype(np.float32)
        self.index, bounds = X.indices.astype(np.int32), X.indptr.astype(np.int64)
        Q = np.maximum(np.asarray(X.sum(axis=1)).ravel(), 1e-12).astype(np.float32)
        one_pass = self._prepare_tables() if self.tables else self._prepare_values()
        descent = partial(one_pass, bounds, Q=Q, cost=np.float32(self.C))
        self.a, self.passes = one_vs_rest(descent, codes, X.shape[1], self.tol, self.max_iter)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return class numbers by Eq. 9 and 20."""
        X = sparse.csr_matrix(X)
        t = np.log(np.clip(X.data, 0, 1) + 0.05)
        return predicted(X, self.a, np.stack([t**0, t, t * t], axis=1))

    def _prepare_tables(self, b: int = 1000) -> Callable[..., Any]:
        nodes, grid = chebyshev(2), np.arange(b + 1) / b
        inverse = np.linalg.inv(np.vander(np.log(nodes + 0.05), increasing=True))
        T1 = np.log(grid + 0.05).astype(np.float32)
        T2 = (inverse @ power_mean(nodes[:, None], grid, self.p)).T.astype(np.float32, order="C")
        self.memory = self.index.nbytes + self.value.nbytes
        return lambda bounds, order, y, alpha, a, Q, cost: pass_with_tables(
            self.index, self.value, bounds, order, y, Q, cost, T1, T2, alpha, a
        )

    def _prepare_values(self) -> Callable[..., Any]:
        vandermonde = np.vander(np.log(AD_HOC + 0.05), increasing=True)
        inverse = np.linalg.inv(vandermonde).astype(np.float32)
        logs = np.log(self.value + np.float32(0.05))
        means = [power_mean(self.value, np.float32(c), self.p).astype("f4") for c in AD_HOC[1:]]
        c0 = np.float32(AD_HOC[0])
        self.memory = self.index.nbytes + 4 * self.value.nbytes
        return lambda bounds, order, y, alpha, a, Q, cost: pass_precomputed(
            self.index, logs, *means, bounds, order, y, Q, cost, c0, inverse, alpha, a
        )
