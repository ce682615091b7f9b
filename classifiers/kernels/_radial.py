"""Loops over the products of rows that become kernel values, in place."""

import numpy as np

from visualwords.compiled import njit

_BLOCK = 1024  # numbers that stay in the first-level cache while they are multiplied


@njit()
def raise_products(values, gamma, exponent):
    """values = (1 + gamma values) ** exponent, by squaring; a whole exponent of at least 1.

    values : (m,) float64
    """
    square, power = np.empty(_BLOCK), np.empty(_BLOCK)
    for start in range(0, values.size, _BLOCK):
        part = values[start : start + _BLOCK]
        for i in range(part.size):
            square[i] = gamma * part[i] + 1.0
            power[i] = square[i] if exponent % 2 else 1.0
        left = exponent // 2
        while left:
            for i in range(part.size):
                square[i] *= square[i]
            if left % 2:
                for i in range(part.size):
                    power[i] *= square[i]
            left //= 2
        for i in range(part.size):
            part[i] = power[i]
