"""PmSVM and PmSVM-LUT as printed: Algorithms 2 and 3 of [Yang12], transcribed to numba.

Samples are visited in random order, a new one every pass; the stopping rule is LIBLINEAR's. What
each keeps of the data is in ``memory``: 20 and 8 bytes for every value that is not zero.
"""

import numpy as np
from numba import njit
from scipy import sparse

AD_HOC = np.array([0.01, 0.06, 0.75])


def chebyshev(degree: int) -> np.ndarray:
    """Eq. 16 for the variable ln(x + 0.05)."""
    low, high = np.log(0.05), np.log(1.05)
    cosines = np.cos((2 * np.arange(1, degree + 2) - 1) / (2 * (degree + 1)) * np.pi)
    return np.exp((low + high) / 2 + (high - low) / 2 * cosines) - 0.05


def power_mean(x: np.ndarray, y: np.ndarray, p: float) -> np.ndarray:
    """Eq. 4 for two numbers above 0, 0 otherwise."""
    if p == -1:
        return 2 * x * y / np.maximum(x + y, 1e-30)
    positive = (x > 0) & (y > 0)
    x, y = np.where(positive, x, 1.0), np.where(positive, y, 1.0)
    return np.where(positive, ((x**p + y**p) / 2) ** (1 / p), 0.0)


@njit(nogil=True)
def step(gradient, alpha, curvature, cost):
    """Line 7, and the projected gradient."""
    projected = gradient
    if alpha <= 0:
        projected = min(gradient, np.float32(0))
    elif alpha >= cost:
        projected = max(gradient, np.float32(0))
    if projected != 0:
        alpha = min(max(alpha - gradient / curvature, np.float32(0)), cost)
    return alpha, projected


@njit(nogil=True)
def pass_with_tables(index, value, bounds, order, y, Q, cost, T1, T2, alpha, a):
    """Lines 4 to 9 of Algorithm 3, degree 2."""
    b = np.float32(T1.size - 1)
    largest, smallest = -np.inf, np.inf
    for i in order:
        g = np.float32(0)
        for q in range(bounds[i], bounds[i + 1]):
            j, t = index[q], T1[int(b * value[q])]
            g += a[j, 0] + a[j, 1] * t + a[j, 2] * t * t
        new, projected = step(y[i] * g - np.float32(1), alpha[i], Q[i], cost)
        largest, smallest = max(largest, projected), min(smallest, projected)
        if new != alpha[i]:
            delta = (new - alpha[i]) * y[i]
            alpha[i] = new
            for q in range(bounds[i], bounds[i + 1]):
                j, h = index[q], int(b * value[q])
                for k in range(3):
                    a[j, k] += delta * T2[h, k]
    return largest, smallest


@njit(nogil=True)
def pass_precomputed(index, logs, mean1, mean2, bounds, order, y, Q, cost, c0, inverse, alpha, a):
    """Lines 4 to 9 of Algorithm 2, degree 2, with M_p(c_0, x) taken as c_0 (Sec. 5)."""
    largest, smallest = -np.inf, np.inf
    for i in order:
        g = np.float32(0)
        for q in range(bounds[i], bounds[i + 1]):
            j, t = index[q], logs[q]
            g += a[j, 0] + a[j, 1] * t + a[j, 2] * t * t
        new, projected = step(y[i] * g - np.float32(1), alpha[i], Q[i], cost)
        largest, smallest = max(largest, projected), min(smallest, projected)
        if new != alpha[i]:
            delta = (new - alpha[i]) * y[i]
            alpha[i] = new
            for q in range(bounds[i], bounds[i + 1]):
                j = index[q]
                for k in range(3):
                    a[j, k] += delta * (
                        inverse[k, 0] * c0 + inverse[k, 1] * mean1[q] + inverse[k, 2] * mean2[q]
                    )
    return largest, smallest


class Literal:
    """One-vs-rest by one of the two algorithms, on values in [0, 1]."""

    def __init__(self, p=-1.0, C=0.01, tables=True, tol=0.1, max_iter=200):
        self.p, self.C, self.tables = p, C, tables
        self.tol, self.max_iter = tol, max_iter

    def fit(self, X, codes):
        X = sparse.csr_matrix(X)
        self.value = X.data.astype(np.float32)
        self.index, bounds = X.indices.astype(np.int32), X.indptr.astype(np.int64)
        Q = np.maximum(np.asarray(X.sum(axis=1)).ravel(), 1e-12).astype(np.float32)
        one_pass = self._prepare_tables() if self.tables else self._prepare_values()
        n_classes = codes.max() + 1
        self.a = np.zeros((1 if n_classes == 2 else n_classes, X.shape[1], 3), "f4")
        self.passes = []
        for c, a in enumerate(self.a):
            positive = codes == (1 if n_classes == 2 else c)
            y = np.where(positive, np.float32(1), np.float32(-1))
            alpha, rng = np.zeros(y.size, np.float32), np.random.default_rng(0)
            violation, n = np.inf, 0
            while violation > self.tol and n < self.max_iter:
                n += 1
                order = rng.permutation(y.size)
                high, low = one_pass(bounds, order, y, Q, np.float32(self.C), alpha, a)
                violation = high - low
            self.passes.append(n)
        return self

    def _prepare_tables(self, b=1000):
        nodes, grid = chebyshev(2), np.arange(b + 1) / b
        inverse = np.linalg.inv(np.vander(np.log(nodes + 0.05), increasing=True))
        T1 = np.log(grid + 0.05).astype(np.float32)
        T2 = (inverse @ power_mean(nodes[:, None], grid, self.p)).T.astype(np.float32, order="C")
        self.memory = self.index.nbytes + self.value.nbytes
        return lambda bounds, order, y, Q, cost, alpha, a: pass_with_tables(
            self.index, self.value, bounds, order, y, Q, cost, T1, T2, alpha, a
        )

    def _prepare_values(self):
        inverse = np.linalg.inv(np.vander(np.log(AD_HOC + 0.05), increasing=True)).astype("f4")
        logs = np.log(self.value + np.float32(0.05))
        means = [power_mean(self.value, np.float32(c), self.p).astype("f4") for c in AD_HOC[1:]]
        c0 = np.float32(AD_HOC[0])
        self.memory = self.index.nbytes + 4 * self.value.nbytes
        return lambda bounds, order, y, Q, cost, alpha, a: pass_precomputed(
            self.index, logs, *means, bounds, order, y, Q, cost, c0, inverse, alpha, a
        )

    def predict(self, X):
        """Eq. 9 and 20."""
        X = sparse.csr_matrix(X)
        t = np.log(np.clip(X.data, 0, 1) + 0.05)
        scores = np.empty((X.shape[0], len(self.a)))
        for c, a in enumerate(self.a):
            added = sum(a[X.indices, k] * t**k for k in range(3))
            scores[:, c] = sparse.csr_matrix((added, X.indices, X.indptr), X.shape).sum(1).ravel()
        return (scores[:, 0] > 0).astype(int) if len(self.a) == 1 else scores.argmax(axis=1)
