"""Data for the PmSVM benchmarks: generated text and bags of words, and real ones."""

from typing import Any

import numpy as np
from scipy import sparse
from timing import DATA

Data = tuple[Any, np.ndarray, Any, np.ndarray]  # X, y, X_test, y_test


def text_like(n: int = 200_000, n_test: int = 20_000, d: int = 47_236, seed: int = 0) -> Data:
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
    bounds = np.arange(0, total * length + 1, length)
    X = sparse.csr_matrix(
        (
            rng.geometric(0.5, words.size).astype(np.float32),
            name[np.minimum(words, d - 1)].ravel(),
            bounds,
        ),
        shape=(total, d),
    )
    X.sum_duplicates()
    rarity = np.log(total / np.maximum(np.bincount(X.indices, minlength=d), 1))
    X.data *= rarity[X.indices].astype(np.float32)
    norm = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(norm, np.diff(X.indptr))
    return X[:n], y[:n], X[n:], y[n:]


def bag_of_words(n: int = 3000, n_test: int = 1500, seed: int = 0) -> Data:
    """15 classes of images as counts of 200 words in 31 windows (6,200 features); float32.

    Every class prefers some words, differently in 4 × 4 parts of the image; so does every image.
    """
    rng = np.random.default_rng(seed)
    total, n_words, patches = n + n_test, 200, 50
    y = rng.integers(0, 15, total)
    common, own = rng.normal(size=n_words), 0.35 * rng.normal(size=(15, n_words))
    placed = 0.25 * rng.normal(size=(15, 16, n_words))
    cells = np.zeros((total, 8, 8, n_words), np.float32)
    for i in range(total):
        taste = np.exp(common + own[y[i]] + placed[y[i]] + rng.normal(size=n_words))
        for part in range(16):
            share = np.cumsum(taste[part])
            word = np.searchsorted(share, rng.random(patches) * share[-1])
            row, column = rng.integers(0, 2, (2, patches))
            where = (2 * (part // 4) + row, 2 * (part % 4) + column, word)
            np.add.at(cells[i], where, 1)
    windows = [(0, 0, 8)]
    for side in (4, 2):
        windows += [(r, c, side) for r in range(0, 8, side) for c in range(0, 8, side)]
        inner = range(side // 2, 8 - side, side)
        windows += [(r, c, side) for r in inner for c in inner]
    X = np.concatenate([cells[:, r : r + s, c : c + s].sum((1, 2)) for r, c, s in windows], axis=1)
    return X[:n], y[:n], X[n:], y[n:]


def reuters() -> Data | None:
    """Money-fx against the rest; None where the data are not at hand."""
    path = DATA / "tabular" / "reuters_moneyfx.npz"
    if not path.is_file():
        return None
    with np.load(path) as file:
        X, X_test = (
            sparse.csr_matrix(
                tuple(file[f"X_{part}_{name}"] for name in ("data", "indices", "indptr")),
                shape=file[f"X_{part}_shape"],
            )
            for part in ("train", "test")
        )
        return X, file["y_train"], X_test, file["y_test"]
