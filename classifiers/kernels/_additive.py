"""Compiled loops of additive kernels that vanish where either value is zero.

x is CSR, y is CSC with ascending members; rows ``first … last − 1`` of ``out`` are filled, of a
symmetric matrix only j <= i.
"""

import math

from visualwords.compiled import njit


@njit()
def harmonic_rows(indptr, indices, data, lists, members, values, first, last, symmetric, out):
    """out[i, j] = sum_k 2 x y / (x + y)  [YangWu12, Eq. (4), p = −1]."""
    out[first:last] = 0
    for i in range(first, last):
        for at in range(indptr[i], indptr[i + 1]):
            k, x = indices[at], data[at]
            for q in range(lists[k], lists[k + 1]):
                if symmetric and members[q] > i:
                    break
                out[i, members[q]] += 2.0 * x * values[q] / (x + values[q])


@njit()
def power_rows(indptr, indices, data, lists, members, values, first, last, symmetric, out, p):
    """out[i, j] = sum_k ((x^p + y^p)/2)^(1/p) of values given as logarithms  [YangWu12, Eq. (4)].

    The smaller value is taken out of the mean, so that no power overflows.
    """
    out[first:last] = 0
    for i in range(first, last):
        for at in range(indptr[i], indptr[i + 1]):
            k, x = indices[at], data[at]
            for q in range(lists[k], lists[k + 1]):
                if symmetric and members[q] > i:
                    break
                y = values[q]
                mean = 0.5 * (1.0 + math.exp(p * abs(x - y)))
                out[i, members[q]] += math.exp(min(x, y) + math.log(mean) / p)


@njit()
def entropy_rows(indptr, indices, data, lists, members, values, first, last, symmetric, out):
    """out[i, j] = sum_k x/2 log2((x + y)/x) + y/2 log2((x + y)/y)  [YangWu12, Sec. 3]."""
    out[first:last] = 0
    for i in range(first, last):
        for at in range(indptr[i], indptr[i + 1]):
            k, x = indices[at], data[at]
            for q in range(lists[k], lists[k + 1]):
                if symmetric and members[q] > i:
                    break
                y = values[q]
                terms = x * math.log1p(y / x) + y * math.log1p(x / y)
                out[i, members[q]] += 0.5 / math.log(2.0) * terms
