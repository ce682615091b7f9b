"""Which points of two sets the pyramid match pairs, and at which level."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from visualwords.codebook.partition import refine
from visualwords.codebook.point_sets import as_feature_sets
from visualwords.codebook.pyramid_bins import GridBins

__all__ = ["Matches", "match_points"]


@dataclass(frozen=True)
class Matches:
    """Pairs of points, from the finest level to the coarsest.

    Attributes
    ----------
    first, second : (n_pairs,) int64
        Numbers of the matched points in the two sets; no point occurs twice.
    levels : (n_pairs,) int64
        The finest level on which both are in one bin, of those not taken there by others.
    weights : (n_pairs,) float64
        What the pair adds to the kernel: 1/2^level.
    top_level : int
        L; pairs of this level have no smaller bin in common.
    """

    first: np.ndarray
    second: np.ndarray
    levels: np.ndarray
    weights: np.ndarray
    top_level: int

    def __repr__(self) -> str:
        return f"<Matches: {len(self)} pairs, similarity {self.similarity:.4g}>"

    def __len__(self) -> int:
        return len(self.first)

    @property
    def similarity(self) -> float:
        """The pyramid match of the two sets, before normalisation."""
        return float(self.weights.sum())


def match_points(
    first: Any,
    second: Any,
    *,
    side: int | None = None,
    finest_level: int = 0,
    random_state: Any = 0,
) -> Matches:
    """Return the correspondences that the pyramid match implies between two sets.

    From fine to coarse, points that are in one bin and not yet matched are matched. As many pairs
    come up at each level as the kernel counts new matches N_i ([Grauman06], Eq. 5), so that the
    pairs' weights add up to the kernel's value.

    Parameters
    ----------
    first, second : (n, d) and (m, d) arrays of numbers ≥ 0
    side, finest_level, random_state :
        As in :func:`visualwords.classifiers.kernels.pyramid_match`, with one shift.

    Returns
    -------
    Matches
        min(n, m) pairs.

    Notes
    -----
    Deviations from the paper: it leaves open which of several points in a bin belong together.
    Here those with the least sum of distances do.

    References
    ----------
    .. [Grauman06] K. Grauman, T. Darrell, "Pyramid Match Kernels: Discriminative Classification
       with Sets of Image Features", MIT-CSAIL-TR-2006-020.

    Examples
    --------
    >>> import numpy as np
    >>> found = match_points(np.array([[0], [9], [30]]), np.array([[31], [9]]), side=32)
    >>> found.first.tolist(), found.second.tolist(), found.levels[0].item()
    ([1, 2], [1, 0], 0)
    """
    sets = as_feature_sets([first, second], side)
    bins = GridBins(sets.side, 1, finest_level, random_state).fit(sets.points)
    steps = bins.steps(0)
    found = refine(sets.points, bins.origin(0), sets.owners, steps, least=2, boundary=1)
    cells = [(step.level, step.weight, _split(b.tags, b.starts)) for step, b in found]
    top_level = max([step.level for step in steps], default=finest_level - 1) + 1
    everything = np.arange(len(sets.points))
    cells.insert(0, (top_level, bins.top_weight, [everything]))
    gained = np.cumsum([weight for _, weight, _ in cells])
    free = np.ones(len(sets.points), bool)
    pairs, levels, weights = [np.empty((0, 2), np.int64)], [], []
    for (level, weight, groups), total in zip(cells[::-1], gained[::-1], strict=True):
        if weight == 0:
            continue  # a step on the way to a level
        new = [_pair_up(sets.points, rows[free[rows]], len(sets[0]), free) for rows in groups]
        pairs += new
        count = sum(map(len, new))
        levels += [level] * count
        weights += [total] * count
    joined = np.concatenate(pairs)
    return Matches(
        joined[:, 0],
        joined[:, 1] - len(sets[0]),
        np.array(levels, np.int64),
        np.array(weights, np.float64),
        top_level,
    )


def _split(tags: np.ndarray, starts: np.ndarray) -> list[np.ndarray]:
    """The numbers of the points in every bin."""
    rows = (tags & np.uint64(0xFFFFFFFF)).astype(np.int64)
    return [rows[starts[b] : starts[b + 1]] for b in range(len(starts) - 1)]


def _pair_up(points: np.ndarray, rows: np.ndarray, n_first: int, free: np.ndarray) -> np.ndarray:
    """Pair the free points of one bin across the two sets; mark them as taken."""
    left, right = rows[rows < n_first], rows[rows >= n_first]
    if not len(left) or not len(right):
        return np.empty((0, 2), np.int64)
    a, b = points[left].astype(np.float64), points[right].astype(np.float64)
    squared = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * a @ b.T
    i, j = linear_sum_assignment(np.sqrt(squared.clip(0)))
    pairs = np.stack([left[i], right[j]], axis=1)
    free[pairs] = False
    return pairs
