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
