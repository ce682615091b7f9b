"""The methods that the PmSVM paper compares, on values in [0, 1] and class numbers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.papers._pmsvm_as_printed import pass_mapped
from benchmarks.papers.lab import timed
from benchmarks.papers.memory import memory_of
from benchmarks.papers.pmsvm_as_printed import (
    PmSVMAsPrinted,
    one_vs_rest,
    predicted,
)
from benchmarks.papers.results import Table
from visualwords.classifiers import PmSVMClassifier

C = 0.01  # of everything but LIBLINEAR  [Yang12, Sec. 6]
LEVELS = 1000  # of the table
PERIODS = {"chi2": 0.65, "intersection": 0.95}  # of the map: least mean square error on [0, 1]²


class Outcome(NamedTuple):
    """Input and output of a method."""

    accuracy: float
    train_seconds: float
    test_seconds: float
    megabytes: float
    """Of the data, as they are kept."""
    measured: float | None
    """Megabytes by which the process grew while it trained; None where that is not known."""


class FeatureMap:
    """Three numbers a feature (Vedaldi and Zisserman, 2012), then LIBLINEAR."""

    def __init__(self, kernel: str):
        self.kernel = kernel

    def fit(self, X: Any, codes: np.ndarray) -> "FeatureMap":
        """Learn from rows and class numbers."""
        self.linear = _liblinear(C).fit(self.map(X), codes)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return class numbers."""
        return self.linear.predict(self.map(X))

    def map(self, X: Any) -> sparse.csr_matrix:
        """Return the mapped rows; zeros stay zeros."""
        X = sparse.csr_matrix(X)
        parts = self.numbers(X.data).T
        return sparse.hstack(
            [sparse.csr_matrix((part, X.indices, X.indptr), X.shape) for part in parts], "csr"
        )

    def numbers(self, x: np.ndarray) -> np.ndarray:
        """Return the three numbers of every value."""
        period = PERIODS[self.kernel]
        spectrum = period * self._spectrum(np.array([0.0, period]))
        angle = period * np.log(np.maximum(x, 1e-30))
        size = np.sqrt(2 * spectrum[1] * x)
        return np.stack(
            [np.sqrt(spectrum[0] * x), size * np.cos(angle), size * np.sin(angle)], axis=1
        )

    def _spectrum(self, frequency: np.ndarray) -> np.ndarray:
        if self.kernel == "chi2":
            return 1 / np.cosh(np.pi * frequency)
        return 2 / np.pi / (1 + 4 * frequency**2)


class FeatureTable(FeatureMap):
    """The same map with a table, as PmSVM-LUT has one: values are kept as levels."""

    def fit(self, X: Any, codes: np.ndarray) -> "FeatureTable":
        """Learn from rows and class numbers, with the steps of LIBLINEAR."""
        X = sparse.csr_matrix(X)
        self.table = self.numbers(np.arange(LEVELS + 1) / LEVELS).astype(np.float32)
        level, index = self._levels(X.data), X.indices.astype(np.int32)
        bounds = X.indptr.astype(np.int64)
        squares = np.einsum("hk,hk->h", self.table, self.table)[level]
        rows = sparse.csr_matrix((squares, X.indices, X.indptr), X.shape)
        Q = np.maximum(np.asarray(rows.sum(axis=1)).ravel(), 1e-12).astype(np.float32)

        def one_pass(order: Any, y: Any, alpha: Any, a: Any) -> Any:
            return pass_mapped(
                index, level, bounds, order, y, Q, np.float32(C), self.table, alpha, a
            )

        self.a, self.passes = one_vs_rest(one_pass, codes, X.shape[1], tol=0.1, max_iter=200)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return class numbers."""
        X = sparse.csr_matrix(X)
        return predicted(X, self.a, self.table[self._levels(X.data)])

    @staticmethod
    def _levels(x: np.ndarray) -> np.ndarray:
        return np.rint(LEVELS * np.clip(x, 0, 1)).astype(np.int16)


def methods() -> dict[str, Any]:
    """The paper's methods in its order, and ours."""
    found: dict[str, Any] = {}
    for kernel, p, name in (("chi2", -1, "χ²"), ("intersection", -8, "HI")):
        found[f"PmSVM-LUT-{name}"] = PmSVMAsPrinted(p, C)
        found[f"PmSVM-{name}"] = PmSVMAsPrinted(p, C, tables=False)
        found[f"fm-{name}"] = FeatureMap(kernel)
        found[f"fm-LUT-{name}"] = FeatureTable(kernel)
        found[f"ours, {name}"] = PmSVMClassifier(p, C)
    found["LIBLINEAR"] = _liblinear(1.0)
    found["LIBLINEAR, squared hinge"] = _liblinear(1.0, "squared_hinge")
    return found


def _liblinear(cost: float, loss: str = "hinge") -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(C=cost, loss=loss, dual=True, tol=0.1, fit_intercept=False, random_state=0)


def needs(found: dict[str, Outcome], title: str) -> Table:
    """Memory and time of testing."""
    cells = [
        [
            name,
            one.megabytes,
            "" if one.measured is None else one.measured,
            1e3 * one.test_seconds,
        ]
        for name, one in found.items()
    ]
    header = ("", "memory of the data, MB", "growth of the process, MB", "testing, ms")
    return Table(title, header, cells)


def try_method(
    model: Any,
    X: Any,
    y: np.ndarray,
    X_test: Any,
    y_test: np.ndarray,
    score: Callable[..., float],
    measure_memory: bool = True,
) -> Outcome:
    """Train and test; loops are compiled before the clock starts."""
    model.fit(X[:20], np.arange(20) % 2)
    # before other fits, which would reuse what this process freed
    grown = memory_of(lambda: model.fit(X, y)) if measure_memory else None
    _, train_seconds = timed(model.fit, X, y)
    answers, test_seconds = timed(model.predict, X_test)
    used = sparse.csr_matrix(X).nnz * bytes_per_value(model, X.shape[1]) / 1e6
    return Outcome(100 * score(y_test, answers), train_seconds, test_seconds, used, grown)


def bytes_per_value(model: Any, n_columns: int) -> int:
    """Bytes that a method keeps of every value that is not zero."""
    if isinstance(model, PmSVMAsPrinted):
        return 8 if model.tables else 20  # [Yang12, Sec. 5.1]: 12 more than the value and column
    if isinstance(model, FeatureTable):
        return 6  # two for the level, four for the column
    if isinstance(model, PmSVMClassifier):
        return 4 if n_columns <= 1 << 16 else 6  # two for the level, two or four for the column
    return 48 if isinstance(model, FeatureMap) else 16  # LIBLINEAR: a double, an index, padding
