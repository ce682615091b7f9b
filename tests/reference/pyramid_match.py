"""The pyramid match by its definition: dictionaries of bins, one pair and one level at a time."""

from collections import Counter

import numpy as np


def histogram(points, shift, level):
    """H_level of one set: how many points are in each bin of side 2^level."""
    return Counter(tuple((row + shift) >> level) for row in np.asarray(points, dtype=np.int64))


def intersection(y, z):
    """Eq. 4 of the paper."""
    return sum(min(count, z[bin_]) for bin_, count in y.items())


def match_once(y, z, shift, top_level, finest_level=0):
    """Eq. 6 of the paper, with one bin for everything at the top level."""
    total, before = 0.0, 0
    for level in range(finest_level, top_level + 1):
        if level == top_level:
            now = min(len(y), len(z))
        else:
            now = intersection(histogram(y, shift, level), histogram(z, shift, level))
        total += (now - before) / 2**level
        before = now
    return total


def match(y, z, shifts, top_level, finest_level=0):
    """Σ over shifts of Eq. 6."""
    return sum(match_once(y, z, shift, top_level, finest_level) for shift in shifts)
