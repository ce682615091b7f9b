"""The methods that [Yang12], Sec. 6, compares, on values in [0, 1] and class numbers."""

from collections.abc import Callable
from functools import partial
from typing import Any

from scipy import sparse

from benchmarks.papers.generated import Split
from benchmarks.papers.lab import Measured, measured
from benchmarks.papers.peers import Score, liblinear
from benchmarks.papers.pmsvm_as_printed import FeatureMap, PmSVMAsPrinted
from benchmarks.papers.results import Row, Table
from visualwords.classifiers import PmSVMClassifier

C = 0.01  # of everything but LIBLINEAR  [Yang12, Sec. 6]
BYTES = {  # that a method keeps of every value that is not zero
    "PmSVM-LUT": 8,  # the value and the column
    "PmSVM": 20,  # 12 more  [Yang12, Sec. 5.1]
    "fm": 8,  # likewise
    "LIBLINEAR": 16,  # a double, an index, padding
}


def methods() -> dict[str, Callable[[], Any]]:
    """How to make the paper's methods, in its order, and ours."""
    made: dict[str, Callable[[], Any]] = {}
    for kernel, p, name in (("chi2", -1, "χ²"), ("intersection", -8, "HI")):
        made[f"PmSVM-LUT-{name}"] = partial(PmSVMAsPrinted, p, C)
        made[f"PmSVM-{name}"] = partial(PmSVMAsPrinted, p, C, tables=False)
        made[f"fm-{name}"] = partial(FeatureMap, kernel, C)
        made[f"ours, {name}"] = partial(PmSVMClassifier, p, C)
    made["LIBLINEAR"] = partial(liblinear, 1.0, loss="hinge", fit_intercept=False)
    return made


def try_method(method: str, split: Split, score: Score) -> Measured:
    """Train and test, after a first time that warms up at the same shape and classes."""
    make, (X, y, X_test, y_test) = methods()[method], split
    make().fit(X, y).predict(X_test[:2])
    return measured(lambda: make().fit(X, y), X_test, lambda own: 100 * score(y_test, own))


def _bytes_per_value(method: str, n_columns: int) -> int:
    if method.startswith("ours"):
        return 4 if n_columns <= 1 << 16 else 6  # two for the level, two or four for the column
    return BYTES[method.rpartition("-")[0] or method]


def row_of(title: str, method: str, one: Measured, n: int, paper: float | None, why: str) -> Row:
    """Accuracy and training time of a method; why the paper's figure is of other data, if it is."""
    return Row(
        *(f"{title}, {method}", one.score, paper),
        seconds=one.train_seconds,
        n=n,
        rival=not method.startswith("ours"),
        unlike=why if paper is not None else "",
    )


def megabytes(method: str, split: Split) -> float:
    """Memory of the training data as a method keeps them."""
    return sparse.csr_matrix(split.X).nnz * _bytes_per_value(method, split.X.shape[1]) / 1e6


def needs(outcomes: dict[tuple[str, str], Measured], splits: dict[str, Split], title: str) -> Table:
    """Memory and time of testing."""
    cells = [
        [
            *(f"{name}, {method}", megabytes(method, splits[name])),
            *(one.growth or "", 1e3 * one.test_seconds),
        ]
        for (name, method), one in outcomes.items()
    ]
    header = ("", "memory of the data, MB", "growth of the process, MB", "testing, ms")
    return Table(title, header, cells)
