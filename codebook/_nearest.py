"""Which word is nearest: the best of a block of scores, and exact answers where it is close."""

import numpy as np

from visualwords.compiled import njit


@njit()
def best_two(scores, bias, label, best, second):
    """Best score of each point, its word, and the second best; ties go to the first word.

    scores : (k, n) float32, words × points, so that neighbouring points share a vector
    bias : (k,) float32, added to the scores of a word
    label : (n,) int32, best, second : (n,) float32; all written
    """
    k, n = scores.shape
    best[:] = -np.inf
    second[:] = -np.inf
    label[:] = 0
    for w in range(0, k - 1, 2):
        first, other = bias[w], bias[w + 1]
        for p in range(n):
            u, v = scores[w, p] + first, scores[w + 1, p] + other
            high, low = (v, u) if v > u else (u, v)
            word = np.int32(w + 1) if v > u else np.int32(w)
            old, runner_up = best[p], second[p]
            lesser = old if high > old else high
            lesser = low if low > lesser else lesser
            second[p] = lesser if lesser > runner_up else runner_up
            label[p] = word if high > old else label[p]
            best[p] = high if high > old else old
    if k % 2:
        for p in range(n):
            v, old = scores[k - 1, p] + bias[k - 1], best[p]
            lesser = old if v > old else v
            second[p] = lesser if lesser > second[p] else second[p]
            label[p] = np.int32(k - 1) if v > old else label[p]
            best[p] = v if v > old else old


@njit(fastmath=True)
def settle(descriptors, words, rows, label):
    """label[i] = argmin_k ||x_i - w_k||^2 in float64, for the given rows i; ties to the first.

    descriptors : (n, d) of any real type      words : (k, d) float32      rows : (m,) int64
    """
    x = np.empty(words.shape[1], np.float64)
    for i in rows:
        for j in range(x.size):
            x[j] = descriptors[i, j]
        least, word = np.inf, 0
        for k in range(words.shape[0]):
            distance = 0.0
            for j in range(x.size):
                distance += (x[j] - words[k, j]) ** 2
            if distance < least:
                least, word = distance, k
        label[i] = word


@njit(fastmath=True)
def squared_distances(descriptors, words, label):
    """distance[i] = ||x_i - w_label[i]||^2 in float32, added up in float32 lanes."""
    distance = np.empty(descriptors.shape[0], np.float32)
    for i in range(descriptors.shape[0]):
        word = words[label[i]]
        total = np.float32(0)
        for j in range(word.size):
            difference = np.float32(descriptors[i, j]) - word[j]
            total += difference * difference
        distance[i] = total
    return distance


@njit()
def add_to_words(descriptors, label, sums, counts):
    """sums[w] += x_i and counts[w] += 1 for w = label[i], in the order of the rows.

    descriptors : (n, d)      sums : (k, d) float64      counts : (k,) int64
    """
    for i in range(descriptors.shape[0]):
        word = np.uint64(label[i])
        counts[word] += 1
        for j in range(descriptors.shape[1]):
            sums[word, j] += descriptors[i, j]
