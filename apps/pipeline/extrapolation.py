"""What a model of all training images would say of new ones, from models without them."""

from collections.abc import Callable

import numpy as np

from visualwords.parallel import map_in_threads

__all__ = ["measure_held_out"]

Measure = Callable[[np.ndarray, np.ndarray], np.ndarray]


def measure_held_out(measure: Measure, folds: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """Return what is measured of images by what was learned without their fold, as if from all.

    What is learned from all folds is nearer to a new image than what is learned from all but one.
    With m of the k folds instead of k − 1 it is farther still; a distance that falls like a + b/n
    with the number n of images to learn from would be

        d(k) = d(k − 1) − (d(m) − d(k − 1)) · m / (k (k − 1 − m)).

    Here m is half of k − 1.

    Parameters
    ----------
    measure : callable
        Given the positions of images to learn from and of images to measure, returns an array
        whose rows are those of the latter.
    folds : (n,) int

    Examples
    --------
    >>> def far(learn_from, of):
    ...     return np.full(len(of), 3 + 60 / len(learn_from))
    >>> measure_held_out(far, np.arange(30) % 5)[:2].round(6).tolist()  # 3 + 60 / 30
    [5.0, 5.0]
    """
    names = np.unique(folds)
    k = len(names)
    m = (k - 1) // 2
    found: dict[int, np.ndarray] = {}

    def one(number: int) -> None:
        members = np.flatnonzero(folds == names[number])
        most = measure(np.flatnonzero(folds != names[number]), members)
        if m:
            some = np.take(names, range(number + 1, number + 1 + m), mode="wrap")
            half = measure(np.flatnonzero(np.isin(folds, some)), members)
            most = most - (half - most) * (m / (k * (k - 1 - m)))
        found[number] = most

    map_in_threads(one, range(k), n_jobs)
    result = np.zeros((len(folds), *found[0].shape[1:]))
    for number, values in found.items():
        result[folds == names[number]] = values
    return result
