"""The graph of a whole model: image in; label, probabilities and scores out.

The only file that reads the attributes of a fitted classifier.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from visualwords.apps.export.centrist_graph import census_counts, census_patches
from visualwords.apps.export.classifier_graph import class_scores, label_code, probabilities
from visualwords.apps.export.color_graph import color_counts, color_patches, statistics_patches
from visualwords.apps.export.encoder_graph import fisher_vector, second_moments, word_counts
from visualwords.apps.export.filter_graph import filter_patches
from visualwords.apps.export.graph import DOUBLE, FLOAT, FLOAT16, INT8, TEXT, UINT8, Graph, Value
from visualwords.apps.export.grid_graph import Grid
from visualwords.apps.export.hog_graph import hog_patches, hog_vector
from visualwords.apps.export.image_graph import as_grey, planes_of, resize_view
from visualwords.apps.export.sift_graph import sift_patches
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.encoder import LENGTH, UNIT, ChannelEncoder
from visualwords.codebook import BagOfWords, FisherVectors
from visualwords.features.extractor import Extractor

if TYPE_CHECKING:
    import onnx

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


def model_graph(
    model: ImageClassifier, size: tuple[int, int] | None, metadata: dict[str, str]
) -> "onnx.ModelProto":
    """Write the graph of a model.

    Parameters
    ----------
    model : ImageClassifier
        Fitted.
    size : (width, height) or None
        Of all images; None: any.
    metadata : dict of str → str
    """
    graph = Graph()
    width, height = ("width", "height") if size is None else size
    image = graph.input("image", UINT8, [1, height, width, 3])
    scores = class_scores(model.classifier_, _row(model, planes_of(image)))
    calibration, decision, n = model.calibration_, model.decision_, len(model.classes_)
    chances = scores
    if calibration is not None:
        chances = probabilities(scores, calibration.slope, calibration.offsets)
    code = label_code(chances, decision.costs, decision.thresholds)
    names = graph.constant(np.append(model.classes_, str(decision.rejected)).astype(str))
    graph.output("label", graph.op("Gather", names, code, kind=TEXT), [1])
    if calibration is not None:
        graph.output("probabilities", chances.reshape(1, n), [1, n])
    graph.output("scores", scores.reshape(1, n), [1, n])
    return graph.model("image_classifier", metadata)


def _row(model: ImageClassifier, rgb: Value) -> Value:
    """The row of an image, which all channels make together."""
    recipe = model.recipe_
    planes: dict[str, Value] = {}  # by the mode that extractors want
    rows = []
    for encoder in model.encoders_:
        extractor = encoder.channel.build()
        mode = extractor.color_mode
        if mode not in planes:
            whole = as_grey(rgb) if mode == "grey" else rgb
            planes[mode] = resize_view(whole, recipe.max_side, recipe.min_side)
        rows.append(_part_of_row(encoder, extractor, planes[mode]))
    if any(row.kind == FLOAT for row in rows):
        rows = [row.cast(FLOAT) for row in rows]
    return rgb.graph.concat(rows, 0)


def _part_of_row(encoder: ChannelEncoder, extractor: Extractor, planes: Value) -> Value:
    """The numbers of a channel, (d,): float32 for kernels, int8 for linear classifiers."""
    channel, codebook = encoder.channel, encoder.codebook
    if not channel.learns:
        counts = VECTORS[channel.extractor](extractor, planes)
        return _scaled(encoder, _as_shares(counts, channel.exponent))
    if codebook is None:  # there were no patches to learn from
        return planes.graph.constant(np.zeros(0, np.int8 if channel.linear else np.float32))
    grids = PATCHES[channel.extractor](extractor, planes)
    if isinstance(codebook, BagOfWords):
        of_bytes = extractor.extract(_BLACK).descriptors.dtype == np.uint8
        counts = word_counts(codebook, grids, of_bytes).reshape(-1)
        if codebook.norm is not None and not channel.linear:
            counts = (counts * UNIT).cast(FLOAT16).cast(FLOAT)  # as rows are kept
        return _scaled(encoder, counts)
    if channel.fisher is not None and channel.fisher.root:
        grids = [grid._replace(descriptors=grid.descriptors.sqrt()) for grid in grids]
    vector = fisher_vector if isinstance(codebook, FisherVectors) else second_moments
    numbers = vector(codebook, grids).reshape(-1) * LENGTH
    if channel.linear:
        return _weighted_bytes(numbers, channel.weight)
    return _limited(numbers) * float(1 / np.float32(LENGTH))


def _scaled(encoder: ChannelEncoder, numbers: Value) -> Value:
    """Numbers of a whole image, scaled for a kernel or as bytes of one length."""
    channel = encoder.channel
    if channel.linear:
        squares = numbers.graph.op("ReduceSumSquare", numbers.cast(DOUBLE), [0])
        length = squares.sqrt().at_least(1e-12)
        return _weighted_bytes(numbers * (LENGTH / length).cast(FLOAT), channel.weight)
    return numbers * float(np.float32(channel.weight / encoder.scale))


def _weighted_bytes(numbers: Value, weight: float) -> Value:
    """Numbers rounded to signed bytes, then times a weight and rounded again."""
    found = _limited(numbers)
    return (found if weight == 1 else _limited(found * weight)).cast(INT8)


def _limited(numbers: Value) -> Value:
    return numbers.round().at_least(-127.0).at_most(127.0)


def _as_shares(counts: Value, power: float | None) -> Value:
    """Counts as shares of their sum, raised to a power."""
    if power is None:
        return counts
    shares = counts.cast(DOUBLE) / counts.cast(DOUBLE).sum(0, keep=True).at_least(1.0)
    return counts.graph.op("Pow", shares, float(power)).cast(FLOAT)
