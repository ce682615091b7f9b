"""Beginning a training where an earlier one on other samples or classes ended."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.tables import additive_tables


@dataclass(frozen=True)
class EarlierTraining:
    """What a later training can begin from.

    Attributes
    ----------
    classes : (n_classes,)
    keys : (m,) uint64
        Names of the rows that took part, ascending.
    alpha : (n_problems, m) float64, or None after the primal solver
    offsets, values, heights :
        The tables, as in :func:`visualwords.classifiers.tables.additive_tables.expand_tables`.
    """

    classes: np.ndarray
    keys: np.ndarray
    alpha: np.ndarray | None
    offsets: np.ndarray
    values: np.ndarray
    heights: np.ndarray


def first_alpha(
    earlier: EarlierTraining, classes: np.ndarray, keys: np.ndarray, upper: np.ndarray
) -> np.ndarray | None:
    """Return the first α of all problems: the earlier one of rows that are back, otherwise 0.

    A class that is new begins at 0. Of two classes each has the earlier α of the one problem,
    since without a bias the machines of a class and of its opposite have the same.

    Parameters
    ----------
    earlier : EarlierTraining
    classes : (n_classes,)
        Of the new training.
    keys : (m,) uint64
        Of its rows.
    upper : (m,)
        Bounds of α.

    Returns
    -------
    (n_problems, m) float64, or None if the earlier training had no α
    """
    if earlier.alpha is None or earlier.keys.size == 0:
        return None
    place = np.minimum(np.searchsorted(earlier.keys, keys), earlier.keys.size - 1)
    back = earlier.keys[place] == keys
    start = np.zeros((1 if classes.size == 2 else classes.size, keys.size))
    for p, column in _same_problems(earlier, classes):
        start[p, back] = earlier.alpha[column, place[back]]
    return np.minimum(start, upper)


def first_tables(
    earlier: EarlierTraining, classes: np.ndarray, starts: np.ndarray, levels: np.ndarray
) -> np.ndarray:
    """Return first tables (n_problems, cells) at given levels of each feature.

    Parameters
    ----------
    earlier : EarlierTraining
    classes : (n_classes,)
        Of the new training.
    starts : (d + 1,)
        First cell of every feature.
    levels : (cells,)
        Level of every cell.
    """
    feature = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    level = levels.astype(np.int64)
    n_levels = int(level.max(initial=0)) + 1
    n_levels = max(n_levels, int(earlier.heights[-1]) + 1)
    full = additive_tables.expand_tables(earlier.offsets, earlier.values, earlier.heights, n_levels)
    start = np.zeros((1 if classes.size == 2 else classes.size, levels.size))
    for p, column in _same_problems(earlier, classes):
        sign = 1.0
        if earlier.classes.size == 2 and classes.size > 2 and classes[p] == earlier.classes[0]:
            sign = -1.0
        start[p] = sign * full[column][feature, level]
    return start


def join_samples(
    one: tuple[Any, np.ndarray, np.ndarray], other: tuple[Any, np.ndarray, np.ndarray]
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Put levels, labels and weights of two sets of samples together; sparse if both are."""
    labels, weights = (np.concatenate(pair) for pair in zip(one[1:], other[1:]))
    if sparse.issparse(one[0]) and sparse.issparse(other[0]):
        return sparse.vstack([one[0], other[0]], format="csr"), labels, weights
    dense = [part.toarray() if sparse.issparse(part) else part for part in (one[0], other[0])]
    return np.concatenate(dense), labels, weights


def _same_problems(earlier: EarlierTraining, classes: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of a problem now and the problem it was."""
    if classes.size == 2:
        return [(0, 0)] if np.array_equal(earlier.classes, classes) else []
    known = earlier.classes.tolist()
    pairs = []
    for p, name in enumerate(classes.tolist()):
        if name in known:
            pairs.append((p, 0 if len(known) == 2 else known.index(name)))
    return pairs
