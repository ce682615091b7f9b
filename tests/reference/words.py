"""Slow definitions: nearest words, histograms in windows, kernel k-means, Fisher vectors."""

import numpy as np
import scipy.linalg


def nearest_words(descriptors, words):
    """Index of the word of least Euclidean distance, the first of equals."""
    descriptors = np.asarray(descriptors, np.float64)
    return np.array([((x - words) ** 2).sum(axis=1).argmin() for x in descriptors], np.int64)


def windows_of_words(words, positions, boxes, n_words):
    """Counts of words in boxes x0, y0, x1, y1; half-open, but closed at 1."""
    rows = []
    for x0, y0, x1, y1 in np.asarray(boxes, np.float32):
        x, y = np.asarray(positions, np.float32).T
        inside = (x >= x0) & ((x < x1) | (x1 == 1)) & (y >= y0) & ((y < y1) | (y1 == 1))
        rows.append(np.bincount(np.asarray(words)[inside], minlength=n_words))
    return np.array(rows)


def intersection_distances(descriptors, members, label, n_words):
    """||phi(x) - m_k||^2 of kernel k-means, from all kernel values between x and the members."""

    def kernel(a, b):
        return np.minimum(a[:, None], b[None]).sum(axis=2, dtype=np.float64)

    descriptors, members = np.asarray(descriptors, float), np.asarray(members, float)
    result = np.empty((len(descriptors), n_words))
    for k in range(n_words):
        mine = members[label == k]
        square = kernel(mine, mine).mean()
        result[:, k] = descriptors.sum(axis=1) - 2 * kernel(descriptors, mine).mean(axis=1) + square
    return result


def fisher_by_definition(x, weights, means, variances):
    """Gradients to means and standard deviations, divided by the square roots of Fisher's matrix.

    Perronnin, Sánchez and Mensink (2010), with responsibilities in float64.
    """
    x = np.asarray(x, np.float64)
    differences = x[:, None] - means
    logs = np.log(weights) - 0.5 * (differences**2 / variances + np.log(2 * np.pi * variances)).sum(
        axis=2
    )
    q = np.exp(logs - logs.max(axis=1, keepdims=True))
    q = (q / q.sum(axis=1, keepdims=True))[:, :, None]
    by_mean = (q * differences / np.sqrt(variances)).mean(axis=0) / np.sqrt(weights)[:, None]
    by_spread = (q * (differences**2 / variances - 1)).mean(axis=0)
    by_spread /= np.sqrt(2 * weights)[:, None]
    return np.concatenate([by_mean.ravel(), by_spread.ravel()])


def second_moments_by_definition(x, regularization, power):
    """log(Σ x xᵀ / n + ε I) as a vector, raised to a power, of length 1.

    Carreira et al. (2012), on x as they are; off-diagonal numbers count twice in the length.
    """
    x = np.asarray(x, np.float64)
    moments = sum(np.outer(one, one) for one in x) / len(x)
    matrix = scipy.linalg.logm(moments + regularization * np.eye(x.shape[1]))
    numbers = []
    for i in range(len(matrix)):
        for j in range(i, len(matrix)):
            numbers.append(matrix[i, j] * (1 if i == j else 2**0.5))
    raised = np.sign(numbers) * np.abs(numbers) ** power
    return raised / np.linalg.norm(raised)
