"""Data for the PmSVM benchmarks: generated text and bags of words, and real ones."""

from typing import Any

import generated_histograms
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


def bag_of_words(n: int = 3000, n_test: int = 1500) -> Data:
    """15 classes of images as counts of 200 words in 31 windows (6,200 features); float32."""
    X, y = generated_histograms.bag_of_words(n + n_test)
    X = X.astype(np.float32)
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
