"""HIK against linear SVMs on windows: miss rates at 10⁻³ and 10⁻⁴ false positives per window.

    python -m benchmarks.accuracy.detector_windows [hog] [census] [--every N]

Both classifiers are trained on the same windows of the INRIA training set: all crops and their
mirror images, random windows of the photographs, and the hard windows of three rounds of each of
the two classifiers. C of both is chosen on training data: trained without a fifth of the crops and
of the photographs' windows, the C with the lowest mean miss rate on the five fifths. What gives a
classifier its offset is about as long as a row of its training data, for both. Tested once: the
middles of the test crops against all windows (stride 8, scale factor 1.1, up to twofold
enlargement) of the test photographs without people. ``--every N`` takes each N-th image only, for a
look at whether it runs.
"""

import benchmarks.timing  # noqa: F401  isort: skip - sets one thread

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.data import DATA
from visualwords.apps.detection.window_features import WindowFeature, window_features
from visualwords.apps.detection.window_training import (
    CONSTANT,
    crop_vectors,
    random_windows,
    tables_of,
    with_constants,
)
from visualwords.apps.detection.windows import Level, Search, WindowShape
from visualwords.boxes import suppress
from visualwords.classifiers import ICDClassifier
from visualwords.images import read_image

ROOT = DATA / "pedestrian"
SHAPE = WindowShape(64, 128)
SEARCH = Search(SHAPE, (0.6, 0.75), 8, 1.1, 48, 0)
FEATURES = {feature.name: k for k, feature in enumerate(window_features(SHAPE))}
COSTS = {"linear": [0.03, 0.1, 0.3, 1.0, 3.0], "hik": [3e-6, 1e-5, 3e-5, 1e-4, 3e-4]}
FIRST_COST = {"linear": 1.0, "hik": 1e-4}  # while windows are collected
FOLDS = 5
ROUNDS, MOST_HARD, HARD, N_RANDOM = 3, 50, -0.5, 20
PART = 4096  # windows scored together
RATES = (1e-3, 1e-4)
BAR = 0.75

Score = Callable[[np.ndarray], np.ndarray]


def images(folder: str, every: int) -> list[np.ndarray]:
    return [read_image(path) for path in sorted((ROOT / folder).iterdir())[::every]]


def train(kind: str, X: np.ndarray, y: np.ndarray, cost: float) -> Score:
    """Scores of vectors by an SVM."""
    if kind == "hik":
        n_constants = round(X.sum(axis=1, dtype=np.int64).mean() / CONSTANT / 2) * 2
        svm = ICDClassifier(C=cost, quantization="integer")
        return tables_of(svm.fit(with_constants(X, n_constants), y), n_constants).scores
    rows = X.astype(np.float32)  # brought to a mean square length of 1
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64).mean())
    solver = LinearSVC(C=cost, dual=True, tol=0.1, max_iter=5000, random_state=0)
    solver.fit(rows / np.float32(length), y)
    weights, offset = (solver.coef_[0] / length).astype(np.float32), float(solver.intercept_[0])
    return lambda V: V @ weights + offset


def all_windows(
    feature: WindowFeature, image: np.ndarray
) -> Iterator[tuple[Level, np.ndarray, np.ndarray]]:
    """Level, corners and vectors of all windows of an image, in parts."""
    for make in SEARCH.levels(image):
        level = make()
        prepared = feature.prepare(level.image)
        corners = np.argwhere(np.ones(SHAPE.grid(level.image, 8), bool)) * 8
        for part in np.array_split(corners, len(corners) // PART + 1):
            yield level, part, feature.vectors(prepared, part)


def hard_windows(feature: WindowFeature, image: np.ndarray, score: Score) -> np.ndarray:
    """Vectors of the hardest windows of a photograph, the best of those that overlap."""
    boxes, scores, vectors = [np.empty((0, 4))], [np.empty(0)], []
    for level, corners, part in all_windows(feature, image):
        found = score(part)
        hard = found >= HARD
        boxes.append(SEARCH.boxes(level, corners[hard]))
        scores.append(found[hard])
        vectors.append(part[hard])
    kept = suppress(np.vstack(boxes), np.concatenate(scores), 0.7)[:MOST_HARD]
    return np.vstack(vectors)[kept]


def collect(feature: WindowFeature, every: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All training windows of a feature, which are crops, and the image that each is from."""
    k, photographs = FEATURES[feature.name], images("train/neg", every)
    parts = [(crop_vectors(image, SHAPE)[k], True) for image in images("train/pos", every)]
    parts += [
        (random_windows(image, N_RANDOM, SEARCH, [0, n])[k], False)
        for n, image in enumerate(photographs)
    ]
    n_first = len(parts)
    for kind in ("hik", "linear"):
        own = parts[:n_first]
        for number in range(ROUNDS):
            X, y, _ = stacked(own)
            score = train(kind, X, y, FIRST_COST[kind])
            hard = [(hard_windows(feature, image, score), False) for image in photographs]
            own, parts = own + hard, parts + hard
            n_new = sum(len(rows) for rows, _ in hard)
            print(f"{feature.name}: round {number + 1} of {kind}: {n_new} windows", flush=True)
    X, y, source = stacked(parts)
    source[~y] = (source[~y] - (n_first - len(photographs))) % len(photographs)
    return X, y, source


def stacked(parts: list) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    lengths = [len(rows) for rows, _ in parts]
    y = np.repeat([positive for _, positive in parts], lengths)
    return np.vstack([rows for rows, _ in parts]), y, np.repeat(np.arange(len(parts)), lengths)


def miss_rate(positive: np.ndarray, negative: np.ndarray, rate: float) -> float:
    """Share of positives below the threshold that lets this share of the negatives pass."""
    at = negative.size - int(rate * negative.size) - 1
    return float((positive <= np.partition(negative, at)[at]).mean())


def choose(kind: str, X: np.ndarray, y: np.ndarray, source: np.ndarray) -> float:
    """The cost with the lowest mean miss rate on fifths of crops and photographs.

    Hard windows are far from all windows: 1 % of them stands for 10⁻⁴ of all.
    """
    fold = np.zeros(len(y), int)
    for own in (y, ~y):
        fold[own] = FOLDS * source[own] // (source[own].max() + 1)
    misses = []
    for cost in COSTS[kind]:
        held_out = [fold == k for k in range(FOLDS)]
        scores = [train(kind, X[~out], y[~out], cost) for out in held_out]
        rates = [
            miss_rate(score(X[out & y]), score(X[out & ~y]), 1e-2)
            for score, out in zip(scores, held_out)
        ]
        misses.append(np.mean(rates))
    print(f"  costs {COSTS[kind]}: held-out miss rates {np.round(misses, 4).tolist()}", flush=True)
    return COSTS[kind][int(np.argmin(misses))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("features", nargs="*", default=["hog", "census"])
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    for name in options.features:
        start, feature = time.process_time(), window_features(SHAPE)[FEATURES[name]]
        X, y, source = collect(feature, options.every)
        crops = [crop_vectors(image, SHAPE) for image in images("test/pos", options.every)]
        middles = np.vstack([vectors[FEATURES[name]][:1] for vectors in crops])
        found = {}
        for kind in COSTS:
            cost = choose(kind, X, y, source)
            score = train(kind, X, y, cost)
            negative = np.concatenate(
                [
                    score(vectors)
                    for image in images("test/neg", options.every)
                    for _, _, vectors in all_windows(feature, image)
                ]
            )
            found[kind] = [miss_rate(score(middles), negative, rate) for rate in RATES]
            shown = ", ".join(f"{m:.3f} at {r:g}" for m, r in zip(found[kind], RATES))
            print(f"{name} {kind}, C={cost:g}: {shown} ({negative.size:,} windows)", flush=True)
        ratio = found["hik"][1] / max(found["linear"][1], 1e-9)
        verdict = "pass" if ratio <= BAR else "MISS"
        print(f"{name}: HIK/linear at 1e-4 = {ratio:.2f}, bar {BAR} {verdict}")
        print(f"{name}: {time.process_time() - start:.0f} s of CPU time", flush=True)


if __name__ == "__main__":
    main()
