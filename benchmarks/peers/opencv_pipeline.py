"""The same task by OpenCV and scikit-learn alone, as a careful engineer would write it; and by us.

    python -m benchmarks.peers.opencv_pipeline [--data scene15] [--ours fast scene] [--peer chi2]
    python -m benchmarks.peers.opencv_pipeline --data blood traffic --ours auto --peer chi2

Dense SIFT of OpenCV (16-pixel patches every 8 pixels), 200 words of MiniBatchKMeans, a spatial
pyramid of 21 windows, each level of sum 1, then either additive chi-squared features and a linear
SVM ("chi2") or an SVM with the intersection kernel, whose matrix is computed once
("intersection"); C is chosen on folds of the training images, out of four values, by the mean
accuracy per class, and classes are weighted alike. All steps use both cores. Ours is
``ImageClassifier`` without a cache: recipe "fast", which is of the same kind as the peers, and
"scene". All read the same files, learn from the training part, are tried once on the test part, and
are timed from the first file to the last label: seconds of the clock and of CPU. Sets and their
parts are those of benchmarks.divisions; without a split of their own, random halves with seed 0.
After `auto`, the recipe that it chose is timed alone, too.
"""

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

import cv2
import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from sklearn.cluster import MiniBatchKMeans
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from benchmarks.divisions import SETS, Division, divisions
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipe import Recipe

N_WORDS, STEP, PATCH = 200, 8, 16
COSTS = [0.01, 0.1, 1, 10]


def files(data: Dataset) -> tuple[list[Path], np.ndarray]:
    """The images of a set, and their classes."""
    return [Path(content.source) for content in data.contents], data.labels


def dense_sift(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Descriptors and positions in the unit square."""
    image = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_GRAYSCALE)
    height, width = image.shape
    half = PATCH // 2
    grid = [
        (x, y) for y in range(half, height - half, STEP) for x in range(half, width - half, STEP)
    ]
    points = [cv2.KeyPoint(float(x), float(y), PATCH / 6, 0.0) for x, y in grid]
    points, descriptors = cv2.SIFT_create().compute(image, points)
    return descriptors, np.array([(p.pt[0] / width, p.pt[1] / height) for p in points])


def pyramid(words: np.ndarray, where: np.ndarray) -> np.ndarray:
    """The shares of words in 1, 4 and 16 windows, each level of sum 1."""
    levels = []
    for n in (1, 2, 4):
        cell = np.minimum((where * n).astype(int), n - 1)
        column = (cell[:, 1] * n + cell[:, 0]) * N_WORDS + words
        levels.append(np.bincount(column, minlength=n * n * N_WORDS) / len(words))
    return np.concatenate(levels).astype(np.float32)


def histograms(paths: list[Path], codebook: MiniBatchKMeans, jobs: int) -> np.ndarray:
    """One row an image; descriptors are not kept."""

    def one(path: Path) -> np.ndarray:
        descriptors, where = dense_sift(path)
        return pyramid(codebook.predict(descriptors), where)

    return np.stack(Parallel(jobs)(delayed(one)(path) for path in paths))


def intersection(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Σ min(x, y)."""
    return np.stack([np.minimum(x, Y).sum(axis=1) for x in X])


def peer(division: Division, jobs: int, classifier: str) -> tuple[float, None]:
    """The accuracy of OpenCV and scikit-learn."""
    (train, y), (test, truth) = files(division.train), files(division.test)
    random = np.random.default_rng(0)
    some = random.permutation(len(train))[:600]
    found = Parallel(jobs)(delayed(dense_sift)(train[i]) for i in some)
    sample = np.concatenate([d[random.permutation(len(d))[:150]] for d, _ in found])
    codebook = MiniBatchKMeans(N_WORDS, batch_size=4096, n_init=1, random_state=0).fit(sample)
    X, X_test = histograms(train, codebook, jobs), histograms(test, codebook, jobs)
    if classifier == "chi2":
        model = make_pipeline(
            AdditiveChi2Sampler(), LinearSVC(dual=True, max_iter=5000, class_weight="balanced")
        )
        grid = {"linearsvc__C": COSTS}
    else:
        X, X_test = intersection(X, X), intersection(X_test, X)
        model, grid = SVC(kernel="precomputed", class_weight="balanced"), {"C": COSTS}
    search = GridSearchCV(model, grid, cv=3, n_jobs=jobs, scoring="balanced_accuracy").fit(X, y)
    return balanced_accuracy_score(truth, search.predict(X_test)), None


def ours(
    division: Division, jobs: int, recipe: str | Recipe, budget: float = 60.0
) -> tuple[float, Recipe]:
    """Accuracy and recipe of our pipeline, which knows groups where there are such."""
    from visualwords import ImageClassifier

    model = ImageClassifier(recipe, n_jobs=jobs, budget=budget).fit(division.train)
    print(f"    {model.recipe_.name}, {model.cross_validated_:.1%} on folds")
    guesses = model.predict(division.test)
    return balanced_accuracy_score(division.test.labels, guesses), model.recipe_


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["scene15"], choices=SETS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ours", nargs="*", default=["fast", "scene"])
    parser.add_argument("--peer", nargs="*", default=["chi2", "intersection"])
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of auto")
    options = parser.parse_args()
    of_us = partial(ours, budget=options.budget)
    sides = [("ours", of_us, name) for name in options.ours]
    sides += [("peer", peer, name) for name in options.peer]
    for data, (whose, side, name) in product(options.data, sides):
        (division,) = divisions(data, [0])
        chosen = timed(f"{data}: {whose} {name}", partial(side, division, options.jobs, name))
        if name == "auto":
            again = partial(ours, division, options.jobs, chosen)
            timed(f"{data}: ours, what auto chose alone", again)


def timed(title: str, run: Callable[[], tuple[float, Recipe | None]]) -> Recipe | None:
    """Run one side, print its accuracy and times, and return its recipe."""
    clock, cpu = time.perf_counter(), _cpu()
    accuracy, recipe = run()
    get_reusable_executor().shutdown()  # the time of processes counts once they have ended
    clock, cpu = time.perf_counter() - clock, _cpu() - cpu
    print(
        f"{title}: {accuracy:.1%} mean per class, {clock:.1f} s of the clock, {cpu:.1f} s of CPU",
        flush=True,
    )
    return recipe


def _cpu() -> float:
    """The seconds of CPU of this process and of those it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    main()
