"""Generated text and bags of words, whose shapes the papers' data sets have."""

import numpy as np
from scipy import sparse

from benchmarks.papers.generated import Split


def text_like(n: int = 200_000, n_test: int = 20_000, d: int = 47_236, seed: int = 0) -> Split:
    """Two topics as tf-idf rows of unit length with about 75 words, like RCV1; float32 CSR.

    Words follow Zipf's law, come in bursts (a word that occurs is likely to occur again), and every
    document takes an own share of the other topic's words.
    """
    rng = np.random.default_rng(seed)
    total, length = n + n_test, 78
    y = rng.integers(0, 2, total)
    frequency = 1 / (np.arange(d) + 20.0)
    lean = np.exp(0.5 * rng.normal(size=d))
    topics = [np.cumsum(p / p.sum()) for p in (frequency * lean, frequency / lean)]
    name = rng.permutation(d).astype(np.int32)  # frequent words are anywhere in a vocabulary
    foreign = rng.random((total, length)) < rng.uniform(0, 0.35, (total, 1))
    draws = rng.random((total, length))
    second = (y[:, None] == 1) ^ foreign
    words = np.where(second, np.searchsorted(topics[1], draws), np.searchsorted(topics[0], draws))
    counts = rng.geometric(0.5, words.size).astype(np.float32)
    columns = name[np.minimum(words, d - 1)].ravel()
    bounds = np.arange(0, total * length + 1, length)
    X = tf_idf(sparse.csr_matrix((counts, columns, bounds), shape=(total, d)))
    return Split(X[:n], y[:n], X[n:], y[n:])


def tf_idf(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    """Weigh words by their rarity and give rows unit length, in place."""
    n, d = counts.shape
    counts.sum_duplicates()
    rarity = np.log(n / np.maximum(np.bincount(counts.indices, minlength=d), 1))
    counts.data *= rarity[counts.indices].astype(np.float32)
    norm = np.sqrt(np.add.reduceat(counts.data**2, counts.indptr[:-1]))
    counts.data /= np.repeat(np.maximum(norm, 1e-12), np.diff(counts.indptr))
    return counts


def word_counts(n: int, n_words: int = 2000, n_classes: int = 15, seed: int = 0) -> Split:
    """Bags of visual words with 1,024 patches each, in bursts; n to train and n/2 to test on.

    Every column is divided by its largest training value, as svm-scale does: a third of the values
    that are not zero are below 0.1.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n + n // 2) % n_classes
    common = rng.gamma(0.5, size=n_words) + 0.02
    profiles = common * rng.gamma(4.0, size=(n_classes, n_words))
    shares = profiles[y] * rng.gamma(0.4, size=(y.size, n_words))
    X = rng.poisson(1024 * shares / shares.sum(axis=1, keepdims=True)).astype(np.float32)
    X = np.minimum(X / np.maximum(X[:n].max(axis=0), 1), 1)
    return Split(X[:n], y[:n], X[n:], y[n:])
