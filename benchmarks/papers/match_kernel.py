"""Accuracy against run time, with ever more patches an image: Figure 4 of [Grauman06].

The pyramid match (T = 1) against the "match" kernel of Wallraven et al. (2003), the mean similarity
of every feature to its best partner, which compares all pairs of features: O(dm²) a pair of sets.
"""

from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers.lab import Lab, timed
from benchmarks.papers.visual_words import some_patches
from visualwords.classifiers import KernelSVC
from visualwords.classifiers.kernels import pyramid_match
from visualwords.codebook import FeatureSetEncoder
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets

SIZES, QUICK_SIZES = (10, 20, 40, 80, 160), (5, 10)
MOST_FOR_MATCH = 80  # patches: beyond, the match kernel takes minutes
FINEST = 5  # chosen on training objects in most folds of the experiment


class Point(NamedTuple):
    """One experiment."""

    kernel: str
    n_patches: int
    accuracy: float
    seconds: float


def accuracy_over_time(
    lab: Lab, features: LocalFeatureSets, classes: np.ndarray, places: np.ndarray
) -> list[Point]:
    """Return accuracy and time of the Gram matrix for growing numbers of patches."""
    points = []
    for n in lab.steps("patches an image", QUICK_SIZES if lab.quick else SIZES):
        some = LocalFeatureSets.concatenate(sampled(features, n))
        sets = FeatureSetEncoder(6, sample_size=20_000).fit_transform(some)
        options = {"n_shifts": 1, "normalization": "self", "finest_level": FINEST}
        gram, seconds = timed(lambda s=sets, o=options: pyramid_match(s, **o))
        points.append(Point("pyramid match", n, cross_validate(gram, classes, places), seconds))
        if n <= MOST_FOR_MATCH:
            gram, seconds = timed(match_gram, [np.asarray(one, float) for one in sets])
            points.append(Point("match kernel", n, cross_validate(gram, classes, places), seconds))
    return points


def sampled(features: LocalFeatureSets, n: int) -> list[LocalFeatures]:
    """Return at most n random patches of every image."""
    rng = np.random.default_rng(0)
    return [some_patches(one, n, rng) for one in features]


def match_gram(sets: list[np.ndarray]) -> np.ndarray:
    """Return the mean, over both sets, of every feature's similarity to its best partner."""
    squares = [np.einsum("nd,nd->n", one, one) for one in sets]
    scale = np.mean([np.var(one, axis=0).sum() for one in sets])
    gram = np.eye(len(sets))
    for i, x in enumerate(sets):
        for j in range(i):
            apart = squares[i][:, None] - 2 * x @ sets[j].T + squares[j]
            alike = np.exp(-apart / scale)
            gram[i, j] = gram[j, i] = (alike.max(axis=0).mean() + alike.max(axis=1).mean()) / 2
    return gram


def cross_validate(gram: np.ndarray, classes: np.ndarray, places: np.ndarray) -> float:
    """Return the accuracy in percent, leaving out the objects of one place in all classes."""
    right = []
    for place in range(places.max() + 1):
        train, test = np.flatnonzero(places != place), np.flatnonzero(places == place)
        model = KernelSVC("precomputed", C=10.0).fit(gram[np.ix_(train, train)], classes[train])
        right += list(model.predict(gram[np.ix_(test, train)]) == classes[test])
    return 100 * float(np.mean(right))


def draw(figure: Any, points: list[Point]) -> None:
    """Accuracy over the time of the Gram matrix; the numbers are patches an image."""
    axis = figure.subplots()
    for kernel in ("pyramid match", "match kernel"):
        own = [point for point in points if point.kernel == kernel]
        seconds, values = [p.seconds for p in own], [p.accuracy for p in own]
        axis.semilogx(seconds, values, "o-", label=kernel)
        for point in own:
            axis.annotate(f" {point.n_patches}", (point.seconds, point.accuracy), fontsize=8)
    axis.set(xlabel="seconds for the Gram matrix", ylabel="accuracy, %")
    axis.legend()
