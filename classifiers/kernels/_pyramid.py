"""Loops that add up what sets have in common, bin by bin."""

import numpy as np

from visualwords.compiled import njit


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
