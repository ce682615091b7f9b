"""The histogram intersection kernel and its SVM, by definition: slow and obvious."""

import numpy as np


def intersection_gram(X, Y):
    """G[i, j] = sum_k min(X[i, k], Y[j, k])."""
    return np.array([[np.minimum(x, y).sum() for y in Y] for x in X], dtype=float)


def unary_expansion(levels, highest):
    """B(x) of [Wu10], Eq. 4: level k becomes k ones and highest − k zeros."""
    thresholds = np.arange(1, highest + 1)
    ones = np.asarray(levels)[:, :, None] >= thresholds
    return ones.reshape(len(levels), -1).astype(float)


def table(levels, coefficients, highest):
    """T[j, k] = sum_i c_i min(x_ij, k)  ([Wu10], Sec. 3.2)."""
    d = levels.shape[1]
    T = np.zeros((d, highest + 1))
    for j in range(d):
        for k in range(highest + 1):
            T[j, k] = np.dot(coefficients, np.minimum(levels[:, j].astype(int), k))
    return T


def dual_objective(gram, y, alpha, cost, squared):
    """g(alpha) of [Wu10], Eq. 11."""
    coefficients = alpha * y
    value = 0.5 * coefficients @ gram @ coefficients - alpha.sum()
    if squared:
        value += 0.25 * np.sum(alpha**2 / cost)
    return value


def primal_objective(gram, y, alpha, cost, squared):
    """Eq. 10 at w = sum_i alpha_i y_i B(x_i)."""
    coefficients = alpha * y
    slack = np.maximum(1 - y * (gram @ coefficients), 0)
    return 0.5 * coefficients @ gram @ coefficients + np.sum(
        cost * (slack**2 if squared else slack)
    )
