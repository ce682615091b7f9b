"""C chosen on training rows, and on test rows for comparison.

Papers often report the accuracy at the C that is best on the test rows: an upper envelope that
compares kernels. The honest figure has C chosen on a third of the training rows.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

Fit = Callable[[float, np.ndarray, np.ndarray], float]
"""Accuracy in percent at a C, trained on some rows and tested on others of all the data."""


class Accuracy(NamedTuple):
    """Two answers to "how accurate?", in percent."""

    best: float
    """At the C that is best on the test rows."""
    chosen: float
    """At the C chosen on training rows."""


def held_out_third(y: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Divide training rows into two thirds to train and one third to choose with."""
    from sklearn.model_selection import train_test_split

    rare = np.isin(y, [label for label in set(y) if np.sum(y == label) < 2])
    layers = None if rare.any() else y
    rows = np.arange(len(y))
    first, second = train_test_split(rows, test_size=1 / 3, stratify=layers, random_state=seed)
    return first, second


def over_costs(
    score: Fit, costs: Iterable[float], y_train: np.ndarray, n_test: int
) -> list[tuple[float, float]]:
    """Return for every C the accuracy on the held-out third and, trained on all, on the test rows.

    Rows are numbered through: training rows first, then test rows.
    """
    n = len(y_train)
    some, other = held_out_third(y_train)
    everything, test = np.arange(n), np.arange(n, n + n_test)
    return [(score(C, some, other), score(C, everything, test)) for C in costs]


def summarize(found: Iterable[tuple[float, float]]) -> Accuracy:
    """Return both answers from pairs of held-out and test accuracy.

    Examples
    --------
    >>> summarize([(80.0, 81.0), (82.0, 79.0)])
    Accuracy(best=81.0, chosen=79.0)
    """
    pairs = list(found)
    return Accuracy(max(test for _, test in pairs), max(pairs, key=lambda pair: pair[0])[1])


def linear_score(X: Any, y: np.ndarray, fit_intercept: bool = False) -> Fit:
    """Return the score of LIBLINEAR: one-vs-rest, its default tolerance, by default no bias."""
    from sklearn.svm import LinearSVC

    def score(C: float, train: np.ndarray, test: np.ndarray) -> float:
        model = LinearSVC(C=C, dual=True, tol=0.1, fit_intercept=fit_intercept, random_state=0)
        return 100 * model.fit(X[train], y[train]).score(X[test], y[test])

    return score


def kernel_score(train_gram: np.ndarray, test_gram: np.ndarray, y: np.ndarray) -> Fit:
    """Return the score of LIBSVM, one-vs-one, on Gram matrices with the training rows."""
    from sklearn.svm import SVC

    n = len(train_gram)

    def score(C: float, train: np.ndarray, test: np.ndarray) -> float:
        model = SVC(kernel="precomputed", C=C, cache_size=500, max_iter=300_000)
        model.fit(train_gram[np.ix_(train, train)], y[train])
        seen = test_gram[test - n] if test[0] >= n else train_gram[test]
        return 100 * model.score(seen[:, train], y[test])

    return score
