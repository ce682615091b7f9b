"""Compiled loop of kernels that add up over features and vanish where either value is zero."""

import math

from visualwords.compiled import njit

MINIMUM, HARMONIC, POWER, ENTROPY = 0, 1, 2, 3


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
def list_rows(kind, p, rows, lists, first, last, symmetric, out):
    """out[i, j] = sum of the terms of the features that rows i of x and j of y both have.

    rows : indptr, indices, data of x by rows     lists : those of y by columns, rows ascending
    Rows first … last − 1 are filled, of a symmetric matrix only j <= i.
    """
    indptr, indices, data = rows
    starts, members, values = lists
    out[first:last] = 0
    for i in range(first, last):
        for at in range(indptr[i], indptr[i + 1]):
            k, x = indices[at], data[at]
            for q in range(starts[k], starts[k + 1]):
                if symmetric and members[q] > i:
                    break
                term = min(x, values[q]) if kind == MINIMUM else _term(kind, x, values[q], p)
                out[i, members[q]] += term
