"""Compiled loops of one row against many that are stored by columns.

columns : (d, n), the values of one feature of all n rows beside each other. The loops run along
them, so that they need no reduction, and skip the features that the row does not have.
"""

import math

from visualwords.compiled import njit

RECOMPUTE_BELOW = 2.5e-3  # share of ‖x‖² + ‖y‖² below which their difference has lost digits


@njit()
def add_minima(x, columns, out):
    """out[j] += sum_k min(x[k], columns[k, j]) of values with the same sign  [Li16, Eq. (1)]."""
    for k in range(x.size):
        value, column = x[k], columns[k]
        if value > 0.0:
            for j in range(out.size):
                y = column[j] if column[j] > 0.0 else 0.0
                out[j] += y if y < value else value
        elif value < 0.0:
            for j in range(out.size):
                y = -column[j] if column[j] < 0.0 else 0.0
                out[j] += y if y < -value else -value


@njit()
def add_harmonic(x, columns, out):
    """out[j] += sum_k 2 x[k] y / (x[k] + y) of values y = columns[k, j] with the same sign."""
    for k in range(x.size):
        value, column = x[k], columns[k]
        if value > 0.0:
            for j in range(out.size):
                y = column[j] if column[j] > 0.0 else 0.0
                out[j] += 2.0 * value * y / (value + y)
        elif value < 0.0:
            for j in range(out.size):
                y = -column[j] if column[j] < 0.0 else 0.0
                out[j] += -2.0 * value * y / (y - value)


@njit()
def add_products(x, columns, out):
    """out[j] += sum_k x[k] columns[k, j]."""
    for k in range(x.size):
        if x[k] != 0.0:
            for j in range(out.size):
                out[j] += x[k] * columns[k, j]


@njit()
def to_distances(products, x, columns, own, squares):
    """Overwrite inner products by ‖x − y_j‖; short distances are summed from the differences.

    own : ‖x‖²     squares : (n,) ‖y_j‖²
    """
    for j in range(products.size):
        squared = own + squares[j] - 2.0 * products[j]
        if squared < RECOMPUTE_BELOW * (own + squares[j]):
            squared = 0.0
            for k in range(x.size):
                difference = x[k] - columns[k, j]
                squared += difference * difference
        products[j] = math.sqrt(squared)


@njit()
def add_entropy(x, columns, out):
    """out[j] += sum_k x/2 log2((x + y)/x) + y/2 log2((x + y)/y) of values with the same sign."""
    half = 0.5 / math.log(2.0)
    for k in range(x.size):
        value, sign = abs(x[k]), math.copysign(1.0, x[k])
        if value == 0.0:
            continue
        for j in range(out.size):
            y = sign * columns[k, j]
            if y > 0.0:
                both = math.log(value + y)
                out[j] += half * (value * (both - math.log(value)) + y * (both - math.log(y)))
