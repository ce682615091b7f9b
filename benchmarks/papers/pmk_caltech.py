"""[Grauman06], Sec. 4.2: Caltech-101 with more and more training images."""

from typing import Any

import numpy as np

from benchmarks.papers.datasets import pictures
from benchmarks.papers.experiments import PMK, experiment
from benchmarks.papers.generated import Pictures
from benchmarks.papers.lab import Lab, timed
from benchmarks.papers.results import Panel, Results, Row, Table
from benchmarks.papers.visual_words import mean_per_class
from visualwords.classifiers import KernelSVC
from visualwords.classifiers.kernels import pyramid_match
from visualwords.codebook import FeatureSetEncoder, FeatureSets
from visualwords.features import DenseSIFT

SHIFTS, C, STEP, COMPONENTS = 3, 10.0, 8, 10
BIN_SIZES, FINEST = (8, (6, 12)), (5, 6)
PAPER = {1: 18.0, 15: 50.0}  # Sec. 4.2
OTHER = "other patches, coarser finest bins, fewer images to draw from and to test on"
SIZES, RUNS = (1, 2, 3, 5, 10, 15), 5


@experiment(
    *("pmk-caltech", PMK, "Figure 5"),
    data=("caltech101",),
    minutes=1,
    missing="the paper draws from all images of Caltech-101; here 15 and at most 12 of each class "
    "are at hand.",
)
def figure5(lab: Lab) -> Results:
    """Accuracy of the pyramid match over the number of training images a class.

    Dense SIFT, 10 components and the position, T = 3, one-vs-rest, mean accuracy per class over 101
    classes, as in the paper. Patch sizes and the finest level are chosen by cross-validation on the
    training images, where the paper has finest bins of side 1 and does not name its patches. For
    every number of training images, random images of the 15 of each class are drawn and the same
    test images (at most 12 a class) are used; the paper draws from all images and tests on all
    others, ten times. Its curve is printed as a figure; the text gives the first value and that for
    15. The encoder (without labels) and both choices come from all 15 images at every size.
    """
    train, test = pictures(lab, "caltech101")
    (bin_size, finest), tried = choose(lab, train)
    (gram, labels), seconds = timed(whole_gram, train, test, bin_size, finest)
    largest = int(np.unique(train.labels, return_counts=True)[1].min())
    rows, curve = [], {}
    sizes = [size for size in SIZES if size <= largest]
    for size in lab.steps("training sizes", sizes):
        n_runs = 1 if size == largest else RUNS  # all images: nothing is drawn
        curve[size] = [accuracy(gram, labels, train, size, seed) for seed in range(n_runs)]
        spread = float(np.std(curve[size], ddof=1)) if n_runs > 1 else None
        title = f"{size} training image{'s' * (size > 1)} a class"
        rows.append(Row(title, float(np.mean(curve[size])), PAPER.get(size), spread, unlike=OTHER))
    return Results(
        f"{len(train.labels)} training and {len(test.labels)} test images of "
        f"{len(set(train.labels))} classes; {RUNS} random draws (seeds 0, 1, …).",
        rows,
        notes=[
            f"Bins of {bin_size} pixels and finest level {finest} were chosen; the Gram matrix of "
            f"all images took {seconds:.0f} s with extraction."
        ],
        tables=[Table("Accuracy on training folds, %", ("bins, finest level", ""), tried)],
        panels=[
            Panel(
                *("", "training images a class", "mean accuracy per class, %"),
                {
                    "ours": (sizes, *zip(*((np.mean(v), np.std(v)) for v in curve.values()))),
                    "paper (text)": (list(PAPER), list(PAPER.values())),
                },
            )
        ],
    )


def choose(lab: Lab, train: Pictures) -> tuple[tuple[Any, int], list[list[object]]]:
    """The bin sizes and finest level with the best cross-validated accuracy."""
    tried = {}
    for bin_size in lab.steps("choosing", BIN_SIZES):
        sets = FeatureSetEncoder(COMPONENTS).fit_transform(features(train, bin_size))
        for finest in FINEST:
            gram = pyramid_match(sets, None, SHIFTS, "self", finest_level=finest) / SHIFTS
            tried[bin_size, finest] = cross_validate(gram, train.labels)
    return max(tried, key=lambda key: tried[key]), [[str(key), v] for key, v in tried.items()]


def features(part: Pictures, bin_size: Any) -> Any:
    """Dense SIFT of all images."""
    return DenseSIFT(bin_size, STEP).transform(part.images)


def cross_validate(gram: np.ndarray, labels: np.ndarray) -> float:
    """Mean accuracy per class in three folds, in percent."""
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(min(3, len(labels) // len(set(labels))), shuffle=True, random_state=0)
    scores = [fit_and_test(gram, labels, a, b) for a, b in folds.split(gram, labels)]
    return float(np.mean(scores))


def whole_gram(
    train: Pictures, test: Pictures, bin_size: Any, finest: int
) -> tuple[np.ndarray, np.ndarray]:
    """Gram matrix of training images, then test images, and all labels."""
    encoder = FeatureSetEncoder(COMPONENTS)
    parts = [encoder.fit_transform(features(train, bin_size))]
    parts.append(encoder.transform(features(test, bin_size)))
    sets = FeatureSets.from_arrays([one for part in parts for one in part], parts[0].side)
    gram = pyramid_match(sets, None, SHIFTS, "self", finest_level=finest) / SHIFTS
    return gram, np.concatenate([train.labels, test.labels])


def accuracy(gram: np.ndarray, labels: np.ndarray, train: Pictures, size: int, seed: int) -> float:
    """Train with some images of every class and test on all test images."""
    rng, n = np.random.default_rng(seed), len(train.labels)
    own = [np.flatnonzero(train.labels == name) for name in np.unique(train.labels)]
    drawn = np.concatenate([rng.permutation(rows)[:size] for rows in own])
    return fit_and_test(gram, labels, drawn, np.arange(n, len(labels)))


def fit_and_test(gram: np.ndarray, labels: np.ndarray, train: Any, test: Any) -> float:
    """Mean accuracy per class in percent."""
    model = KernelSVC("precomputed", C=C).fit(gram[np.ix_(train, train)], labels[train])
    answers = model.predict(gram[np.ix_(test, train)])
    return 100 * mean_per_class(labels[test], answers)
