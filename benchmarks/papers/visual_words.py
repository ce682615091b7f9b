"""Histograms of visual words of scene15 and Caltech-101, as the papers use them."""

from typing import Any

import numpy as np

from benchmarks.papers.datasets import Pictures, Split, pictures
from benchmarks.papers.lab import Lab
from visualwords.codebook import BagOfWords, KMeansCodebook
from visualwords.features import Centrist, DenseSIFT
from visualwords.features.extractor import Extractor
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets

PATCHES = 100  # of each training image, to learn words from
WORDS = (
    "SIFT of 16 × 16 pixels every 4 pixels, k-means of square roots, 31 windows, "
    "each level of sum 1, seed 0"
)
DESCRIPTORS = {
    "SIFT": lambda: DenseSIFT(bin_size=4, step=4),
    "SIFT at five scales": lambda: DenseSIFT(bin_size=[4, 6, 8, 10, 12], step=8),
    "CENTRIST": lambda: Centrist(layout="dense"),
}


def word_histograms(
    lab: Lab, name: str, n_words: int = 200, output: str = "dense", descriptor: str = "SIFT"
) -> Split:
    """Return histograms of words in 31 windows and class numbers.

    SIFT with bins of 4 pixels every 4 pixels, or another of `DESCRIPTORS`; words of k-means on
    square roots; each of the three levels has sum 1. These settings were chosen on folds of
    scene15's training images.
    """
    key = "words", name, n_words, output, descriptor
    return lab.once(key, lambda: _make_histograms(lab, name, n_words, output, descriptor))


def _make_histograms(lab: Lab, name: str, n_words: int, output: str, descriptor: str) -> Split:
    train, test = pictures(lab, name)
    extractor = DESCRIPTORS[descriptor]()
    codebook = KMeansCodebook(5 if lab.quick else n_words, random_state=0, root=True)
    words = BagOfWords(codebook, 31, norm="l1", scope="level", output=output)
    words.fit(sampled(lab, train, extractor))
    rows = [encoded(lab, part, extractor, words) for part in (train, test)]
    classes = np.unique(train.labels)
    codes = [np.searchsorted(classes, part.labels) for part in (train, test)]
    return Split(rows[0], codes[0], rows[1], codes[1])


def sampled(lab: Lab, part: Pictures, extractor: Extractor) -> LocalFeatureSets:
    """Some patches of every image."""
    rng, sets = np.random.default_rng(0), []
    for image in lab.steps("sampling patches", part.images):
        sets.append(some_patches(extractor.extract(image), PATCHES, rng))
    return LocalFeatureSets.concatenate(sets)


def some_patches(features: LocalFeatures, n: int, rng: np.random.Generator) -> LocalFeatures:
    """Return at most n random patches of an image."""
    rows = np.sort(rng.permutation(len(features))[:n])
    parts = (features.descriptors, features.positions, features.sizes)
    return LocalFeatures(*(part[rows] for part in parts))


def encoded(lab: Lab, part: Pictures, extractor: Extractor, words: BagOfWords) -> Any:
    """Histograms of images."""
    from scipy import sparse

    rows = [words.transform([extractor.extract(i)]) for i in lab.steps("words", part.images)]
    dense = words.output == "dense"
    return np.concatenate(rows) if dense else sparse.csr_matrix(sparse.vstack(rows))
