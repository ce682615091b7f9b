"""Compiled search in hash tables of GCWS codes: look up, compare exactly, keep the best."""

import numpy as np

from visualwords.compiled import njit


@njit()
def _insert(i, s, best, scores):
    """Put item i of similarity s into the k best, highest first, equal ones by number."""
    at = best.size - 1
    if s < scores[at] or (s == scores[at] and i > best[at]):
        return
    while at > 0 and (s > scores[at - 1] or (s == scores[at - 1] and i < best[at - 1])):
        best[at], scores[at] = best[at - 1], scores[at - 1]
        at -= 1
    best[at], scores[at] = i, s


@njit()
def _similarity(i, indptr, indices, data, masses, query, mass):
    """Sum of minima over sum of maxima of stored row i and the query  [Li16, Eq. (2)]."""
    shared = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        shared += min(data[p], query[indices[p]])
    maxima = masses[i] + mass - shared
    return shared / maxima if maxima > 0 else 0.0


@njit()
def _count(key, tables, order, counts, touched):
    """counts[i] += 1 for every table in which row i shares the bucket; return how many rows do."""
    found = 0
    for table in range(key.size):
        at = np.searchsorted(tables[table], key[table])
        while at < tables.shape[1] and tables[table, at] == key[table]:
            i = order[table, at]
            if counts[i] == 0:
                touched[found] = i
                found += 1
            counts[i] += 1
            at += 1
    return found


@njit()
def _least_count(counts, touched, found, limit, at_least, histogram):
    """The least count whose rows number ``limit`` or fewer, but no fewer than ``at_least``."""
    histogram[:] = 0
    for at in range(found):
        histogram[counts[touched[at]]] += 1
    taken = 0
    for least in range(histogram.size - 1, 0, -1):
        if taken >= at_least and taken + histogram[least] > limit:
            return least + 1
        taken += histogram[least]
    return 1


@njit()
def search_rows(queries, keys, buckets, rows, limit, answers):
    """For every query the k best of the rows that share the most buckets with it.

    queries : CSR indptr, indices, data, width, and the sums of the rows
    keys : (n_queries, T) uint64, their buckets
    buckets : tables, order, (T, n) sorted keys and whose they are
    rows : CSR indptr, indices, data, and the sums of the rows     limit : rows to compare at most
    answers : best and scores, (n_queries, k)

    If fewer than k share a bucket, all rows are compared.
    """
    tables, order = buckets
    best, scores = answers
    masses = rows[3]
    query = np.zeros(queries[3], np.float32)
    counts, touched = np.zeros(masses.size, np.int32), np.empty(masses.size, np.int64)
    histogram = np.empty(keys.shape[1] + 1, np.int64)
    for q in range(best.shape[0]):
        start, stop = queries[0][q], queries[0][q + 1]
        query[queries[1][start:stop]] = queries[2][start:stop]
        best[q] = masses.size
        scores[q] = -1.0
        found = _count(keys[q], tables, order, counts, touched)
        least = _least_count(counts, touched, found, limit, best.shape[1], histogram)
        if found < best.shape[1]:
            found, least = masses.size, 0
            touched[:] = np.arange(masses.size)
        for at in range(found):
            i = touched[at]
            if counts[i] >= least:
                s = _similarity(i, rows[0], rows[1], rows[2], masses, query, queries[4][q])
                _insert(i, s, best[q], scores[q])
            counts[i] = 0
        query[queries[1][start:stop]] = 0
