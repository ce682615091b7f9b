"""What sets have in common in many bins: by lists of the sets in a bin, or by whole columns."""

import numpy as np

from visualwords.classifiers.kernels._shared_bins import add_common_counts, list_by_set
from visualwords.classifiers.kernels.level_gram import level_gram
from visualwords.codebook.pyramid_match import Bins

_MINIMA_A_STEP = 25  # bytes that whole columns compare while lists take one step
_FEW_SETS = 64  # below this, lists only
_LARGEST_COUNT = np.iinfo(np.uint16).max


def add_shared_counts(bins: Bins, boundary: int, weight: float, gram: np.ndarray) -> None:
    """Add weight · Σ_bins min(count of s, count of t) to ``gram[s, t]``.

    Bins with many sets become columns of bytes, which the processor compares 16 to 64 at a time;
    of others, only the pairs of sets in them are visited.

    Parameters
    ----------
    bins : Bins
    boundary : int
        0: a symmetric matrix, of which only the part above the diagonal is filled. Otherwise rows
        are the sets below it, and columns the others.
    weight : float
    gram : (n, m) float64, changed in place

    Examples
    --------
    >>> import numpy as np
    >>> one = Bins(*[np.empty(0)] * 4, np.array([0, 2]), np.array([0, 1], np.int32),
    ...            np.array([5, 3], np.int32))
    >>> gram = np.zeros((2, 2))
    >>> add_shared_counts(one, 0, 0.5, gram)
    >>> gram.tolist()
    [[0.0, 1.5], [0.0, 0.0]]
    """
    crowded = _crowded(bins, boundary, gram.shape)
    in_crowd = np.repeat(crowded, np.diff(bins.member_starts))
    if crowded.any():
        columns = _columns(
            bins, crowded, in_crowd, gram.shape[0] if not boundary else sum(gram.shape)
        )
        if boundary:
            gram += weight * level_gram(columns[:boundary], columns[boundary:])
        else:
            gram += weight * np.triu(level_gram(columns), 1)
    starts = np.concatenate([[0], np.cumsum(np.diff(bins.member_starts)[~crowded])])
    sets, counts = bins.sets[~in_crowd], bins.counts[~in_crowd]
    n_sets = gram.shape[0] + (gram.shape[1] if boundary else 0)
    lists = list_by_set(starts, sets, counts, n_sets, boundary)
    add_common_counts(*lists, sets, counts, boundary, weight, gram)


def _crowded(bins: Bins, boundary: int, shape: tuple[int, ...]) -> np.ndarray:
    """Which bins hold so many sets that whole columns are faster than lists."""
    sizes = np.diff(bins.member_starts)
    if min(shape) < _FEW_SETS or not len(sizes):
        return np.zeros(len(sizes), bool)
    if boundary:
        before = np.concatenate([[0], np.cumsum(bins.sets < boundary)])[bins.member_starts]
        pairs = np.diff(before) * (sizes - np.diff(before))
    else:
        pairs = sizes * sizes
    largest = np.maximum.reduceat(bins.counts, bins.member_starts[:-1])
    return (pairs * _MINIMA_A_STEP >= shape[0] * shape[1]) & (largest <= _LARGEST_COUNT)


def _columns(bins: Bins, chosen: np.ndarray, members: np.ndarray, n_sets: int) -> np.ndarray:
    """The counts in chosen bins, a row for every set and a column for every bin."""
    sizes = np.diff(bins.member_starts)[chosen]
    counts = bins.counts[members]
    kind = np.uint8 if counts.max() <= 255 else np.uint16
    columns = np.zeros((n_sets, len(sizes)), kind)
    columns[bins.sets[members], np.repeat(np.arange(len(sizes)), sizes)] = counts
    return columns
