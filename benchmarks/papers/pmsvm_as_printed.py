"""PmSVM and PmSVM-LUT as printed, Algorithms 2 and 3 of [Yang12], and feature mapping beside them.

Samples are visited in random order, a new one every pass; the stopping rule is LIBLINEAR's.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.papers import _loops as loops
from visualwords.classifiers.kernels.expansions import AD_HOC_NODES

AD_HOC = np.array(AD_HOC_NODES)
PERIODS = {"chi2": 0.65, "intersection": 0.95}  # of the map: least mean square error on [0, 1]²


def chebyshev(degree: int) -> np.ndarray:
    """The nodes of Eq. 16 for the variable ln(x + 0.05)."""
    low, high = np.log(0.05), np.log(1.05)
    cosines = np.cos((2 * np.arange(1, degree + 2) - 1) / (2 * (degree + 1)) * np.pi)
    return np.exp((low + high) / 2 + (high - low) / 2 * cosines) - 0.05


def power_mean(x: Any, y: Any, p: float) -> np.ndarray:
    """Eq. 4 for two numbers above 0, 0 otherwise."""
    if p == -1:
        return 2 * x * y / np.maximum(x + y, 1e-30)
    positive = (x > 0) & (y > 0)
    x, y = np.where(positive, x, 1.0), np.where(positive, y, 1.0)
    return np.where(positive, ((x**p + y**p) / 2) ** (1 / p), 0.0)


def powers(logarithm: np.ndarray) -> np.ndarray:
    """1, t and t² in columns."""
    return np.stack([logarithm**0, logarithm, logarithm**2], axis=1).astype(np.float32)


@dataclass
class PmSVMAsPrinted:
    """One-vs-rest by one of the two algorithms, on values in [0, 1].

    Parameters
    ----------
    p, C : float
    tables : bool
        PmSVM-LUT (Algorithm 3, prediction by Eq. 20), else PmSVM (Algorithm 2, Eq. 9).
    tol, max_iter : float, int
    b : int
        Entries of the tables. The powers 1, t, t² of T₁'s entries are kept with them.
    """

    p: float = -1.0
    C: float = 0.01
    tables: bool = True
    tol: float = 0.1
    max_iter: int = 200
    b: int = 1000

    def fit(self, X: Any, codes: np.ndarray) -> "PmSVMAsPrinted":
        """Learn from rows and class numbers 0, 1, …: three numbers a column for every class."""
        X = sparse.csr_matrix(X, dtype=np.float32)
        index, bounds = X.indices.astype(np.int32), X.indptr.astype(np.int64)
        one_pass, parts = self._prepare(X.data)
        squares = sparse.csr_matrix((self._squares(X.data), X.indices, X.indptr), X.shape)
        Q = np.maximum(np.asarray(squares.sum(axis=1)).ravel(), 1e-12).astype(np.float32)
        positives = [1] if codes.max() == 1 else range(codes.max() + 1)
        self.a = np.zeros((len(positives), X.shape[1], 3), np.float32)
        for c, a in zip(positives, self.a):
            y = np.where(codes == c, np.float32(1), np.float32(-1))
            alpha, rng = np.zeros(y.size, np.float32), np.random.default_rng(0)
            for _ in range(self.max_iter):
                order = rng.permutation(y.size)
                shared = (order, y, Q, np.float32(self.C), alpha, a, index, bounds)
                high, low = one_pass(*shared, *parts)
                if high - low <= self.tol:
                    break
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Class numbers: PmSVM by Eq. 9, PmSVM-LUT by Eq. 20."""
        X = sparse.csr_matrix(X, dtype=np.float32)
        scores = np.zeros((X.shape[0], len(self.a)), np.float32)
        if self.tables:
            loops.scores_by_table(X.indices, X.data, X.indptr, self.a, self.read, scores)
        else:
            loops.scores_by_logarithm(X.indices, X.data, X.indptr, self.a, scores)
        return (scores[:, 0] > 0).astype(int) if len(self.a) == 1 else scores.argmax(axis=1)

    def _squares(self, value: np.ndarray) -> np.ndarray:
        """What a value adds to κ(x, x)."""
        return value

    def _prepare(self, value: np.ndarray) -> tuple[Any, tuple[Any, ...]]:
        """The loop of a pass, and its arguments after those that both loops share."""
        if self.tables:
            self.read, write = self._look_up_tables()
            return loops.pass_with_tables, (value, self.read, write)
        logs = np.log(value + np.float32(0.05))
        means = [power_mean(value, np.float32(c), self.p).astype("f4") for c in AD_HOC[1:]]
        inverse = np.linalg.inv(np.vander(np.log(AD_HOC + 0.05), increasing=True)).astype("f4")
        return loops.pass_precomputed, (logs, *means, np.float32(AD_HOC[0]), inverse)

    def _look_up_tables(self) -> tuple[np.ndarray, np.ndarray]:
        """Powers of T₁ (Eq. 18), and T₂ (Eq. 19) on Chebyshev's nodes."""
        nodes, grid = chebyshev(2), np.arange(self.b + 1) / self.b
        inverse = np.linalg.inv(np.vander(np.log(nodes + 0.05), increasing=True))
        T2 = (inverse @ power_mean(nodes[:, None], grid, self.p)).T
        return powers(np.log(grid + 0.05)), T2.astype(np.float32, order="C")


class FeatureMap(PmSVMAsPrinted):
    """Three numbers a feature (Vedaldi and Zisserman, 2012), looked up in a table as in the paper.

    They are not stored: LIBLINEAR's steps look them up again (Sec. 6, "Feature Mapping with LUT").
    """

    def __init__(self, kernel: str, C: float = 0.01):
        super().__init__(C=C)
        self.kernel = kernel

    def numbers(self, x: np.ndarray) -> np.ndarray:
        """The three numbers of every value."""
        period = PERIODS[self.kernel]
        frequency = np.array([0.0, period])
        if self.kernel == "chi2":
            spectrum = period / np.cosh(np.pi * frequency)
        else:
            spectrum = period * 2 / np.pi / (1 + 4 * frequency**2)
        angle, size = period * np.log(np.maximum(x, 1e-30)), np.sqrt(2 * spectrum[1] * x)
        parts = [np.sqrt(spectrum[0] * x), size * np.cos(angle), size * np.sin(angle)]
        return np.stack(parts, axis=1).astype(np.float32)

    def _look_up_tables(self) -> tuple[np.ndarray, np.ndarray]:
        table = self.numbers(np.arange(self.b + 1) / self.b)
        return table, table

    def _squares(self, value: np.ndarray) -> np.ndarray:
        level = (np.float32(self.b) * value).astype(int)
        return np.einsum("hk,hk->h", self.read, self.read)[level]
