"""[Wu10], Sec. 4.2: windows of pedestrians and hard windows without any, as CENTRIST counts.

Bootstrapping as in Dalal and Triggs (2005): a first classifier learns from the crops and random
windows of person-free photographs, then searches these photographs; what it takes for a pedestrian
joins the negatives.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedGroupKFold

from benchmarks.papers.datasets import texture
from benchmarks.papers.lab import ICD, Lab, experiment, timed
from benchmarks.papers.peers import liblinear
from benchmarks.papers.results import Results, Row
from visualwords.classifiers import ICDClassifier
from visualwords.features import Centrist
from visualwords.features.pixels import resize_image
from visualwords.images import read_image

HEIGHT, WIDTH = 108, 36  # of a window
CROP = (128, 43)  # of the middle of a positive crop: the window's shape, some air around the person
RANDOM, HARD = 3000, 3000  # negatives
SCALES, STRIDE = (1.0, 0.8, 0.64, 0.5), 8
PAPER = {"ICD": (98.56, 21.4), "LIBLINEAR": (90.69, 1000.0)}  # accuracy, iterations
FEWER = "8,216 windows of 400 photographs in place of 30,711 windows of 1,218"


class Windows(NamedTuple):
    """Counts (n, 6144), +1 for pedestrians and −1, and the photograph each window is from."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


@experiment("icd-table2", ICD, "Table 2", data=("pedestrian",), minutes=2.5)
def table2(lab: Lab) -> Results:
    """Pedestrian windows after bootstrapping: the HIK SVM against the linear one.

    CENTRIST of 108 × 36 windows, 6,144 counts up to 352, taken as they are; ICD with C = 10⁻³,
    LIBLINEAR with C = 1 and at most 1,000 iterations; five folds. The paper's 30,711 windows come
    from 1,218 photographs; here there are 400 of them, scaled down, and at most 3,000 random and
    3,000 hard windows, found by a first HIK classifier. The paper's ratio of times is 160 / 681 =
    0.23; ours is the first note below.

    HIK beats linear by 3 to 4 points (the paper: 8) and in few iterations. The mirror image of a
    window and other windows of its photograph stay in its fold; in "mixed folds" they do not (the
    paper does not say). LIBLINEAR converges here before its 1,000th iteration, which it does not in
    the paper.

    **Not repeated.** The paper's 1,218 person-free photographs; here there are 400.
    """
    windows = lab.once("windows", partial(bootstrapped_windows, lab))
    mixed = windows._replace(groups=np.arange(len(windows.y)))
    rows, total = [], {}
    for method, (paper, paper_iterations) in PAPER.items():
        for title, data in ((method, windows), (f"{method}, mixed folds", mixed)):
            parts = list(folds(data, 2 if lab.quick else 5))
            fits = [fit_and_test(method, data, *part) for part in lab.steps(title, parts)]
            accuracies, seconds, iterations = zip(*fits)
            total[title] = sum(seconds)
            options = {"rival": method != "ICD", "unlike": FEWER}
            first = Row.mean(f"{title}, accuracy", accuracies, paper, **options)
            what, mean = f"{title}, iterations", float(np.mean(iterations))
            rows.append(replace(first, seconds=total[title]))
            rows.append(Row(what, mean, paper_iterations, unit="", **options))
    return Results(
        f"{len(windows.y):,} windows, {(windows.y > 0).sum():,} of them pedestrians and their "
        f"mirror images; {np.count_nonzero(windows.X) / 1e6:.0f} million counts are not zero. "
        "Seed 0.",
        rows,
        notes=[
            f"Training time of ICD / LIBLINEAR: {total['ICD'] / total['LIBLINEAR']:.2f}.",
            "Seconds: training of all folds, each the faster of two runs.",
        ],
    )


def folds(windows: Windows, n: int) -> Any:
    """Folds that keep photographs together."""
    splitter = StratifiedGroupKFold(n, shuffle=True, random_state=0)
    return splitter.split(windows.X, windows.y, windows.groups)


def fit_and_test(
    method: str, windows: Windows, train: np.ndarray, test: np.ndarray
) -> tuple[float, float, float]:
    """Accuracy in percent, seconds and iterations."""
    rows, model = windows.X, ICDClassifier(quantization="integer")
    if method == "LIBLINEAR":
        rows, model = sparse.csr_matrix(windows.X, dtype=np.float64), liblinear()
    _, seconds = timed(model.fit, rows[train], windows.y[train], runs=2)
    return 100 * model.score(rows[test], windows.y[test]), seconds, float(np.max(model.n_iter_))


def bootstrapped_windows(lab: Lab) -> Windows:
    """Pedestrians with their mirror images, random and hard negatives."""
    describe, rng = Centrist(layout="pedestrian").describe, np.random.default_rng(0)
    people, names, photographs = crops_and_photographs(lab)
    shown = [image for crop in people for image in (crop, crop[:, ::-1])]
    counts, groups = [describe(image) for image in shown], np.repeat(names, 2).tolist()
    n_each = max(1, (40 if lab.quick else RANDOM) // len(photographs))
    numbered = [(f"photograph {number}", one) for number, one in enumerate(photographs)]
    for name, photograph in lab.steps("random windows", numbered):
        windows = list(all_windows(photograph, stride=1 if lab.quick else 4))
        counts += [describe(windows[k]) for k in rng.integers(len(windows), size=n_each)]
        groups += [name] * n_each
    X = np.array(counts, np.uint16)
    y = np.where(np.arange(len(X)) < len(shown), 1, -1)
    first = ICDClassifier(quantization="integer").fit(X, y)
    hard, sources = [X[:0]], []
    for name, photograph in lab.steps("searching", numbered):
        own = np.array([describe(window) for window in all_windows(photograph)], np.uint16)
        hard.append(own[first.decision_function(own) > 0])
        sources += [name] * len(hard[-1])
    kept = rng.permutation(len(sources))[: 40 if lab.quick else HARD]
    X = np.concatenate([X, np.concatenate(hard)[kept]])
    y = np.concatenate([y, np.full(len(kept), -1)])
    return Windows(X, y, np.array([*groups, *(sources[k] for k in kept)]))


def crops_and_photographs(lab: Lab) -> tuple[list[np.ndarray], list[str], list[np.ndarray]]:
    """The middle of the crops, the photograph that each is from, and photographs without people."""
    if lab.quick:
        rng = np.random.default_rng(0)
        crops = [texture(1, rng, 160)[: CROP[0], : CROP[1]] for _ in range(12)]
        photographs = [texture(kind, rng, 140) for kind in (0, 2, 3, 4)]
        return crops, [f"crop{i}" for i in range(12)], photographs
    folder = lab.folder("pedestrian") / "train"
    paths, negatives = (sorted((folder / name).iterdir()) for name in ("pos", "neg"))
    crops = []
    for image in (read_image(path, "grey") for path in lab.steps("reading crops", paths)):
        top, left = (image.shape[0] - CROP[0]) // 2, (image.shape[1] - CROP[1]) // 2
        crops.append(image[top : top + CROP[0], left : left + CROP[1]])
    photographs = [read_image(p, "grey") for p in lab.steps("reading photographs", negatives)]
    return crops, [path.stem[:-1] for path in paths], photographs


def all_windows(photograph: np.ndarray, stride: int = STRIDE) -> Iterator[np.ndarray]:
    """Every window of every size that the photograph is scaled down to, some pixels apart."""
    for scale in SCALES:
        height, width = (round(scale * side) for side in photograph.shape)
        if height < HEIGHT or width < WIDTH:
            continue
        image = photograph if scale == 1 else resize_image(photograph, width, height)
        for top in range(0, height - HEIGHT + 1, stride):
            for left in range(0, width - WIDTH + 1, stride):
                yield image[top : top + HEIGHT, left : left + WIDTH]
