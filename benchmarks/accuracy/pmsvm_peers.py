"""Accuracy of ``PmSVMClassifier`` with its defaults against its peers on the same rows.

    python -m benchmarks.accuracy.pmsvm_peers          all sets
    python -m benchmarks.accuracy.pmsvm_peers SET …    some of them

All solve the hinge loss without bias at the same C for the values as given, and stop at 0.1, as in
``benchmarks.speed.pmsvm``. Every set is tried twice: each training row by a model of the other four
folds, for all that has to be chosen, and the test rows once. The algorithms of the paper are tried
on the test rows alone. A set has few hundred rows on which two methods differ; how many of
them each gets right says more than the two accuracies.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import benchmarks.timing  # noqa: F401 - sets one thread

import numpy as np  # isort: skip - after that
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from benchmarks.data import DATA
from benchmarks.papers.datasets import Split, reuters, table, text_like
from benchmarks.papers.lab import Lab
from benchmarks.papers.pmsvm_as_printed import PmSVMAsPrinted
from benchmarks.speed.pmsvm import bag_of_words, chi2_then_linear, linear
from visualwords.classifiers import PmSVMClassifier

Predict = Callable[[Any], np.ndarray]
OURS = "PmSVMClassifier"


def ours(X: Any, y: np.ndarray, C: float) -> Predict:
    return PmSVMClassifier(C=C).fit(X, y).predict


def plain(X: Any, y: np.ndarray, C: float) -> Predict:
    return linear(C).fit(X, y).predict


def mapped(X: Any, y: np.ndarray, C: float) -> Predict:
    sampler, model = chi2_then_linear(X, y, C)
    return lambda Z: model.predict(sampler.transform(Z))


def as_printed(X: Any, y: np.ndarray, C: float, *, tables: bool = True) -> Predict:
    largest = X.max()
    model = PmSVMAsPrinted(C=C * largest, tables=tables)
    model.fit(X / largest, y)
    return lambda Z: model.predict(Z / largest)


def without_tables(X: Any, y: np.ndarray, C: float) -> Predict:
    return as_printed(X, y, C, tables=False)


ON_FOLDS = {OURS: ours, "LinearSVC": plain, "AdditiveChi2Sampler": mapped}
ON_TEST = {**ON_FOLDS, "PmSVM-LUT as printed": as_printed, "PmSVM as printed": without_tables}


def sets(wanted: list[str]) -> Iterator[tuple[str, Split, float]]:
    """Names, rows and C."""
    lab = Lab(DATA)

    def unit() -> Split:
        X, y, X_test, y_test = bag_of_words()
        return Split(X / X.max(), y, X_test / X.max(), y_test)

    every: dict[str, tuple[Callable[[], Split], float]] = {
        "text": (text_like, 0.01),
        "reuters": (lambda: reuters(lab), 0.01),
        "reuters-C1": (lambda: reuters(lab), 1.0),
        "counts": (bag_of_words, 0.01),
        "unit": (unit, 0.01),
        **{
            name: (lambda name=name: table(lab, name), 0.01)
            for name in ("optdigits", "pendigits", "satimage", "spambase")
        },
    }
    for name in wanted or every:
        make, C = every[name]
        X, y, X_test, y_test = make()
        X, X_test = (part.astype(np.float32) for part in (X, X_test))
        codes = np.unique(np.concatenate([y, y_test]), return_inverse=True)[1]
        yield name, Split(X, codes[: len(y)], X_test, codes[len(y) :]), C


def on_folds(data: Split, C: float) -> dict[str, np.ndarray]:
    """Whether each training row is right by a model of the other folds."""
    X, y, *_ = data
    right = {name: np.zeros(len(y), bool) for name in ON_FOLDS}
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(y, y):
        for name, fit in ON_FOLDS.items():
            right[name][test] = fit(X[train], y[train], C)(X[test]) == y[test]
    return right


def on_test(data: Split, C: float) -> dict[str, np.ndarray]:
    """Whether each test row is right."""
    X, y, X_test, y_test = data
    return {name: fit(X, y, C)(X_test) == y_test for name, fit in ON_TEST.items()}


def report(title: str, right: dict[str, np.ndarray], means: dict[str, list[float]]) -> None:
    """Print accuracies, and the rows that only we or only the peer gets right."""
    print(f"\n{title}, {len(right[OURS]):,} rows")
    for name, hits in right.items():
        means.setdefault(name, []).append(100 * hits.mean())
        differ = f"{np.sum(right[OURS] & ~hits)} : {np.sum(hits & ~right[OURS])}"
        print(f"  {name:22s} {100 * hits.mean():6.2f} %  {'' if name == OURS else differ}")


def main(wanted: list[str]) -> list[str]:
    warnings.simplefilter("ignore", ConvergenceWarning)  # LinearSVC, on values far above 1
    folds: dict[str, list[float]] = {}
    test: dict[str, list[float]] = {}
    for name, data, C in sets(wanted):
        report(f"{name}, C = {C:g}, folds of the training rows", on_folds(data, C), folds)
        report(f"{name}, C = {C:g}, test rows", on_test(data, C), test)
    missed = []
    for title, means in (("folds", folds), ("test rows", test)):
        print(f"\nmean over the sets, {title}")
        for name, values in means.items():
            behind = bool(np.mean(means[OURS]) < np.mean(values))
            print(f"  {name:22s} {np.mean(values):6.2f} %  {'ahead of ours' * behind}")
            missed += [f"{name} ({title})"] * behind
    return missed


if __name__ == "__main__":
    missed = main(sys.argv[1:])
    sys.exit(f"missed: {', '.join(missed)}" if missed else 0)
