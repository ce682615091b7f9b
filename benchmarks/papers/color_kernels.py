"""Kernels of colour histograms with their parameter and C chosen on the training half.

What the experiments of the GCS paper share.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers.lab import Lab
from visualwords.classifiers import KernelSVC, kernels

A = 0.25  # [Boughorbel06], Sec. 5
ZEROS = 0.9  # of the Gram matrix of CS, likewise
COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0)  # of Gram matrices scaled to a diagonal of one
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # of the median distance
Candidates = dict[str, Callable[[], np.ndarray]]  # a parameter's text → the Gram matrix of all


class Choice(NamedTuple):
    """The parameters with the least error in training folds."""

    validation: float
    parameter: str
    C: float
    gram: np.ndarray


def halves(lab: Lab, y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train and to test on."""
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(y))
    train, test = train_test_split(rows, test_size=0.5, stratify=y, random_state=seed)
    return train, test


def sparse_radius(X: np.ndarray, zeros: float = ZEROS) -> float:
    """Return the radius beyond which (times two) this share of all pairs of samples lies."""
    from scipy.spatial.distance import pdist

    n = len(X)
    # The diagonal's n entries are never zero, so a little less of the rest may be non-zero.
    share = ((1 - zeros) * n * n - n) / (n * n - n)
    return float(np.quantile(pdist(X**A), max(share, 0.0)) / 2)


def candidates(X: np.ndarray, train: np.ndarray, quick: bool) -> dict[str, Candidates]:
    """Return for every kernel its parameters and how to get the Gram matrix of all samples."""
    from scipy.spatial.distance import pdist

    scales = np.median(pdist(X[train] ** A)) * np.array(FACTORS[1::2] if quick else FACTORS)
    radius = sparse_radius(X[train])

    def over(name: str, key: str, values: Any, **fixed: float) -> Candidates:
        function = getattr(kernels, name)
        return {
            f"{key} = {value:.3g}": partial(function, X, a=A, **{key: value}, **fixed)
            for value in values
        }

    return {
        "Laplace": over("laplace", "sigma", scales),
        "GCS": over("gcs", "radius", scales),
        "polynomial": over("polynomial", "degree", (1, 2, 3, 4, 6, 8)),
        "CS": over("cs", "sigma", scales, radius=radius),
        "CS as printed": {f"sigma = {s:.3g}": partial(cs_as_printed, X, radius, s) for s in scales},
        "HIK": {"": lambda: kernels.intersection(X**A)},
        "NGMM": {"": lambda: kernels.ngmm(X**A)},
    }


def cs_as_printed(X: np.ndarray, radius: float, sigma: float) -> np.ndarray:
    """CS with the recursion of Eq. (4) as printed: twice φ₂ adds a tail of Φ₂ to Φ₆₄."""
    tail = 0.5 * np.prod([(k - 1) / k for k in range(4, X.shape[1] + 1, 2)])
    balls = kernels.gcs(X, a=A, radius=radius) + tail * kernels.circular(X, a=A, radius=radius)
    return balls * kernels.laplace(X, a=A, sigma=sigma)


def predict(gram: np.ndarray, y: np.ndarray, C: float, train: Any, test: Any) -> np.ndarray:
    """Return the labels of some samples after training on others."""
    model = KernelSVC("precomputed", C=C).fit(gram[np.ix_(train, train)], y[train])
    return model.predict(gram[np.ix_(test, train)])


def error(gram: np.ndarray, y: np.ndarray, C: float, train: Any, test: Any) -> float:
    """Return the error in percent."""
    return 100 * float(np.mean(predict(gram, y, C, train, test) != y[test]))


def choose(options: Candidates, y: np.ndarray, train: np.ndarray, seed: int) -> Choice:
    """Choose the parameter and C in three folds of the training half."""
    from sklearn.model_selection import StratifiedKFold

    folds = list(StratifiedKFold(3, shuffle=True, random_state=seed).split(train, y[train]))
    found = []
    for parameter, compute in options.items():
        gram = np.asarray(compute(), dtype=np.float64)
        gram /= np.diag(gram).mean()
        for C in COSTS:
            errors = [error(gram, y, C, train[a], train[b]) for a, b in folds]
            found.append(Choice(float(np.mean(errors)), parameter, C, gram))
    return min(found, key=lambda choice: choice.validation)
