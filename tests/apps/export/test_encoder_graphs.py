"""Graphs of what patches become give the numbers of the encoders."""

import numpy as np
import pytest

from tests.apps.export.graphs import images, runner
from visualwords.apps.export.encoder_graph import fisher_vector, second_moments, word_counts
from visualwords.apps.export.model_graph import PATCHES
from visualwords.codebook import (
    BagOfWords,
    FisherVectors,
    HIKCodebook,
    KMeansCodebook,
    SecondOrderPooling,
    SpatialPyramid,
)
from visualwords.features import HOG, Centrist, DenseSIFT
from visualwords.features.local_features import LocalFeatureSets

SIFT = DenseSIFT([4, 6], 5)
CENTRIST = Centrist(layout="dense", patch_size=24)
THIRDS = SpatialPyramid([(1, 1), (3, 1)], weights=(2.0, 1.0))


def difference(extractor, encoder, graph_of):
    """The largest difference of what a graph and an encoder make of patches, in shares of it."""
    sets = LocalFeatureSets.concatenate(extractor.extract(image) for image in images())
    encoder.fit(sets)

    def compute(planes):
        grids = PATCHES[type(extractor).__name__](extractor, planes)
        return [graph_of(encoder, grids, sets.descriptors.dtype == np.uint8)]

    run = runner(compute, [2], extractor.color_mode == "grey")
    largest = 0.0
    for image, features in zip(images(), sets):
        wanted = encoder.encode(features)
        found = run(image)[0].ravel()
        assert found.shape == wanted.shape
        largest = max(largest, np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-9))
    return largest


@pytest.mark.parametrize(
    ("extractor", "words"),
    [
        (SIFT, BagOfWords(KMeansCodebook(9, 0, root=True), 31, norm="l1", scope="level")),
        (SIFT, BagOfWords(HIKCodebook(5, random_state=0), 8, norm="l2", power=0.5)),
        (CENTRIST, BagOfWords(HIKCodebook(4, 32, 0, center="median"), 1)),
        (CENTRIST, BagOfWords(KMeansCodebook(6, 0, root=True), THIRDS, norm="l1", scope="image")),
    ],
)
def test_words_are_counted_in_the_same_windows(extractor, words):
    # A number of SIFT may be rounded the other way, and then a patch may have another word.
    assert difference(extractor, words, word_counts) < 0.06


@pytest.mark.parametrize(
    ("extractor", "fisher"),
    [
        (SIFT, FisherVectors(8, 12, THIRDS, 0)),
        (SIFT, FisherVectors(5, 20, 31, 0, power=1.0, scope="image")),
        (HOG(cell_size=4), FisherVectors(6, None, 1, 0)),
    ],
)
def test_fisher_vectors_are_the_same(extractor, fisher):
    assert difference(extractor, fisher, lambda *given: fisher_vector(*given[:2])) < 0.02


def test_second_moments_are_the_same():
    pooling = SecondOrderPooling(8, THIRDS, 0)
    assert difference(SIFT, pooling, lambda *given: second_moments(*given[:2])) < 0.02
