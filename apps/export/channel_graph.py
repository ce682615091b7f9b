"""Graphs from pixels to the part of an image's row that a channel gives."""

from collections.abc import Callable
from typing import Any

import numpy as np

from visualwords.apps.export.centrist_graph import census_counts, census_patches
from visualwords.apps.export.color_graph import color_counts, color_patches, statistics_patches
from visualwords.apps.export.filter_graph import filter_patches
from visualwords.apps.export.graph import DOUBLE, FLOAT, FLOAT16, INT8, Value
from visualwords.apps.export.hog_graph import hog_patches, hog_vector
from visualwords.apps.export.model_parts import LENGTH, UNIT, ChannelParts
from visualwords.apps.export.patch_graph import Grid
from visualwords.apps.export.sift_graph import sift_patches
from visualwords.apps.export.window_vector_graph import fisher_vector, second_moments
from visualwords.apps.export.word_graph import word_counts
from visualwords.codebook import BagOfWords, FisherVectors

# Graphs of vectors and of patches of an image by the names of extractors.
VECTORS: dict[str, Callable[[Any, Value], Value]] = {
    "Centrist": census_counts,
    "ColorHistogram": color_counts,
    "HOG": hog_vector,
}
PATCHES: dict[str, Callable[[Any, Value], list[Grid]]] = {
    "Centrist": census_patches,
    "ColorHistogram": color_patches,
    "ColorStatistics": statistics_patches,
    "DenseFilters": filter_patches,
    "DenseSIFT": sift_patches,
    "HOG": hog_patches,
}


_BLACK = np.zeros((64, 64, 3), np.uint8)


def channel_row(parts: ChannelParts, planes: Value) -> Value:
    """The numbers of a channel, (d,): float32 for kernels, int8 for linear classifiers."""
    encoder = parts.encoder
    if not parts.has_patches:
        numbers = VECTORS[parts.name](parts.extractor, planes)
        return _row_of(parts, _comparable(numbers, parts.power))
    if encoder is None:  # there were no patches to learn from
        kind = np.int8 if parts.is_linear else np.float32
        return planes.graph.constant(np.zeros(0, kind))
    grids = PATCHES[parts.name](parts.extractor, planes)
    of_bytes = parts.extractor.extract(_BLACK).descriptors.dtype == np.uint8
    if isinstance(encoder, BagOfWords):
        counts = word_counts(encoder, grids, of_bytes).reshape(-1)
        if encoder.norm is not None and not parts.is_linear:
            counts = (counts * UNIT).cast(FLOAT16).cast(FLOAT)  # as rows are kept
        return _row_of(parts, counts)
    if parts.root:
        grids = [grid._replace(descriptors=grid.descriptors.sqrt()) for grid in grids]
    if isinstance(encoder, FisherVectors):
        numbers = fisher_vector(encoder, grids).reshape(-1) * LENGTH
    else:
        numbers = second_moments(encoder, grids).reshape(-1) * LENGTH
    if parts.is_linear:
        return weighted_bytes(numbers, parts.weight)
    return _limited(numbers) * float(1 / np.float32(LENGTH))


def _row_of(parts: ChannelParts, numbers: Value) -> Value:
    """Numbers of a whole image, scaled for a kernel or as bytes of one length."""
    if parts.is_linear:
        squares = numbers.graph.op("ReduceSumSquare", numbers.cast(DOUBLE), [0])
        length = squares.sqrt().at_least(1e-12)
        return weighted_bytes(numbers * (LENGTH / length).cast(FLOAT), parts.weight)
    return numbers * float(np.float32(parts.weight / parts.scale))


def weighted_bytes(numbers: Value, weight: float) -> Value:
    """Numbers rounded to signed bytes, then times a weight and rounded again."""
    found = _limited(numbers)
    return (found if weight == 1 else _limited(found * weight)).cast(INT8)


def _limited(numbers: Value) -> Value:
    return numbers.round().at_least(-127.0).at_most(127.0)


def _comparable(numbers: Value, power: float | None) -> Value:
    """Counts as shares of their sum, raised to a power."""
    if power is None:
        return numbers
    shares = numbers.cast(DOUBLE) / numbers.cast(DOUBLE).sum(0, keep=True).at_least(1.0)
    return numbers.graph.op("Pow", shares, float(power)).cast(FLOAT)
