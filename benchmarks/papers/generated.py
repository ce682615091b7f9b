"""Generated data: small stand-ins for quick runs, and text and bags of words of any size."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

AT_ONCE = 50_000  # documents that are generated together


class Split(NamedTuple):
    """Rows to train on and rows to test on."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


class Pictures(NamedTuple):
    """Images and their labels."""

    images: list[np.ndarray]
    labels: np.ndarray


def generated_table(name: str, n_classes: int = 3, n: int = 60, d: int = 8) -> Split:
    """Overlapping clouds; every third column is signed, the scale differs from column to column."""
    rng = np.random.default_rng([*name.encode()])
    y = np.arange(2 * n) % n_classes
    centers = rng.gamma(2.0, size=(n_classes, d))
    X = centers[y] * rng.gamma(4.0, 0.25, size=(2 * n, d))
    X[:, ::3] -= X[:, ::3].mean(axis=0)
    X *= 10.0 ** rng.integers(0, 3, d)
    return Split(X[:n], y[:n], X[n:], y[n:])


def texture(kind: int, rng: np.random.Generator, side: int = 64) -> np.ndarray:
    """A grey grating whose direction and width belong to its kind, with noise."""
    rows, columns = np.mgrid[:side, :side]
    angle, width = 0.9 * kind, 4 + 2 * (kind % 3)
    along = rows * np.sin(angle) + columns * np.cos(angle) + rng.uniform(0, width)
    image = 128 + 60 * np.sin(2 * np.pi * along / width) + rng.normal(0, 12, (side, side))
    return np.clip(image, 0, 255).astype(np.uint8)


def generated_pictures(n_classes: int = 3, n: int = 24) -> tuple[Pictures, Pictures]:
    """Training and test textures, the same number of each class."""
    rng = np.random.default_rng(0)
    labels = np.array([f"class{k}" for k in np.arange(n) % n_classes])
    parts = [[texture(i % n_classes, rng) for i in range(n)] for _ in range(2)]
    return Pictures(parts[0], labels), Pictures(parts[1], labels)


def generated_views(n_classes: int = 3, n_objects: int = 4) -> tuple[list, np.ndarray, np.ndarray]:
    """Five pictures of every object: images, classes, objects."""
    rng = np.random.default_rng(0)
    names = [(k, f"kind{k}-{i}") for k in range(n_classes) for i in range(n_objects)]
    shown = [(texture(k, rng), f"kind{k}", name) for k, name in names for _ in range(5)]
    images, classes, objects = zip(*shown)
    return list(images), np.array(classes), np.array(objects)


def generated_colors(n_classes: int = 3, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Histograms of 64 bins with unit sum, and their classes."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    shares = rng.gamma(0.4, size=(n_classes, 64)) + 0.05
    X = np.array([rng.multinomial(2000, rng.dirichlet(8 * shares[k])) for k in y], float)
    return X / X.sum(axis=1, keepdims=True), np.array([f"class{k}" for k in y])


def text_like(n: int = 200_000, n_test: int = 20_000, d: int = 47_236, seed: int = 0) -> Split:
    """Two topics as tf-idf rows of unit length with about 75 words, like RCV1; float32 CSR.

    Words follow Zipf's law, come in bursts (a word that occurs is likely to occur again), and every
    document takes an own share of the other topic's words.
    """
    rng = np.random.default_rng(seed)
    frequency = 1 / (np.arange(d) + 20.0)
    lean = np.exp(0.5 * rng.normal(size=d))
    topics = [np.cumsum(p / p.sum()) for p in (frequency * lean, frequency / lean)]
    names = rng.permutation(d).astype(np.int32)  # frequent words are anywhere in a vocabulary
    y = rng.integers(0, 2, n + n_test)
    parts = [
        _documents(y[start : start + AT_ONCE], topics, names, rng)
        for start in range(0, y.size, AT_ONCE)
    ]
    X = tf_idf(sparse.vstack(parts, "csr"))
    return Split(X[:n], y[:n], X[n:], y[n:])


def _documents(
    y: np.ndarray, topics: list[np.ndarray], names: np.ndarray, rng: np.random.Generator
) -> sparse.csr_matrix:
    """Counts of words of documents about either topic."""
    shape, d = (y.size, 78), names.size
    foreign = rng.random(shape) < rng.uniform(0, 0.35, (y.size, 1))
    draws = rng.random(shape)
    second = (y[:, None] == 1) ^ foreign
    words = np.where(second, np.searchsorted(topics[1], draws), np.searchsorted(topics[0], draws))
    counts = rng.geometric(0.5, words.size).astype(np.float32)
    bounds = np.arange(0, words.size + 1, shape[1])
    columns = names[np.minimum(words, d - 1)].ravel()
    found = sparse.csr_matrix((counts, columns, bounds), shape=(y.size, d))
    found.sum_duplicates()
    return found


def tf_idf(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    """Weigh words by their rarity and give rows unit length, in place."""
    n, d = counts.shape
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
    X = np.empty((y.size, n_words), np.float32)
    for start in range(0, y.size, AT_ONCE // 10):
        own = slice(start, start + AT_ONCE // 10)
        shares = profiles[y[own]] * rng.gamma(0.4, size=(y[own].size, n_words))
        X[own] = rng.poisson(1024 * shares / shares.sum(axis=1, keepdims=True))
    X /= np.maximum(X[:n].max(axis=0), 1)
    np.minimum(X, 1, out=X)
    return Split(X[:n], y[:n], X[n:], y[n:])
