"""HIK against linear SVMs on windows: miss rates at 10⁻³ and 10⁻⁴ false positives per window.

    python -m benchmarks.accuracy.detector_windows [hog] [census]

Both classifiers are trained on the same windows of the INRIA training set: all crops and their
mirror images, random windows of the photographs, and the hard windows of three rounds of each of
the two classifiers. C of both is chosen on training data: trained without a fifth of the crops and
of the photographs' windows, the C with the lowest mean miss rate on the five fifths. What gives a
classifier its offset is about as long as a row of its training data, for both. Tested once: the
middles of the test crops against all windows (stride 8, scale factor 1.1, up to twofold
enlargement) of the test photographs without people.
"""

import benchmarks.timing  # noqa: F401  isort: skip - sets one thread

import sys
import time
from functools import partial

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.data import DATA
from visualwords.apps.detection.bootstrapping import Bootstrap
from visualwords.apps.detection.channels import Channel
from visualwords.apps.detection.detector_training import Learning, Samples, crop_vectors
from visualwords.apps.detection.levels import Search
from visualwords.apps.detection.window import WindowShape
from visualwords.apps.detection.window_tables import CONSTANT, tables_of, with_constants
from visualwords.classifiers import ICDClassifier
from visualwords.images import read_image
from visualwords.progress import Silent

ROOT = DATA / "pedestrian"
SEARCH = Search(WindowShape(64, 128), (0.6, 0.75), 8, 1.1, 48, 0)
LINEAR_COSTS = [0.03, 0.1, 0.3, 1.0, 3.0]
HIK_COSTS = [3e-6, 1e-5, 3e-5, 1e-4, 3e-4]
FOLDS = 5
ROUNDS = 3  # of hard windows, as the shipped detector had
RATES = (1e-3, 1e-4)


def images(folder: str) -> list:
    return [partial(read_image, path) for path in sorted((ROOT / folder).iterdir())]


def collect(feature: str) -> tuple[Channel, Samples]:
    """All training windows of a feature."""
    crops, photographs = images("train/pos"), images("train/neg")
    samples = None
    for classifier in ("hik", "linear"):
        bootstrap = Bootstrap(
            feature,
            SEARCH,
            Learning(1e-4, 1.0, 1.0, 0),
            classifier=classifier,
            progress=Silent(),
        )
        found = bootstrap.run(crops, photographs, ROUNDS)
        print(
            f"{feature}: rounds of {classifier}: {[r.n_new for r in bootstrap.rounds]}", flush=True
        )
        if samples is None:
            samples = found
        else:  # the crops and random windows are the same
            samples = samples + found.part(
                np.arange(len(found.source)) >= first_hard(bootstrap, found)
            )
    return bootstrap.channels[0], samples


def first_hard(bootstrap: Bootstrap, found: Samples) -> int:
    return int(found.positive.sum()) + bootstrap.rounds[0].n_new


def train_linear(X: np.ndarray, y: np.ndarray, cost: float):
    """Weights and intercept; rows are brought to a mean square length of 1."""
    rows = X.astype(np.float32)
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64).mean())
    solver = LinearSVC(C=cost, dual=True, tol=0.1, max_iter=5000, random_state=0).fit(
        rows / np.float32(length), y
    )
    weights, offset = (solver.coef_[0] / length).astype(np.float32), float(solver.intercept_[0])
    return lambda V: V @ weights + offset, lambda c, p: c.linear_scores(p, weights) + offset


def train_hik(X: np.ndarray, y: np.ndarray, cost: float):
    """Tables; scores of vectors and of all windows of an image."""
    n_constants = round(X.sum(axis=1, dtype=np.int64).mean() / CONSTANT)
    classifier = ICDClassifier(C=cost, quantization="integer")
    classifier.fit(with_constants(X, n_constants), y)
    tables = tables_of(classifier, n_constants=n_constants)
    return (
        lambda V: classifier.decision_function(with_constants(V, n_constants)),
        lambda c, p: c.table_scores(p, c.arrange(tables)),
    )


def miss_rate(positive: np.ndarray, negative: np.ndarray, rate: float) -> float:
    """Share of positives below the threshold that lets this share of the negatives pass."""
    allowed = int(rate * negative.size)
    threshold = np.partition(negative, negative.size - allowed - 1)[negative.size - allowed - 1]
    return float((positive <= threshold).mean())


def choose(train, samples: Samples, costs: list[float]) -> float:
    """The cost with the lowest mean miss rate on fifths of crops and photographs."""
    fold = np.zeros(len(samples.source), int)
    for kind in (samples.positive, ~samples.positive):
        source = samples.source[kind]
        fold[kind] = FOLDS * source // (source.max() + 1)
    misses = np.array(
        [[miss_in_fold(train, samples, fold == k, c) for k in range(FOLDS)] for c in costs]
    )
    print(
        f"  costs {costs}: held-out miss rates {misses.mean(axis=1).round(4).tolist()}", flush=True
    )
    return costs[int(np.argmin(misses.mean(axis=1)))]


def miss_in_fold(train, samples: Samples, held_out: np.ndarray, cost: float) -> float:
    X, y = samples.vectors[0], samples.positive
    score, _ = train(X[~held_out], y[~held_out], cost)
    # hard windows are far from all windows: 1 % of them stands for 1e-4 of all
    return miss_rate(score(X[held_out & y]), score(X[held_out & ~y]), 1e-2)


def test(channel: Channel, score, everywhere) -> list[float]:
    crops = [crop_vectors(read(), SEARCH.shape, [channel])[0][:1] for read in images("test/pos")]
    negative = [
        np.ravel(everywhere(channel, channel.prepare(level.image)))
        for read in images("test/neg")
        for level in SEARCH.levels(read())
    ]
    every = np.concatenate(negative)
    return [miss_rate(score(np.vstack(crops)), every, rate) for rate in RATES] + [every.size]


def main() -> None:
    for feature in sys.argv[1:] or ["hog", "census"]:
        start = time.process_time()
        channel, samples = collect(feature)
        print(
            f"{feature}: {samples.positive.sum()} + {(~samples.positive).sum()} windows", flush=True
        )
        found = {}
        for name, train, costs in (
            ("linear", train_linear, LINEAR_COSTS),
            ("HIK", train_hik, HIK_COSTS),
        ):
            cost = choose(train, samples, costs)
            model = train(samples.vectors[0], samples.positive, cost)
            *found[name], n_windows = test(channel, *model)
            shown = ", ".join(f"{m:.3f} at {r:g}" for m, r in zip(found[name], RATES))
            print(
                f"{feature} {name}, C={cost:g}: miss rate {shown} ({n_windows:,} windows)",
                flush=True,
            )
        ratio = found["HIK"][1] / found["linear"][1]
        print(
            f"{feature}: HIK/linear at 1e-4 = {ratio:.2f}, bar 0.75",
            "pass" if ratio <= 0.75 else "MISS",
        )
        print(f"{feature}: {time.process_time() - start:.0f} s of CPU time", flush=True)


if __name__ == "__main__":
    main()
