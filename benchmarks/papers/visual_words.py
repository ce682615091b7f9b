"""Histograms of visual words of scene15 and Caltech-101, as the papers use them."""

from functools import partial

import numpy as np
from scipy import sparse

from benchmarks.papers.datasets import Split, pictures
from benchmarks.papers.lab import Lab
from visualwords.codebook import BagOfWords, KMeansCodebook
from visualwords.features import Centrist, DenseSIFT
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
    """Histograms of words in 31 windows and class numbers.

    SIFT with bins of 4 pixels every 4 pixels, or another of `DESCRIPTORS`; words of k-means on
    square roots; each of the three levels has sum 1. These settings were chosen on folds of
    scene15's training images.
    """

    def learn_and_encode() -> Split:
        train, test = pictures(lab, name)
        extractor, rng = DESCRIPTORS[descriptor](), np.random.default_rng(0)
        codebook = KMeansCodebook(5 if lab.quick else n_words, random_state=0, root=True)
        words = BagOfWords(codebook, 31, norm="l1", scope="level", output=output)
        images = lab.steps("sampling patches", train.images)
        samples = (some_patches(extractor.extract(image), PATCHES, rng) for image in images)
        words.fit(LocalFeatureSets.concatenate(samples))
        parts = []
        for part in (train, test):
            images = lab.steps("words", part.images)
            rows = [words.transform([extractor.extract(image)]) for image in images]
            stack = np.concatenate if output == "dense" else partial(sparse.vstack, format="csr")
            parts += [stack(rows), np.searchsorted(np.unique(train.labels), part.labels)]
        return Split(*parts)

    return lab.once(("words", name, n_words, output, descriptor), learn_and_encode)


def some_patches(features: LocalFeatures, n: int, rng: np.random.Generator) -> LocalFeatures:
    """At most n random patches of an image."""
    rows = np.sort(rng.permutation(len(features))[:n])
    parts = (features.descriptors, features.positions, features.sizes)
    return LocalFeatures(*(part[rows] for part in parts))
