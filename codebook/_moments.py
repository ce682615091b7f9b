"""Loops of Fisher vectors: gradients of a window from sums over its cells, signed roots."""

import math

import numpy as np

from visualwords.compiled import njit


@njit(fastmath=True)
def fisher_gradients(zeroth, sums, shares, starts, members, constants, out):
    """Gradients of the log-likelihood of each window, from sums over the cells it is made of.

    zeroth : (n_cells, k), sums : (n_cells, k, 2, >= d) float32      shares : (n_windows,) float32
    starts, members : cells of window w are members[starts[w] : starts[w + 1]]
    constants : (4, k, d) float32: means, variances, factors of the means' and the spreads' gradient
    out : (n_windows, 2, k, d) float32
    """
    k, d = constants.shape[1:]
    mass, total = np.empty(k, np.float32), np.empty((k, 2, sums.shape[3]), np.float32)
    flat = total.reshape(-1)
    for w in range(out.shape[0]):
        mass[:], total[:] = 0, 0
        for m in range(starts[w], starts[w + 1]):
            cell, added = zeroth[members[m]], sums[members[m]].reshape(-1)
            for i in range(k):
                mass[i] += cell[i]
            for i in range(flat.size):
                flat[i] += added[i]
        for i in range(k):
            for j in range(d):
                mean, first = constants[0, i, j], total[i, 0, j]
                out[w, 0, i, j] = (first - mass[i] * mean) * constants[2, i, j] * shares[w]
            for j in range(d):
                mean, first = constants[0, i, j], total[i, 0, j]
                second = total[i, 1, j] - mean * (first + first - mass[i] * mean)
                second -= mass[i] * constants[1, i, j]
                out[w, 1, i, j] = second * constants[3, i, j] * shares[w]


@njit(fastmath=True)
def signed_roots(values):
    """values = sign(values) sqrt(|values|), in place.

    values : (n,) float32 or float64
    """
    for i in range(values.size):
        values[i] = math.copysign(math.sqrt(abs(values[i])), values[i])
