"""LIBSVM and LIBLINEAR as the ICD paper runs them, all on features in [0, 1]."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers.cost_choice import held_out_third
from benchmarks.papers.generated import Split
from benchmarks.papers.lab import timed
from visualwords.classifiers import ICDClassifier, Quantizer, kernels

COSTS = 10.0 ** np.arange(-5, 4, 2)  # [Wu10], Sec. 4.3, every other one
GAMMAS = 10.0 ** np.arange(-5, 0)  # likewise
HIK_COST = 1e-3  # the default on quantised features; 1 elsewhere


class Grams(NamedTuple):
    """A kernel's Gram matrices: training rows with themselves, test rows with training rows."""

    train: np.ndarray
    test: np.ndarray
    seconds: float


def scaled(split: Split) -> Split:
    """Divide every column by its largest training value, as LIBSVM's svm-scale does."""
    largest = np.maximum(np.abs(split.X).max(axis=0), np.finfo(np.float32).tiny)
    return Split(split.X / largest, split.y, split.X_test / largest, split.y_test)


def gram_makers(split: Split, gammas: Any) -> dict[str, list[Callable[[], Grams]]]:
    """For every kernel of LIBSVM's rows, how to get its Gram matrices, one for each γ."""
    quantizer = Quantizer().fit(split.X)
    levels, levels_test = (quantizer.transform(part) for part in (split.X, split.X_test))
    unit = scaled(split)
    return {
        "LIBSVM+HIK": [partial(_grams, kernels.intersection, levels, levels_test)],
        "LIBSVM+LIN": [partial(_grams, _linear, unit.X, unit.X_test)],
        "LIBSVM+RBF": [partial(_grams, _rbf(g), unit.X, unit.X_test) for g in gammas],
    }


def _grams(kernel: Callable[..., np.ndarray], X: np.ndarray, X_test: np.ndarray) -> Grams:
    """The time is that of the training matrix."""
    train, seconds = timed(kernel, X)
    return Grams(np.asarray(train, float), np.asarray(kernel(X_test, X), float), seconds)


def _linear(X: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
    return X @ (X if Y is None else Y).T


def _rbf(gamma: float) -> Callable[..., np.ndarray]:
    from sklearn.metrics.pairwise import rbf_kernel

    return lambda X, Y=None: rbf_kernel(X, Y, gamma=gamma)


def libsvm_fit(gram: np.ndarray, y: np.ndarray, C: float) -> Any:
    """Train LIBSVM, one-vs-one."""
    from sklearn.svm import SVC

    return SVC(kernel="precomputed", C=C, cache_size=500, max_iter=300_000).fit(gram, y)


def libsvm_held_out(
    gram: np.ndarray, y: np.ndarray, costs: Any, score: Callable[..., float]
) -> Iterator[tuple[float, float]]:
    """Yield C and its score on a third of the training rows."""
    some, other = held_out_third(y)
    for C in costs:
        model = libsvm_fit(gram[np.ix_(some, some)], y[some], C)
        yield float(C), score(y[other], model.predict(gram[np.ix_(other, some)]))


def estimators() -> dict[str, Callable[[float | None], Any]]:
    """ICD and LIBLINEAR, at their default C or at another."""
    from sklearn.svm import LinearSVC

    return {
        "ICD": lambda C: ICDClassifier(C=HIK_COST if C is None else C),
        "LIBLINEAR": lambda C: LinearSVC(
            C=1.0 if C is None else C, dual=True, tol=0.1, random_state=0
        ),
    }


def choose_cost(make: Callable[[float], Any], X: Any, y: np.ndarray, costs: Any, score: Any) -> Any:
    """Return the C with the best score on a third of the training rows."""
    some, other = held_out_third(y)
    scores = [score(y[other], make(C).fit(X[some], y[some]).predict(X[other])) for C in costs]
    return costs[int(np.argmax(scores))]
