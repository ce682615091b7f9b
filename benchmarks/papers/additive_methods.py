"""The methods that [Yang12], Sec. 6, compares, on values in [0, 1] and class numbers."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from scipy import sparse

from benchmarks.papers.generated import Split
from benchmarks.papers.lab import memory_of, timed
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


class Outcome(NamedTuple):
    """What came of a method on some data."""

    accuracy: float
    train_seconds: float
    test_seconds: float
    megabytes: float
    """Of the data, as the method keeps them."""
    growth: float | None
    """Megabytes by which a process grows while it trains; None where that is not known."""


def try_method(method: str, split: Split, score: Score) -> Outcome:
    """Train and test, each twice: the first time warms up at the same shape and classes."""
    make, (X, y, X_test, y_test) = methods()[method], split
    model, train_seconds = timed(lambda: make().fit(X, y), runs=2)
    answers, test_seconds = timed(model.predict, X_test, runs=2)
    kept = sparse.csr_matrix(X).nnz * _bytes_per_value(method, X.shape[1]) / 1e6
    del model
    grown = memory_of(lambda: make().fit(X, y))
    return Outcome(100 * score(y_test, answers), train_seconds, test_seconds, kept, grown)


def _bytes_per_value(method: str, n_columns: int) -> int:
    if method.startswith("ours"):
        return 4 if n_columns <= 1 << 16 else 6  # two for the level, two or four for the column
    return BYTES[method.rpartition("-")[0] or method]


def row_of(title: str, method: str, one: Outcome, n: int, paper: float | None, unlike: str) -> Row:
    """Accuracy and training time of a method."""
    return Row(
        *(f"{title}, {method}", one.accuracy, paper),
        seconds=one.train_seconds,
        n=n,
        rival=not method.startswith("ours"),
        unlike=unlike if paper is not None else "",
    )


def needs(outcomes: dict[str, Outcome], title: str) -> Table:
    """Memory and time of testing."""
    cells = [
        [name, one.megabytes, one.growth or "", 1e3 * one.test_seconds]
        for name, one in outcomes.items()
    ]
    header = ("", "memory of the data, MB", "growth of the process, MB", "testing, ms")
    return Table(title, header, cells)
