"""Sums over the descriptors of an image that Fisher vectors and VLAD are made of."""

import math

import numpy as np

from visualwords.compiled import njit


@njit(fastmath=True)
def add_soft_moments(x, logits, constants, cells, least, zeroth, first, second):
    """Add q, q x and q x^2 to the sums of each descriptor's cell, q = softmax(logits + constants).

    x : (n, d) float32      logits : (n, k) float32, changed      cells : (n,) int32
    least : logarithm of the smallest share of the largest q that counts; the others are 0
    zeroth : (n_cells, k), first, second : (n_cells, k, d) float32
    """
    k, d = logits.shape[1], x.shape[1]
    active, share = np.empty(k, np.int64), np.empty(k, np.float32)
    for i in range(x.shape[0]):
        logit, point, cell = logits[i], x[i], cells[i]
        top = np.float32(-np.finfo(np.float32).max)
        for j in range(k):
            logit[j] += constants[j]
            top = max(top, logit[j])
        m, total = 0, np.float32(0)
        for j in range(k):
            if logit[j] - top >= least:
                active[m] = j
                share[m] = math.exp(logit[j] - top)
                total += share[m]
                m += 1
        for a in range(m):
            q = share[a] / total
            zeroth[cell, active[a]] += q
            sums, squares = first[cell, active[a]], second[cell, active[a]]
            for j in range(d):
                value = q * point[j]
                sums[j] += value
                squares[j] += value * point[j]


@njit()
def add_hard_moments(x, label, cells, zeroth, first):
    """Add 1 and x to the sums of each descriptor's cell and word.

    x : (n, d) float32      label, cells : (n,) int32
    zeroth : (n_cells, k), first : (n_cells, k, d) float32
    """
    for i in range(x.shape[0]):
        zeroth[cells[i], label[i]] += np.float32(1)
        sums = first[cells[i], label[i]]
        for j in range(x.shape[1]):
            sums[j] += x[i, j]
