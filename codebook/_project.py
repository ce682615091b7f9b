"""Loops over descriptors, with sums in a fixed order: one image gives what a batch gives."""

import numpy as np

from visualwords.compiled import njit


@njit()
def project_rows(x, axes, offset, out):
    """out[i] = x[i] @ axes - offset.

    x : (n, d)    axes : (d, m) float32, C order    offset : (m,) float32    out : (n, m) float32
    """
    total = np.empty(axes.shape[1], np.float32)
    for i in range(x.shape[0]):
        total[:] = -offset
        for k in range(x.shape[1]):
            value = np.float32(x[i, k])
            for j in range(total.size):
                total[j] += value * axes[k, j]
        out[i] = total


@njit()
def find_blank(x, blank):
    """blank[i] = whether all of x[i] is 0."""
    for i in range(x.shape[0]):
        blank[i] = True
        for k in range(x.shape[1]):
            if x[i, k] != 0:
                blank[i] = False
                break
