"""The pyramid match: how well two sets of points, of any sizes, can be matched.

References
----------
.. [Grauman06] K. Grauman, T. Darrell, "Pyramid Match Kernels: Discriminative Classification with
   Sets of Image Features", MIT-CSAIL-TR-2006-020.
"""

from typing import Any

import numpy as np

from visualwords.codebook.feature_sets import as_feature_sets
from visualwords.codebook.grid_bins import GridBins, refine
from visualwords.compiled import njit
from visualwords.estimator import Seed

NORMALIZATIONS = ("min_cardinality", "self", None)


def pyramid_match(
    sets: Any,
    other: Any = None,
    n_shifts: int = 1,
    normalization: str | None = "min_cardinality",
    random_state: Seed = 0,
    *,
    side: int | None = None,
    finest_level: int = 0,
) -> np.ndarray:
    """The pyramid match of all pairs of sets: Σ_i 1/2^i · (new matches in bins of side 2^i).

    K̃(y, z) = Σ_i 1/2^i (I(H_i(y), H_i(z)) − I(H_{i−1}(y), H_{i−1}(z)))      [Grauman06], Eq. 6

    H_i counts the points of a set in bins of side 2^i, I sums the minima of two histograms. Time
    grows linearly with the number of points, and with the matches there are.

    Parameters
    ----------
    sets : FeatureSets, or sequence of (n_i, d) arrays
        Any sizes, also 0. Fractions of coordinates are cut off: the finest bin has side 1.
    other : likewise, optional
        The columns; by default ``sets``.
    n_shifts : int, default 1
        T: the results of this many randomly shifted pyramids are added up.
    normalization : {"min_cardinality", "self", None}, default "min_cardinality"
        Divide K̃ by the size of the smaller set; by √(K̃(y, y) K̃(z, z)); or not. An empty set
        matches nothing: 0.
    random_state : int, RandomState or None, default 0
        Seed of the shifts. Gram matrices that are used together need the same seed.
    side : int, optional, keyword only
        D, the range of coordinates: L = ⌈log₂ D⌉ levels are counted. By default the sets' own (of
        an encoder's sets), else one more than the largest coordinate of ``sets`` and ``other``;
        give it where Gram matrices must belong together. Points beyond are no error: they match
        in the bins they are in, and all in the one bin of level L.
    finest_level : int, default 0
        Smallest bins have side 2^finest_level. With 0, the paper's, real features hardly ever
        meet in the finest bins, and the diagonal dominates.

    Returns
    -------
    (n, m) float64
        Sums of integers times powers of two: exact before normalisation.

    Notes
    -----
    Deviations from the paper: see :class:`visualwords.codebook.grid_bins.GridBins` for shifts.
    K̃ and "self" are positive semi-definite. "min_cardinality" is so for sets of equal size, but
    *not* in general, although Section 3.3 claims it: of {a}, {b} and {a, b}, the first two match
    the third fully and each other not at all, and the determinant is −1.

    Examples
    --------
    >>> import numpy as np
    >>> near, far = np.array([[0, 0], [7, 7]]), np.array([[1, 0], [100, 100], [50, 0]])
    >>> pyramid_match([near, far], normalization=None, random_state=1)
    array([[2.       , 0.2578125],
           [0.2578125, 3.       ]])
    """
    if normalization not in NORMALIZATIONS:
        raise ValueError(f"normalization={normalization!r}: choose one of {NORMALIZATIONS}")
    rows = as_feature_sets(sets, side)
    columns = rows if other is None else as_feature_sets(other, side)
    points = rows.points if other is None else _join(rows.points, columns.points)
    reach = max(rows.side, columns.side)
    bins = GridBins(reach, n_shifts, finest_level, random_state).fit(points)
    symmetric = other is None
    owners = rows.owners
    if not symmetric:
        owners = np.concatenate([owners, columns.owners + np.int32(len(rows))])
    gram = np.zeros((len(rows), len(columns)))
    for layer in range(bins.n_shifts):
        _add_layer(bins, layer, points, owners, symmetric, gram)
    if symmetric:
        gram += gram.T
        np.fill_diagonal(gram, bins.n_shifts * (bins.own_weight - bins.top_weight) * rows.sizes)
    smaller = np.minimum.outer(rows.sizes, columns.sizes)
    gram += bins.n_shifts * bins.top_weight * smaller
    if normalization == "min_cardinality":
        gram /= np.maximum(smaller, 1)
    elif normalization == "self":
        # every point of a set meets itself in the finest bins, so K̃(y, y) = own_weight · |y|
        gram /= bins.own_weight * np.sqrt(np.outer(rows.sizes, columns.sizes).clip(1))
    return gram


def _add_layer(
    bins: GridBins,
    layer: int,
    points: np.ndarray,
    owners: np.ndarray,
    symmetric: bool,
    gram: np.ndarray,
) -> None:
    """Add one pyramid's matches below the top bin; if symmetric, above the diagonal."""
    boundary = 0 if symmetric else gram.shape[0]
    origin, steps = bins.origin(layer), bins.steps(layer)
    for step, found in refine(points, origin, owners, steps, least=2, boundary=boundary):
        if step.weight:
            n_sets = gram.shape[0] + (gram.shape[1] if boundary else 0)
            members = found.sets, found.counts
            lists = list_by_set(found.member_starts, *members, n_sets, boundary)
            add_common_counts(*lists, *members, boundary, step.weight, gram)


def _join(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Concatenate the points of both sides; either side may have none."""
    if len(points) and len(others) and points.shape[1] != others.shape[1]:
        raise ValueError(
            f"points of {points.shape[1]} dimensions can't match points of {others.shape[1]}"
        )
    return np.concatenate([part for part in (points, others) if len(part)] or [points])


@njit()
def list_by_set(member_starts, sets, counts, n_sets, boundary):
    """For every set, its bins: its count there, and which members of the bin come after it.

    boundary : if > 0, only members of sets >= boundary come after, and lists of others are empty
    returns (n_sets + 1,) starts of the lists, and (first, end, count) of their entries
    """
    list_starts = np.zeros(n_sets + 1, np.int64)
    for m in range(sets.size):
        list_starts[sets[m] + 1] += 1
    for s in range(n_sets):
        list_starts[s + 1] += list_starts[s]
    place = list_starts[:-1].copy()
    entries = np.empty((sets.size, 3), np.int32)
    for b in range(member_starts.size - 1):
        begin, end = member_starts[b], member_starts[b + 1]
        others = begin
        while boundary > 0 and others < end and sets[others] < boundary:
            others += 1
        for m in range(begin, end):
            where = place[sets[m]]
            entries[where, 0], entries[where, 1] = max(m + 1, others), end
            entries[where, 2] = counts[m]
            place[sets[m]] += 1
    return list_starts, entries


@njit()
def add_common_counts(list_starts, entries, sets, counts, boundary, weight, gram):
    """gram[s, t] += weight · Σ_bins min(count of s, count of t).

    boundary : 0, then only t > s; else column t is the set boundary + t
    """
    common = np.zeros(gram.shape[1], np.int32)
    for s in range(gram.shape[0]):
        common[:] = 0
        for e in range(list_starts[s], list_starts[s + 1]):
            count = entries[e, 2]
            for m in range(np.uint32(entries[e, 0]), np.uint32(entries[e, 1])):
                common[np.uint32(sets[m] - boundary)] += min(count, counts[m])
        for t in range(gram.shape[1]):
            gram[s, t] += weight * common[t]
