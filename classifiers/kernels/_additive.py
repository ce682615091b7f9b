"""Compiled loop of additive kernels that vanish where either value is zero."""

import math

from visualwords.compiled import njit

HARMONIC, POWER, ENTROPY = 0, 1, 2


@njit()
def _term(kind, x, y, p):
    """One feature's share of the kernel  [YangWu12, Eq. (4) and Sec. 3].

    HARMONIC : 2xy/(x + y)     ENTROPY : x/2 log2((x + y)/x) + y/2 log2((x + y)/y)
    POWER : ((e^px + e^py)/2)^(1/p), values given as logarithms; the smaller one is taken out of
    the mean so that no power overflows
    """
    if kind == HARMONIC:
        return 2.0 * x * y / (x + y)
    if kind == POWER:
        mean = 0.5 * (1.0 + math.exp(p * abs(x - y)))
        return math.exp(min(x, y) + math.log(mean) / p)
    return 0.5 / math.log(2.0) * (x * math.log1p(y / x) + y * math.log1p(x / y))


@njit()
def additive_rows(
    kind, p, indptr, indices, data, lists, members, values, first, last, symmetric, out
):
    """out[i, j] = sum of the terms of the features that rows i of x and j of y both have.

    indptr, indices, data : CSR of x     lists, members, values : CSC of y, members ascending
    Rows first … last − 1 are filled, of a symmetric matrix only j <= i.
    """
    out[first:last] = 0
    for i in range(first, last):
        for at in range(indptr[i], indptr[i + 1]):
            k, x = indices[at], data[at]
            for q in range(lists[k], lists[k + 1]):
                if symmetric and members[q] > i:
                    break
                out[i, members[q]] += _term(kind, x, values[q], p)


@njit()
def additive_pairs(kind, p, x, y, out):
    """out[i, j] = the term of two numbers x[i] and y[j]; 0 where one of them is.

    x, y : for POWER, logarithms, −inf of 0
    """
    zero = -math.inf if kind == POWER else 0.0
    for i in range(x.size):
        for j in range(y.size):
            out[i, j] = _term(kind, x[i], y[j], p) if x[i] > zero and y[j] > zero else 0.0
