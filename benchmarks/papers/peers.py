"""LIBLINEAR and LIBSVM as the papers run them, how a cost C is chosen, how a model is tried.

Papers often report the accuracy at the C that is best on the test rows: an upper envelope that
compares kernels. The honest figure has C chosen on a third of the training rows.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks.papers.datasets import Split
from benchmarks.papers.lab import timed
from benchmarks.papers.results import Row
from visualwords.classifiers import Quantizer, kernels

HIK_COST = 1e-3  # the default on quantised features; 1 elsewhere  [Wu10], Sec. 4.4
AT_ONCE = 4_000  # test rows, so that their Gram matrix fits in memory
Score = Callable[[np.ndarray, np.ndarray], float]  # of the truth and the answers
Curve = list[tuple[float, float]]  # accuracies in % on the held-out third and on the test rows


def liblinear(C: float = 1.0, **options: Any) -> LinearSVC:
    """LIBLINEAR's dual solver with its tolerance."""
    return LinearSVC(**{"C": C, "dual": True, "tol": 0.1, "random_state": 0} | options)


def scaled_liblinear(C: float = 1.0) -> Any:
    """LIBLINEAR on columns divided by their largest training value, as svm-scale leaves them."""
    return make_pipeline(MaxAbsScaler(), liblinear(C))


def libsvm(kernel: Any, C: float = 1.0, **options: Any) -> SVC:
    """LIBSVM, one-vs-one; stopped where C is hopelessly large."""
    return SVC(**{"kernel": kernel, "C": C, "cache_size": 500, "max_iter": 300_000} | options)


def _intersection(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """HIK of levels, which LIBSVM hands over as floats."""
    return np.asarray(kernels.intersection(X.astype(np.uint8), Y.astype(np.uint8)), float)


def quantized_libsvm(C: float = HIK_COST) -> Any:
    """LIBSVM with the intersection kernel of ICD's levels."""
    return make_pipeline(Quantizer(), libsvm(_intersection, C))


def scaled_libsvm(C: float = 1.0, gamma: float | None = None) -> Any:
    """LIBSVM with the linear kernel, or RBF where γ is given, of columns as svm-scale's."""

    def kernel(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return X @ Y.T if gamma is None else kernels.rbf(X, Y, gamma=gamma)

    return make_pipeline(MaxAbsScaler(), libsvm(kernel, C))


def share_right(truth: np.ndarray, answers: np.ndarray) -> float:
    """The share of correct answers."""
    return float(np.mean(truth == answers))


def mean_per_class(truth: np.ndarray, answers: np.ndarray) -> float:
    """The mean accuracy of the classes."""
    return float(balanced_accuracy_score(truth, answers))


def trial(
    what: str,
    model: Any,
    split: Split,
    paper: float | None = None,
    score: Score = share_right,
    runs: int = 2,
    **options: Any,
) -> Row:
    """Train and test a model: its accuracy, and the seconds of the fastest of some trainings."""
    _, seconds = timed(model.fit, split.X, split.y, runs=runs)
    starts = range(0, len(split.y_test), AT_ONCE)
    parts = [model.predict(split.X_test[start : start + AT_ONCE]) for start in starts]
    accuracy = 100 * score(split.y_test, np.concatenate(parts))
    return Row(what, accuracy, paper, seconds=seconds, n=len(split.y_test), **options)


class Accuracy(NamedTuple):
    """Two answers to "how accurate?", in percent."""

    best: float
    """At the C that is best on the test rows."""
    chosen: float
    """At the C chosen on training rows."""


def held_out_third(y: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Divide training rows into two thirds to train and one third to choose with."""
    rare = np.isin(y, [label for label in set(y) if np.sum(y == label) < 2])
    layers = None if rare.any() else y
    rows = np.arange(len(y))
    first, second = train_test_split(rows, test_size=1 / 3, stratify=layers, random_state=seed)
    return first, second


def best_on_third(
    make: Callable[..., Any], options: Iterable[Any], X: Any, y: np.ndarray, score: Score
) -> Any:
    """The options (a tuple each, passed to ``make``) with the best score on the held-out third."""
    some, other = held_out_third(y)
    return max(
        options, key=lambda one: score(y[other], make(*one).fit(X[some], y[some]).predict(X[other]))
    )


def over_costs(
    make: Callable[[float], Any], costs: Iterable[float], split: Split, gram: bool = False
) -> Curve:
    """For every C the accuracies on the held-out third and, trained on all, on test rows.

    With ``gram``, the rows are those of Gram matrices with the training rows.
    """
    some, other = held_out_third(split.y)
    columns = some if gram else slice(None)
    X, y = split.X, split.y
    inner = Split(X[some][:, columns], y[some], X[other][:, columns], y[other])

    def accuracy(C: float, part: Split) -> float:
        return 100 * share_right(part.y_test, make(C).fit(part.X, part.y).predict(part.X_test))

    return [(accuracy(C, inner), accuracy(C, split)) for C in costs]


def summarize(curve: Curve) -> Accuracy:
    """Both answers from pairs of held-out and test accuracy.

    Examples
    --------
    >>> summarize([(80.0, 81.0), (82.0, 79.0)])
    Accuracy(best=81.0, chosen=79.0)
    """
    return Accuracy(max(test for _, test in curve), max(curve, key=lambda pair: pair[0])[1])
