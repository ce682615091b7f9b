"""Loops of Fisher vectors: sums over the Gaussians that matter, gradients of windows."""

import math

import numpy as np

from visualwords.compiled import njit

_LARGEST = 1e250  # product of sums of shares whose logarithm is taken at once


@njit(fastmath=True)
def add_moments(logits, constants, both, cells, least, zeroth, sums):
    """Add q and q (x, x²) to the sums of each point's cell; q are the responsibilities.

    logits : (n, k) float32, to which the constants are added, (k,): log p(x, k)
    both : (n, 2 d) float32, x and x²      cells : (n,) int32
    least : float32, logarithm of the smallest share of the largest q that counts; the others are 0
    zeroth : (n_cells, k), sums : (n_cells, k, 2 d) float32      returns the sum of log p(x)
    """
    n, k = logits.shape
    which, shares = np.empty(k + 1, np.int64), np.empty(k, np.float32)
    likelihood, product = 0.0, 1.0
    for i in range(n):
        row, source, total = logits[i], both[i], np.float32(0)
        for j in range(k):
            row[j] += constants[j]
        top = row[0]
        for j in range(k):
            top = row[j] if row[j] > top else top
        limit, count = top + least, np.uint64(0)
        for j in range(k):  # no branch, which would be mispredicted
            which[count] = j
            count += np.uint64(row[j] >= limit)
        for c in range(count):
            shares[c] = math.exp(row[which[c]] - top)
            total += shares[c]
        likelihood += top
        product *= total
        if product > _LARGEST:  # one logarithm for many points
            likelihood, product = likelihood + math.log(product), 1.0
        for c in range(count):
            share, target = shares[c] / total, sums[cells[i], which[c]]
            zeroth[cells[i], which[c]] += share
            for j in range(source.size):
                target[j] += share * source[j]
    return likelihood + math.log(product)


@njit(fastmath=True)
def fisher_gradients(zeroth, sums, shares, starts, members, constants, out):
    """Gradients of the log-likelihood of each window, from sums over the cells it is made of.

    zeroth : (n_cells, k), sums : (n_cells, k, 2, d) float32      shares : (n_windows,) float32
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
