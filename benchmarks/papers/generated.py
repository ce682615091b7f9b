"""Small stand-ins for the data sets, for quick runs."""

from typing import NamedTuple

import numpy as np


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
