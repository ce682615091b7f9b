"""How the weight of the trees on channel features and their shrinkage were chosen.

    python -m benchmarks.accuracy.detector_trees [--part N] [--scenes N]

On the INRIA training set alone, divided as in benchmarks.accuracy.detector_choices: windows are
collected from every N-th of the crops and photographs that are not held out, trees are boosted on
them with several shrinkages, and their score is added with several weights to that of HOG and
CENTRIST. Figures are those of scenes with held-out crops pasted into held-out photographs.
"""

import benchmarks.timing  # noqa: F401  isort: skip - sets one thread

import argparse
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.accuracy.detector_choices import OBJECT, SHAPE, STRIDE, make_scenes, split
from visualwords.apps.detection.bootstrapping import Bootstrap
from visualwords.apps.detection.detector_figures import compare_detections
from visualwords.apps.detection.detector_training import Learning, train_trees, train_windows
from visualwords.apps.detection.levels import Search
from visualwords.apps.detection.window_model import WindowModel
from visualwords.boxes import suppress
from visualwords.classifiers.boosted_trees import BoostedTrees
from visualwords.images import read_image
from visualwords.progress import Silent

SHRINKAGES, WEIGHTS = (1.0, 0.2, 0.1), (0.5, 1.0, 2.0)
LEARNING = Learning(1e-4, 1.0, 1.0, 0, acf_weight=1.0, n_trees=1024, tree_depth=2)
LEAST_HOG = -1.0  # HOG scores of windows that are looked at


@dataclass
class Candidates:
    """Windows of one scene: boxes, the sum of both HIK scores, the score by each set of trees."""

    boxes: np.ndarray
    hik: np.ndarray
    trees: np.ndarray


def candidates(
    image: np.ndarray, bootstrap: Bootstrap, model: WindowModel, every: list[BoostedTrees]
) -> Candidates:
    """Return the windows whose HOG score is high enough."""
    acf, census, hog = bootstrap.channels
    arranged = {own.name: own.arrange(model.channels[own.name].tables) for own in (hog, census)}
    search = Search(SHAPE, OBJECT, STRIDE, 1.15, 64, 16)
    boxes, hik = [np.empty((0, 4))], [np.empty(0)]
    trees = [np.empty((len(every), 0))]
    for level in search.levels(image):
        grid = hog.table_scores(hog.prepare(level.image), arranged["hog"])
        places = np.argwhere(grid >= LEAST_HOG)
        corners = places * STRIDE
        codes, cells = census.prepare(level.image), acf.prepare(level.image)
        boxes.append(search.boxes(level, corners))
        hik.append(grid[tuple(places.T)] + census.scores_at(codes, corners, arranged["census"]))
        trees.append(np.array([acf.scores_at(cells, corners, own) for own in every]))
    return Candidates(np.vstack(boxes), np.concatenate(hik), np.hstack(trees))


def show(name: str, scores: list[np.ndarray], found: list[Candidates], truth: list) -> None:
    kept = [suppress(one.boxes, score) for one, score in zip(found, scores)]
    detections = [(one.boxes[k], score[k]) for one, score, k in zip(found, scores, kept)]
    figures = compare_detections(detections, truth)
    print(
        f"{name}: log-average miss rate {figures.log_average_miss_rate:.3f}, "
        f"average precision {figures.average_precision:.3f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", type=int, default=1, help="use every N-th training image")
    parser.add_argument("--scenes", type=int, default=80, help="number of scenes")
    options = parser.parse_args()
    crops, photographs, held_crops, held_photographs = split()
    bootstrap = Bootstrap(
        "quick", Search(SHAPE, OBJECT, STRIDE, 1.2, 48, 0), LEARNING, n_jobs=1, progress=Silent()
    )
    readers = [
        [partial(read_image, path) for path in paths[:: options.part]]
        for paths in (crops, photographs)
    ]
    samples = bootstrap.run(*readers, 1)
    print(f"windows in each round: {[one.n_new for one in bootstrap.rounds]}", flush=True)
    model = train_windows(samples, bootstrap.channels, LEARNING, linear=False, share=0.01)
    vectors, positive = samples.vectors[0], samples.positive
    trees = [
        train_trees(vectors, positive, 1.0, LEARNING, shrinkage=shrinkage)
        for shrinkage in SHRINKAGES
    ]
    scenes = make_scenes(held_crops, held_photographs[: options.scenes])
    truth = [boxes for _, boxes in scenes]
    found = [candidates(image, bootstrap, model, trees) for image, _ in scenes]
    show("HOG + CENTRIST", [one.hik for one in found], found, truth)
    for k, shrinkage in enumerate(SHRINKAGES):
        show(f"trees alone, shrinkage {shrinkage}", [one.trees[k] for one in found], found, truth)
        for weight in WEIGHTS:
            scores = [one.hik + weight * one.trees[k] for one in found]
            show(f"weight {weight}, shrinkage {shrinkage}", scores, found, truth)


if __name__ == "__main__":
    main()
