"""The methods that the PmSVM paper compares, on values in [0, 1] and class numbers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from visualwords.apps.reproduce_papers.lab import timed
from visualwords.apps.reproduce_papers.pmsvm_as_printed import PmSVMAsPrinted
from visualwords.classifiers import PmSVMClassifier

C = 0.01  # of everything but LIBLINEAR  [Yang12, Sec. 6]
PERIODS = {"chi2": 0.65, "intersection": 0.95}  # of the map: least mean square error on [0, 1]²


class Outcome(NamedTuple):
    """Input and output of a method."""

    accuracy: float
    train_seconds: float
    test_seconds: float
    megabytes: float


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
        period = PERIODS[self.kernel]
        spectrum = period * self._spectrum(np.array([0.0, period]))
        angle = period * np.log(np.maximum(X.data, 1e-30))
        size = np.sqrt(2 * spectrum[1] * X.data)
        parts = [
            np.sqrt(spectrum[0] * X.data),
            size * np.cos(angle),
            size * np.sin(angle),
        ]
        return sparse.hstack(
            [sparse.csr_matrix((part, X.indices, X.indptr), X.shape) for part in parts], "csr"
        )

    def _spectrum(self, frequency: np.ndarray) -> np.ndarray:
        if self.kernel == "chi2":
            return 1 / np.cosh(np.pi * frequency)
        return 2 / np.pi / (1 + 4 * frequency**2)


def methods() -> dict[str, Any]:
    """The paper's methods in its order, and ours."""
    found: dict[str, Any] = {}
    for kernel, p, name in (("chi2", -1, "χ²"), ("intersection", -8, "HI")):
        found[f"PmSVM-LUT-{name}"] = PmSVMAsPrinted(p, C)
        found[f"PmSVM-{name}"] = PmSVMAsPrinted(p, C, tables=False)
        found[f"fm-{name}"] = FeatureMap(kernel)
        found[f"ours, {name}"] = PmSVMClassifier(p, C)
    found["LIBLINEAR"] = _liblinear(1.0)
    return found


def _liblinear(cost: float) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(C=cost, loss="hinge", dual=True, tol=0.1, fit_intercept=False, random_state=0)


def try_method(
    model: Any, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray, score: Callable[..., float]
) -> Outcome:
    """Train and test; loops are compiled before the clock starts."""
    model.fit(X[:20], np.arange(20) % 2)
    _, train_seconds = timed(model.fit, X, y)
    answers, test_seconds = timed(model.predict, X_test)
    used = sparse.csr_matrix(X).nnz * bytes_per_value(model, X.shape[1]) / 1e6
    return Outcome(100 * score(y_test, answers), train_seconds, test_seconds, used)


def bytes_per_value(model: Any, n_columns: int) -> int:
    """Bytes that a method keeps of every value that is not zero."""
    if isinstance(model, PmSVMAsPrinted):
        return 8 if model.tables else 20  # [Yang12, Sec. 5.1]: 12 more than the value and column
    if isinstance(model, PmSVMClassifier):
        return 4 if n_columns <= 1 << 16 else 6  # two for the level, two or four for the column
    return 48 if isinstance(model, FeatureMap) else 16  # LIBLINEAR: a double, an index, padding
