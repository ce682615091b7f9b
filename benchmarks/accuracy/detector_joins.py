"""How the detector's rounds, the depth of its trees, and the joining of windows were chosen.

    python -m benchmarks.accuracy.detector_joins [--rounds N] [--trees N] [--depth N] [--weight W]
                                                 [--smallest S]

On the INRIA training set alone: the first two thirds of the crops and two thirds of the photographs
train, the others are searched. Held-out crops are scaled at random, so that people are 62 to 154
pixels high. A crop counts as found if a detection overlaps the middle person by half. False
detections are those in photographs, and those in the columns of a crop's middle person that don't
overlap it by half: the same person at a wrong size, or twice. Their share is that of scenes with
two people each. Others in crops are real people as a rule and don't count.

Printed are log-average miss rates for several weights of the trees on local cosines (0: without
them) and softnesses of fusion, and for several other ways to join windows into detections.
"""

import benchmarks.timing  # noqa: F401  isort: skip - sets one thread

import argparse
from dataclasses import replace
from functools import partial
from itertools import product

import cv2
import numpy as np

from benchmarks.accuracy.detector_choices import OBJECT, ROOT, SHAPE, STRIDE
from visualwords.apps.detection.bootstrapping import Bootstrap
from visualwords.apps.detection.channels import Channel
from visualwords.apps.detection.detector_figures import DetectionFigures
from visualwords.apps.detection.detector_training import Learning, train_windows
from visualwords.apps.detection.levels import Search
from visualwords.apps.detection.scanning import WindowScanner
from visualwords.boxes import intersection_over_union, join, scaled
from visualwords.images import read_image
from visualwords.progress import Silent

LEAST_TREES, LEAST = -0.2, -1.5  # scores of windows that are looked at; trees by their weight
SAME = 0.1  # heights from the middle person's column, within which a detection is of that person
PEOPLE = 2  # in a scene
SEARCH = Search(SHAPE, OBJECT, STRIDE, 1.15, 64, 16)
COSINES, SOFTNESS = (0.0, 0.5, 1.0, 2.0, 3.0), (0.5, 0.75, 1.0, 1.5)
SHIPPED = {"overlap": 0.7, "softness": 0.75, "size": 0.95}
JOINS = [
    {"overlap": 0.5},
    {"overlap": 0.5, "size": 0.95},
    *(SHIPPED | {"overlap": overlap} for overlap in (0.5, 0.6, 0.75)),
    *(SHIPPED | {"size": size} for size in (0.9, 1.0)),
]

Windows = tuple[np.ndarray, np.ndarray]  # boxes and scores
Parts = tuple[np.ndarray, np.ndarray, np.ndarray]  # and scores by local cosines


def split() -> tuple[list, list, list, list]:
    """Paths of crops and photographs to train on, and of those held out."""
    crops, photographs = (sorted((ROOT / name).iterdir()) for name in ("pos", "neg"))
    order = np.random.default_rng(5).permutation(len(photographs))
    shuffled = [photographs[i] for i in order]
    return crops[:808], shuffled[133:], crops[808:], shuffled[:133]


def scaled_crops(paths: list) -> list[tuple[np.ndarray, np.ndarray]]:
    """Crops at random scales and places, as JPEGs of test scenes are, and the person's box."""
    rng = np.random.default_rng(3)
    scenes = []
    for path in paths:
        scale = np.exp(rng.uniform(np.log(0.65), np.log(1.6)))
        y, x = rng.integers(0, STRIDE, 2)
        crop = read_image(path)[y:, x:]
        size_wh = np.rint(np.array(crop.shape[1::-1]) * scale).astype(int)
        by = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        image = cv2.resize(crop, tuple(size_wh.tolist()), interpolation=by)
        jpeg = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 86])[1]
        center = (np.array([48, 80]) - [x, y]) * scale
        half = np.array([SHAPE.width, SHAPE.height]) * OBJECT / 2 * scale
        box = np.concatenate([center - half, center + half])[None]
        scenes.append((cv2.imdecode(jpeg, cv2.IMREAD_COLOR), box))
    return scenes


def windows(image: np.ndarray, scanner: WindowScanner, cosines: Channel) -> Parts:
    """Windows that the scanner finds, and their scores by cosines beside its own."""
    trees = scanner.model.channels[cosines.name].tables
    boxes, scores, others = [np.empty((0, 4))], [np.empty(0)], [np.empty(0)]
    for level in SEARCH.levels(image):
        corners, found = scanner.scan(level.image, LEAST)
        boxes.append(SEARCH.boxes(level, corners))
        scores.append(found)
        if len(corners):
            others.append(cosines.scores_at(cosines.prepare(level.image), corners, trees))
    return np.vstack(boxes), np.concatenate(scores), np.concatenate(others)


def weighted(parts: Parts, weight: float) -> Windows:
    boxes, scores, others = parts
    return boxes, scores + weight * others


def figures(crops: list[tuple[Windows, np.ndarray]], photographs: list[Windows], how: dict):
    """Curves of the detections that windows are joined to."""
    settings = {name: value for name, value in how.items() if name != "size"}
    right, false, twice = [], [], []
    for found, person in crops:
        boxes, scores = join(*found, **settings)
        boxes = scaled(boxes, how.get("size", 1.0))
        overlaps = intersection_over_union(boxes, person)[:, 0] >= 0.5
        best = np.flatnonzero(overlaps)[:1]  # the highest score comes first
        right.extend(scores[best])
        away = np.abs((boxes - person)[:, [0, 2]].mean(axis=1)) / np.ptp(person[0, 1::2])
        same = away < SAME
        same[best] = False
        twice.extend(scores[same])
    for found in photographs:
        false.extend(join(*found, **settings)[1])
    share = PEOPLE * len(photographs) / len(crops)
    drawn = np.random.default_rng(0).random(len(twice)) < share
    wrong = np.concatenate([false, np.array(twice)[drawn]])
    scores = np.concatenate([right, wrong])
    order = np.argsort(-scores, kind="stable")
    is_right = np.arange(len(scores)) < len(right)
    return DetectionFigures(scores[order], is_right[order], len(crops), len(photographs))


def search_held_out(options: argparse.Namespace) -> tuple[list, list]:
    """Train, and return the windows of held-out crops, with the person's box, and photographs."""
    learning = Learning(1e-4, 1.0, 1.0, 0, options.weight, options.trees, options.depth)
    crops, photographs, held_crops, held_photographs = split()
    readers = [[partial(read_image, path) for path in paths] for paths in (crops, photographs)]
    search = Search(SHAPE, OBJECT, STRIDE, 1.15, 48, 0)
    bootstrap = Bootstrap(
        "all", search, learning, smallest=options.smallest, n_jobs=1, progress=Silent()
    )
    samples = bootstrap.run(*readers, options.rounds)
    print(f"windows in each round: {[one.n_new for one in bootstrap.rounds]}", flush=True)
    model = train_windows(samples, bootstrap.channels, learning, linear=False)
    model.first_thresholds[:] = options.weight * LEAST_TREES
    acf, census, hog, cosines = bootstrap.channels
    model = replace(model, stage_thresholds=model.stage_thresholds[:-1])
    scanner = WindowScanner([acf, census, hog], model)
    found = [(windows(image, scanner, cosines), box) for image, box in scaled_crops(held_crops)]
    return found, [windows(read_image(path), scanner, cosines) for path in held_photographs]


def show(crops: list[tuple[Parts, np.ndarray]], photographs: list[Parts]) -> None:
    soft = [SHIPPED | {"softness": softness} for softness in SOFTNESS]
    for weight, how in [*product(COSINES, soft), *product([1.0], JOINS)]:
        found = [(weighted(parts, weight), box) for parts, box in crops]
        one = figures(found, [weighted(parts, weight) for parts in photographs], how)
        shown = ", ".join(f"{name} {value}" for name, value in how.items())
        print(
            f"cosines {weight}, {shown}: {one.log_average_miss_rate:.4f}, "
            f"found {one.recall[-1]:.3f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trees", type=int, default=512)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--weight", type=float, default=2.0, help="of the trees")
    parser.add_argument("--smallest", type=float, default=64 / 96, help="scale of crops; 1: none")
    options = parser.parse_args()
    show(*search_held_out(options))


if __name__ == "__main__":
    main()
