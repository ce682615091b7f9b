"""Generated data of the shapes that the HIK SVM's benchmarks name."""

import numpy as np

from benchmarks.peers.opencv_histograms import N_WORDS, histogram


def bag_of_words(n: int, n_classes: int = 15, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Counts (n, 6200) uint16 of 200 words in 31 windows of 1,024 patches, and classes."""
    rng = np.random.default_rng(seed)
    grid = (np.stack(np.meshgrid(np.arange(32), np.arange(32)), axis=-1).reshape(-1, 2) + 0.5) / 32
    quarter = (grid[:, 1] >= 0.5) * 2 + (grid[:, 0] >= 0.5)
    common = rng.gamma(0.5, size=(4, N_WORDS)) + 0.02
    profiles = common * rng.gamma(8.0, size=(n_classes, 4, N_WORDS))
    y = np.arange(n) % n_classes
    X = np.empty((n, 31 * N_WORDS), np.uint16)
    for i in range(n):
        own = profiles[y[i]] * rng.gamma(0.4, size=N_WORDS)
        cumulative = np.cumsum(own, axis=1)
        draws = rng.random(1024) * cumulative[quarter, -1]
        words = (cumulative[quarter] < draws[:, None]).sum(axis=1)
        X[i] = histogram(words, grid)
    return X, y


def census_windows(n: int = 10_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Counts (n, 6144) uint16 like CENTRIST of 24 super-blocks of 352 pixels, and two classes.

    As in real windows about 0.4 of the counts are not zero and 0.08 are above 4.
    """
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], n)
    zipf = 1 / (1 + np.arange(256)) ** 1.1
    base = np.stack([rng.permutation(zipf / zipf.sum()) for _ in range(24)]).ravel()
    shift = np.where(rng.random(6144) < 0.1, rng.normal(scale=0.1, size=6144), 0)
    X = np.empty((n, 6144), np.uint16)
    for start in range(0, n, 500):
        part = y[start : start + 500, None]
        noise = np.exp(rng.normal(scale=0.6, size=(part.size, 6144)))
        mean = 352 * base * noise * np.exp(part * shift)
        X[start : start + 500] = np.minimum(rng.poisson(mean), 352)
    return X, y


def sensors(n: int = 80_000, d: int = 100, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated signed features (n, d) float64 of three overlapping classes, like acoustic's."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    hidden = rng.normal(size=(n, 20)) + rng.normal(scale=0.45, size=(3, 20))[y]
    X = hidden @ rng.normal(size=(20, d)) / 4 + 0.7 * rng.normal(size=(n, d))
    X *= np.exp(rng.normal(scale=0.1, size=(3, d)))[y]  # no hyperplane sees a class's own scale
    X = np.sign(X) * np.abs(X) ** 1.3
    return X / np.abs(X).max(axis=0), y
