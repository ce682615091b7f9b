"""Algorithm 2 of [Wu10] as printed, in plain numba: the baseline of the HIK SVM's benchmarks.

Samples are visited in random order, since the paper's cyclic order is several times slower; it
stops like LIBLINEAR and like ours. With the tops of ``occurring_levels`` it is the algorithm with
the paper's footnote 1: only the levels up to a feature's highest are updated.
"""

import numpy as np
from numba import njit


@njit
def literal_icd(x, y, C, tol, max_iter, tops, seed):
    """Alpha, T and the number of passes of one squared hinge HIK SVM.

    x : (n, d) integer levels     tops : (d,) highest level to update in each feature
    """
    np.random.seed(seed)  # noqa: NPY002 - the generator that numba compiles
    n, d = x.shape
    table = np.zeros((d, tops.max() + 1))
    alpha = np.zeros(n)
    diagonal = 0.5 / C
    order = np.arange(n)
    n_iter, violation = 0, np.inf
    while n_iter < max_iter and violation > tol:
        n_iter += 1
        np.random.shuffle(order)  # noqa: NPY002
        largest, smallest = -np.inf, np.inf
        for i in order:
            score, norm = 0.0, diagonal
            for j in range(d):
                score += table[j, x[i, j]]
                norm += x[i, j]
            gradient = y[i] * score - 1.0 + diagonal * alpha[i]
            projected = min(gradient, 0.0) if alpha[i] == 0.0 else gradient
            largest, smallest = max(largest, projected), min(smallest, projected)
            if projected != 0.0:
                old = alpha[i]
                alpha[i] = max(old - gradient / norm, 0.0)
                change = (alpha[i] - old) * y[i]
                for j in range(d):
                    for k in range(1, tops[j] + 1):
                        table[j, k] += change * min(x[i, j], k)
        violation = largest - smallest
    return alpha, table, n_iter


def all_levels(levels):
    """Tops of the algorithm as printed."""
    return np.full(levels.shape[1], int(levels.max()))


def occurring_levels(levels):
    """Tops of footnote 1."""
    return levels.max(axis=0).astype(np.int64)
