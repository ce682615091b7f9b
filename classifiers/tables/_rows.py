"""Loops over the rows of a level matrix: numbers that name a row by its content."""

import numpy as np

from visualwords.compiled import njit


@njit()
def hash_rows(x, factors, out):
    """out[i] = sum_j x[i, j] factors[j] modulo 2**64; factors are odd random numbers."""
    for i in range(x.shape[0]):
        total = np.uint64(0)
        for j in range(x.shape[1]):
            total += np.uint64(x[i, j]) * factors[j]
        out[i] = total


@njit()
def hash_sparse_rows(data, indices, indptr, factors, out):
    """Likewise for a CSR matrix: the same numbers as of the dense one."""
    for i in range(indptr.size - 1):
        total = np.uint64(0)
        for k in range(indptr[i], indptr[i + 1]):
            total += np.uint64(data[k]) * factors[indices[k]]
        out[i] = total


@njit()
def sum_rows(x, out):
    """out[i] = sum_j x[i, j]."""
    for i in range(x.shape[0]):
        total = np.uint32(0)
        for j in range(x.shape[1]):
            total += np.uint32(x[i, j])
        out[i] = total


@njit()
def order_of(keys):
    """Positions of evenly spread numbers in ascending order, equal ones as they come.

    One counting pass by the highest bits leaves about one number to a bucket.
    """
    bits = np.uint64(8)
    while bits < np.uint64(20) and (1 << bits) < keys.size:
        bits += np.uint64(1)
    shift = np.uint64(64) - bits
    ends = np.zeros((np.int64(1) << np.int64(bits)) + 1, np.int64)
    for key in keys:
        ends[(key >> shift) + np.uint64(1)] += 1
    ends = np.cumsum(ends)
    order, starts = np.empty(keys.size, np.int64), ends.copy()
    for k in range(keys.size):
        b = keys[k] >> shift
        order[ends[b]] = k
        ends[b] += 1
    for b in range(starts.size - 1):
        sort_bucket(keys, order[starts[b] : starts[b + 1]])
    return order


@njit()
def sort_bucket(keys, order):
    """Order a few positions by their keys, by insertion; many by merging."""
    if order.size > 32:
        order[:] = order[np.argsort(keys[order], kind="mergesort")]
        return
    for k in range(1, order.size):
        moved, place = order[k], k
        while place > 0 and keys[order[place - 1]] > keys[moved]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = moved
