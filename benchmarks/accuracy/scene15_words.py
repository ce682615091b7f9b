"""Accuracy of words and Fisher vectors on scene15 (100 images a class train, the rest test).

    python -m benchmarks.accuracy.scene15_words words     200 words of SIFT, CENTRIST, both
    python -m benchmarks.accuracy.scene15_words fisher    Fisher vectors of SIFT at several scales
    python -m benchmarks.accuracy.scene15_words speed     images a second, from files to histograms

Mean accuracy per class, three seeds of the codebook; words with ICD's defaults, Fisher vectors
with a linear SVM. Settings were chosen by ``choose``: five folds of the training images, the words
learned from all of them without labels. ``--codebooks kmeans root hik`` compares codebooks,
``--data caltech101`` takes other images, ``--tiny`` 20 images a class.
"""

import argparse

import benchmarks.timing  # noqa: F401  isort: skip - sets one thread

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from benchmarks.data import image_folder
from visualwords.classifiers import ICDClassifier
from visualwords.codebook import (
    BagOfWords,
    FisherVectors,
    HIKCodebook,
    KMeansCodebook,
    SpatialPyramid,
)
from visualwords.features import Centrist, DenseSIFT
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets
from visualwords.folders import ImageFolder
from visualwords.images import read_image
from visualwords.parallel import map_on_workers

EXTRACTORS = {
    "sift": DenseSIFT(bin_size=4, step=4),
    "centrist": Centrist("dense", patch_size=16, step=8),
    "fisher": DenseSIFT(bin_size=(3, 4, 6, 8), step=4, root=True),
}
CHOSEN = {"norm": "l1", "scope": "level", "pyramid": 31}
CANDIDATES = {
    "counts": {"pyramid": 31},
    "l1 of windows": {"norm": "l1", "pyramid": 31},
    "l1 of levels": CHOSEN,
    "l1 of the image": {"norm": "l1", "scope": "image", "pyramid": 31},
    "l1 of windows, 5:2:1": {"norm": "l1", "pyramid": SpatialPyramid(31, weights=(5, 2, 1))},
    "its square root": {
        "norm": "l1",
        "power": 0.5,
        "pyramid": SpatialPyramid(31, weights=(5, 2, 1)),
    },
}
FISHER_COST = 10.0
FISHER_WINDOWS = SpatialPyramid(8, weights=(2.0, 1.0, 1.4))  # kernels 4:1:2
CODEBOOKS = {
    "kmeans": lambda seed: KMeansCodebook(200, seed),
    "root": lambda seed: KMeansCodebook(200, seed, root=True),
    "hik": lambda seed: HIKCodebook(200, random_state=seed),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["words", "fisher", "choose", "speed"])
    parser.add_argument("--data", default="scene15", choices=["scene15", "caltech101"])
    parser.add_argument("--descriptors", nargs="+", default=["sift", "centrist"])
    parser.add_argument("--codebooks", nargs="+", default=["root"], choices=list(CODEBOOKS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    train, test = parts(options.data, options.tiny)
    if options.what == "speed":
        measure_speed(train, test)
    elif options.what == "choose":
        choose_settings(options, train)
    elif options.what == "fisher":
        report("Fisher", test_fisher(train, test, options.seeds))
    else:
        test_words(options, train, test)


def parts(name: str, tiny: bool) -> tuple[ImageFolder, ImageFolder]:
    """Training and test images; the clutter class of caltech101 is left out."""
    folder = image_folder(name)
    train, test = folder.part("train"), folder.part("test")
    if not tiny:
        return train, test
    return tuple(
        part.select([i for c in part.classes for i in np.flatnonzero(part_labels(part) == c)[:20]])
        for part in (train, test)
    )


def part_labels(folder: ImageFolder) -> np.ndarray:
    return np.array(folder.labels)


def features(folder: ImageFolder, name: str) -> Iterator[LocalFeatures]:
    """Local features of one image after the other."""
    for path in folder.paths:
        yield EXTRACTORS[name].extract(read_image(path, "grey", max_side=500))


def learn_bags(
    options: argparse.Namespace, train: ImageFolder, name: str
) -> dict[tuple[str, int], BagOfWords]:
    """Encoders of one descriptor, for every kind of codebook and seed."""
    sets = some(train, name, 100)
    return {
        (kind, seed): BagOfWords(CODEBOOKS[kind](seed), output="dense", **CHOSEN).fit(sets)
        for kind in options.codebooks
        for seed in range(options.seeds)
    }


def test_words(options: argparse.Namespace, train: ImageFolder, test: ImageFolder) -> None:
    """Accuracy of words of each descriptor, and of all with their kernels added."""
    rows: dict[tuple[str, int], dict[str, list[np.ndarray]]] = {}
    for name in options.descriptors:
        bags = learn_bags(options, train, name)
        found: dict[tuple[str, int], list[list[np.ndarray]]] = {k: [[], []] for k in bags}
        for part, folder in enumerate((train, test)):
            for one in features(folder, name):
                for key, bag in bags.items():
                    found[key][part].append(bag.transform([one])[0])
        for key, (first, second) in found.items():
            size = np.sum(first, dtype=np.float64) / len(first)  # of the kernel of x with itself
            both = [np.stack(part) / np.float32(size) for part in (first, second)]
            rows.setdefault(key, {})[name] = both
    chosen = {name: [name] for name in options.descriptors}
    if len(options.descriptors) > 1:
        chosen["both"] = options.descriptors
    for kind in options.codebooks:
        for title, names in chosen.items():
            results = []
            for seed in range(options.seeds):
                mine = rows[kind, seed]
                x, z = (np.hstack([mine[name][part] for name in names]) for part in (0, 1))
                model = ICDClassifier().fit(x, part_labels(train))
                label = f"{options.data}, {title}, {kind}"
                results.append(scores(part_labels(test), model.predict(z), label, seed))
            report(f"{options.data}, {title}, {kind}", results)


def test_fisher(train: ImageFolder, test: ImageFolder, seeds: int) -> list[tuple[float, float]]:
    """Accuracy of Fisher vectors with a linear SVM, for several seeds of the mixture."""
    sample = some(train, "fisher", 70)
    encoders = [
        FisherVectors(pyramid=FISHER_WINDOWS, random_state=seed).fit(sample)
        for seed in range(seeds)
    ]
    labels, results = part_labels(train), []
    rows = encode_all(encoders, train)
    scales = [np.einsum("nd,nd->n", x, x).mean() for x in rows]
    kernels = [
        np.hstack([z[seed] @ rows[seed].T / scales[seed] for seed in range(seeds)])
        for z in (encode_all(encoders, batch) for batch in batches(test, 100))
    ]
    kernels = np.split(np.vstack(kernels).astype(np.float64), seeds, axis=1)
    for seed, (x, scale, kernel) in enumerate(zip(rows, scales, kernels)):
        model = OneVsRestClassifier(SVC(kernel="precomputed", C=FISHER_COST))
        model.fit((x @ x.T / scale).astype(np.float64), labels)
        results.append(scores(part_labels(test), model.predict(kernel), "Fisher", seed))
    return results


def encode_all(encoders: list[FisherVectors], folder: ImageFolder) -> list[np.ndarray]:
    """Rows of all images for every encoder; the features are extracted once."""
    rows: list[list[np.ndarray]] = [[] for _ in encoders]
    for one in features(folder, "fisher"):
        for mine, encoder in zip(rows, encoders):
            mine.append(encoder.encode(one))
    return [np.stack(mine) for mine in rows]


def batches(folder: ImageFolder, size: int) -> Iterator[ImageFolder]:
    n = len(folder.paths)
    return (folder.select(range(i, min(i + size, n))) for i in range(0, n, size))


def some(folder: ImageFolder, name: str, n: int, seed: int = 0) -> LocalFeatureSets:
    """A few descriptors of every image, enough to learn words."""
    random, found = np.random.default_rng(seed), []
    for one in features(folder, name):
        rows = random.permutation(len(one))[:n]
        found.append(
            replace(
                one,
                descriptors=one.descriptors[rows],
                positions=one.positions[rows],
                sizes=one.sizes[rows],
            )
        )
    return LocalFeatureSets.concatenate(found)


def scores(truth: np.ndarray, found: np.ndarray, what: str, seed: int) -> tuple[float, float]:
    per_class, overall = balanced_accuracy_score(truth, found), float(np.mean(truth == found))
    print(f"{what}, seed {seed}: per class {per_class:.2%}, overall {overall:.2%}", flush=True)
    return per_class, overall


def report(title: str, results: list[tuple[float, float]]) -> None:
    per_class = [a for a, _ in results]
    spread = np.std(per_class, ddof=1) if len(per_class) > 1 else 0.0
    print(f"{title}: mean per class {np.mean(per_class):.2%} ± {spread:.2%}")


def choose_settings(options: argparse.Namespace, train: ImageFolder) -> None:
    """Print the accuracy of every candidate on five folds of the training images."""
    labels = part_labels(train)
    for name in options.descriptors:
        sets = LocalFeatureSets.concatenate(features(train, name))
        for (kind, seed), bag in learn_bags(options, train, name).items():
            for title, settings in CANDIDATES.items():
                encoder = BagOfWords(bag.codebook_, output="dense", **settings)
                right = folds(encoder.transform(sets), labels)
                print(f"{name}, {kind}, seed {seed}, {title}: {right:.2%}", flush=True)


def folds(rows: np.ndarray, labels: np.ndarray) -> float:
    """Mean share of right labels in five folds."""
    right = []
    for a, b in StratifiedKFold(5, shuffle=True, random_state=0).split(rows, labels):
        model = ICDClassifier().fit(rows[a], labels[a])
        right.append(np.mean(model.predict(rows[b]) == labels[b]))
    return float(np.mean(right))


def measure_speed(train: ImageFolder, test: ImageFolder) -> None:
    """Files to histograms of 200 SIFT words in 31 windows, two threads, nothing cached."""
    extractor = DenseSIFT(bin_size=4, step=8)
    first = [extractor.extract(read_image(path, "grey")) for path in train.paths[::30]]
    codebook = KMeansCodebook(200, random_state=0).fit(LocalFeatureSets.concatenate(first))
    encoder = BagOfWords(codebook, 31)
    paths = [*train.paths, *test.paths]
    chunks = [paths[i : i + 32] for i in range(0, len(paths), 32)]

    def encode(chunk: list[str]) -> object:
        return encoder.transform([extractor.extract(read_image(path, "grey")) for path in chunk])

    encode(paths[:2])
    start, cpu = time.perf_counter(), time.process_time()
    list(map_on_workers(encode, ((chunk,) for chunk in chunks), n_jobs=2))
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(
        f"{len(paths)} images in {wall:.1f} s: {len(paths) / wall:.0f} images/s; "
        f"CPU time {cpu:.1f} s, {len(paths) / cpu:.0f} images/s of one core"
    )


if __name__ == "__main__":
    main()
