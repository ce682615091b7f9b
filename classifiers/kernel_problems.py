"""Several classes as two-class problems for a kernel SVM, and labels from their scores."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from visualwords.classifiers import one_vs_rest


class Problem(NamedTuple):
    """Which samples take part (None: all) and their signs."""

    samples: np.ndarray | None
    signs: np.ndarray


def problems(codes: np.ndarray, n_classes: int, multi_class: str) -> list[Problem]:
    """Return one problem per class ("ovr") or per pair of classes ("ovo", first one positive).

    Two classes are one problem, in which the second class is positive.

    Examples
    --------
    >>> [p.samples.tolist() for p in problems(np.array([0, 1, 2]), 3, "ovo")]
    [[0, 1], [0, 2], [1, 2]]
    """
    if multi_class == "ovr" or n_classes == 2:
        signs = one_vs_rest.signs(codes, n_classes).astype(np.float64)
        return [Problem(None, row) for row in signs]
    pairs = []
    for a, b in combinations(range(n_classes), 2):
        samples = np.flatnonzero((codes == a) | (codes == b))
        pairs.append(Problem(samples, np.where(codes[samples] == a, 1.0, -1.0)))
    return pairs


def how_many(n_classes: int, multi_class: str) -> int:
    """Return the number of problems.

    Examples
    --------
    >>> how_many(2, "ovo"), how_many(4, "ovo"), how_many(4, "ovr")
    (1, 6, 4)
    """
    if n_classes == 2:
        return 1
    return n_classes if multi_class == "ovr" else n_classes * (n_classes - 1) // 2


def votes(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """Return votes of all pairs, ties decided by the sum of their scores (squashed to ±1/3).

    Parameters
    ----------
    scores : (n, n_classes (n_classes − 1) / 2), positive for the first class of a pair

    Examples
    --------
    >>> int(votes(np.array([[1.0, 2.0, -1.0]]), 3).argmax())
    0
    """
    total = np.zeros((len(scores), n_classes))
    margin = np.zeros_like(total)
    for column, (a, b) in zip(scores.T, combinations(range(n_classes), 2)):
        total[:, a] += column > 0
        total[:, b] += column <= 0
        margin[:, a] += column
        margin[:, b] -= column
    return total + margin / (3 * (np.abs(margin) + 1))


def join(solved: Sequence[tuple[Problem, np.ndarray]], n: int) -> np.ndarray:
    """Return the coefficients of all problems over all n samples, shape (problems, n)."""
    table: Any = np.zeros((len(solved), n))
    for row, (problem, coefficients) in zip(table, solved):
        row[slice(None) if problem.samples is None else problem.samples] = coefficients
    return table
