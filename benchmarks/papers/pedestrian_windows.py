"""Windows of pedestrians and hard windows without any, as CENTRIST counts: [Wu10], Sec. 4.2.

Bootstrapping as in Dalal and Triggs (2005): a first classifier learns from the crops and random
windows of person-free photographs, then searches these photographs; what it takes for a pedestrian
joins the negatives.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from benchmarks.papers.generated import texture
from benchmarks.papers.lab import Lab
from visualwords.classifiers import ICDClassifier
from visualwords.features import Centrist
from visualwords.features.pixels import resize_image

HEIGHT, WIDTH = 108, 36  # of a window
CROP = (128, 43)  # of the middle of a positive crop: the window's shape, some air around the person
RANDOM, HARD = 3000, 3000  # negatives
SCALES, STRIDE = (1.0, 0.8, 0.64, 0.5), 8


class Windows(NamedTuple):
    """Counts (n, 6144), +1 for pedestrians and −1, and the photograph each window is from."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


def bootstrapped_windows(lab: Lab) -> Windows:
    """Return pedestrians with their mirror images, random and hard negatives."""
    return lab.once("windows", lambda: _make_windows(lab))


def _make_windows(lab: Lab) -> Windows:
    extractor = Centrist(layout="pedestrian")
    people, names = positives(lab)
    shown = [image for crop in people for image in (crop, crop[:, ::-1])]
    counts = [extractor.describe(image) for image in lab.steps("pedestrians", shown)]
    photographs = list(negatives(lab))
    easy, easy_from = random_windows(lab, extractor, photographs)
    X = np.concatenate([np.array(counts, np.uint16), easy])
    y = np.repeat([1, -1], [len(counts), len(easy)])
    first = ICDClassifier(quantization="integer").fit(X, y)
    hard, hard_from = false_alarms(lab, extractor, photographs, first)
    sources = [f"photograph {k}" for k in (*easy_from, *hard_from)]
    return Windows(
        np.concatenate([X, hard]),
        np.concatenate([y, np.full(len(hard), -1)]),
        np.concatenate([np.repeat(names, 2), sources]),
    )


def positives(lab: Lab) -> tuple[list[np.ndarray], np.ndarray]:
    """The middle of the crops, and the photograph that each is from."""
    if lab.quick:
        rng = np.random.default_rng(0)
        crops = [texture(1, rng, 160)[: CROP[0], : CROP[1]] for _ in range(12)]
        return crops, np.array([f"crop{i}" for i in range(12)])
    from visualwords.images import read_image

    paths = sorted((lab.folder("pedestrian") / "train" / "pos").iterdir())
    images = [read_image(path, "grey") for path in lab.steps("reading crops", paths)]
    middles = [middle(image) for image in images]
    return middles, np.array([path.stem[:-1] for path in paths])


def middle(image: np.ndarray) -> np.ndarray:
    """The middle of an image."""
    top, left = (image.shape[0] - CROP[0]) // 2, (image.shape[1] - CROP[1]) // 2
    return image[top : top + CROP[0], left : left + CROP[1]]


def negatives(lab: Lab) -> Iterator[np.ndarray]:
    """Photographs without people."""
    if lab.quick:
        rng = np.random.default_rng(1)
        yield from (texture(kind, rng, 140) for kind in (0, 2, 3, 4))
        return
    from visualwords.images import read_image

    paths = sorted((lab.folder("pedestrian") / "train" / "neg").iterdir())
    for path in lab.steps("reading photographs", paths):
        yield read_image(path, "grey")


def scaled_down(photograph: np.ndarray) -> Iterator[np.ndarray]:
    """The photograph in all sizes that hold a window."""
    for scale in SCALES:
        height, width = (round(scale * side) for side in photograph.shape)
        if height >= HEIGHT and width >= WIDTH:
            yield photograph if scale == 1 else resize_image(photograph, width, height)


def random_windows(
    lab: Lab, extractor: Centrist, photographs: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The same number of random windows from every photograph."""
    rng, found, groups = np.random.default_rng(0), [], []
    n = max(1, (40 if lab.quick else RANDOM) // len(photographs))
    for number, photograph in enumerate(lab.steps("random windows", photographs)):
        sizes = list(scaled_down(photograph))
        for _ in range(n):
            image = sizes[rng.integers(len(sizes))]
            top = rng.integers(image.shape[0] - HEIGHT + 1)
            left = rng.integers(image.shape[1] - WIDTH + 1)
            window = image[top : top + HEIGHT, left : left + WIDTH]
            found.append(extractor.describe(window))
            groups.append(number)
    return np.array(found, np.uint16), np.array(groups)


def all_windows(photograph: np.ndarray) -> Iterator[np.ndarray]:
    """Every window of every size, eight pixels apart."""
    for image in scaled_down(photograph):
        for top in range(0, image.shape[0] - HEIGHT + 1, STRIDE):
            for left in range(0, image.shape[1] - WIDTH + 1, STRIDE):
                yield image[top : top + HEIGHT, left : left + WIDTH]


def false_alarms(
    lab: Lab, extractor: Centrist, photographs: list[np.ndarray], model: ICDClassifier
) -> tuple[np.ndarray, np.ndarray]:
    """False positives of the model; at most HARD, at random."""
    found, groups = [], []
    for number, photograph in enumerate(lab.steps("searching", photographs)):
        counts = np.array([extractor.describe(w) for w in all_windows(photograph)], np.uint16)
        wrong = counts[model.decision_function(counts) > 0]
        found.append(wrong)
        groups += [number] * len(wrong)
    rows = np.random.default_rng(0).permutation(len(groups))[: 40 if lab.quick else HARD]
    return np.concatenate(found)[rows], np.array(groups, int)[rows]
