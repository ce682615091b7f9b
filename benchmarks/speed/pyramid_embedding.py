"""The pyramid match without a Gram matrix: the same answers, and sets by the ten thousands.

    python -m benchmarks.speed.pyramid_embedding

1) ETH-80, five folds of sixteen objects: a kernel SVM on the Gram matrix and a linear SVM on the
   embedding of the same sets, both with the hinge loss; then the intersection SVM on the counts
   and the same problem on the Gram matrix of minima. Share of equal predictions.
2) 20,000 generated sets: train on the embedding and compare the memory with that of a Gram matrix.
"""

# isort: off
from benchmarks.timing import Table
# isort: on

import resource
import time

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.data import DATA
from benchmarks.papers.datasets import five_views
from benchmarks.papers.lab import Lab
from benchmarks.papers.pmk_objects import places_in_class
from visualwords.classifiers import KernelSVC
from visualwords.classifiers.kernels import pyramid_match
from visualwords.codebook import FeatureSetEncoder, FeatureSets, PyramidMatchEmbedding
from visualwords.features import DenseSIFT
from visualwords.features.local_features import LocalFeatureSets

SHIFTS, FINEST, C = 2, 5, 1.0


def eth80_folds():
    """Sets and classes in five folds; the encoder is learned from the training objects."""
    images, classes, objects = five_views(Lab(DATA))
    features = DenseSIFT(bin_size=8, step=6).transform(images)
    place = places_in_class(classes, objects)
    for k in range(5):
        train, test = np.flatnonzero(place % 5 != k), np.flatnonzero(place % 5 == k)
        encoder = FeatureSetEncoder(6, sample_size=20_000)
        encoder.fit(LocalFeatureSets.concatenate(features[i] for i in train))
        sets = encoder.transform(features)
        yield sets[train], classes[train], sets[test], classes[test]


def gram_and_linear(train, y, test):
    """Predictions of a kernel SVM on the Gram matrix, and of a linear SVM on the embedding."""
    options = {"n_shifts": SHIFTS, "normalization": "self", "finest_level": FINEST}
    kernel = KernelSVC(pyramid_match, C=C, kernel_params=options, tol=1e-4).fit(train, y)
    embedding = PyramidMatchEmbedding(SHIFTS, finest_level=FINEST).fit(train)
    # the intercept is a weight like others there: make its penalty small
    linear = LinearSVC(C=C, loss="hinge", intercept_scaling=10, tol=1e-3, max_iter=20_000)
    linear.fit(embedding.transform(train), y)
    return kernel.predict(test), linear.predict(embedding.transform(test))


def same_answers(table):
    equal, right = [], []
    for train, y, test, answers in eth80_folds():
        first, second = gram_and_linear(train, y, test)
        equal += list(first == second)
        right += list(second == answers)
    title = "ETH-80: KernelSVC on Gram = LinearSVC on embedding, %"
    table.check(title, 100 * np.mean(equal), 99)
    table.check("ETH-80: correct, %", 100 * np.mean(right), 90)


def generated(n, rng):
    """Sets of 50 … 150 points around the 20 centres of one of ten classes, and clutter."""
    centers = rng.integers(0, 256, (10, 20, 6))
    classes = rng.integers(0, 10, n)
    arrays = []
    for c in classes:
        own = centers[c][rng.integers(0, 20, rng.integers(25, 75))]
        points = own + rng.normal(0, 14, own.shape)
        arrays.append(np.concatenate([points, rng.integers(0, 256, own.shape)]).clip(0, 255))
    return FeatureSets.from_arrays(arrays, 256), classes


def many_sets(table, n=20_000):
    sets, classes = generated(n + 2000, np.random.default_rng(0))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    embedding = PyramidMatchEmbedding(2, finest_level=4, min_sets=2)
    rows = embedding.fit_transform(sets[:n])
    model = LinearSVC(C=1.0).fit(rows, classes[:n])
    score = model.score(embedding.transform(sets[n:]), classes[n:])
    spent = time.process_time() - start
    extra = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
    print(
        f"{n} sets, {len(sets.points)} points: {rows.nnz / 1e6:.0f} million numbers in "
        f"{rows.shape[1]} columns; {spent:.0f} s"
    )
    table.check("20,000 sets: correct on 2,000 new ones, %", 100 * score, 90)
    table.check(
        f"GB taken (a Gram matrix has {8 * n * n / 2**30:.1f})",
        extra,
        8 * n * n / 2**30 / 2,
        at_least=False,
    )


def main():
    table = Table("Pyramid match as an embedding")
    many_sets(table)
    same_answers(table)


if __name__ == "__main__":
    main()
