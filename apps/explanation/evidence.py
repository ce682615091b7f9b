"""Sharing a score among the places of an image: one function for each kind of channel."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from visualwords.apps.explanation import fisher_evidence
from visualwords.apps.explanation.explanation import ChannelEvidence, Explanation
from visualwords.apps.pipeline.encoding import ChannelEncoder
from visualwords.codebook import BagOfWords, FeatureSets, FisherVectors
from visualwords.features import HOG, Centrist, ColorHistogram
from visualwords.features.grid import as_windows, pyramid_windows, window_bounds
from visualwords.features.local_features import LocalFeatures

BLOCK = 8  # pixels; the evidence of single pixels is summed in blocks of this side

WORDS = "each word's table value is shared equally among the patches counted in its window"
PIXELS = "each bin's table value is shared equally among the pixels counted in it"
BLOCKS = "each number of HOG belongs to the block it was computed from"
FISHER = (
    "each column of a Fisher vector is shared among patches in proportion to what they gave to it, "
    "as if square roots were sums: a gradient, scaled to add up to the score"
)
SETS = "each bin's weights are shared equally among the patches in it"
NOWHERE = "the recipe has columns that belong to no place; they are in the offsets"


def explain(
    encoders: Sequence[ChannelEncoder],
    images: Sequence[np.ndarray],
    features: Sequence[Any],
    columns: Sequence[np.ndarray],
    scores: np.ndarray,
    classes: np.ndarray,
    probabilities: np.ndarray | None,
) -> Explanation:
    """Take the scores of one image apart.

    Parameters
    ----------
    encoders : one a channel
    images : for each channel the image as its extractor saw it
    features : for each channel the local features of the image, or its vector
    columns : for each channel what its columns add to the scores, (d, n_classes)
    scores : (n_classes,)
    classes, probabilities : as in `Explanation`
    """
    channels, methods = [], []
    names = _numbered([encoder.channel.extractor for encoder in encoders])
    for name, encoder, image, found, values in zip(names, encoders, images, features, columns):
        if isinstance(found, LocalFeatures):
            channel, method = _of_patches(name, encoder, found, image.shape, values)
        else:
            channel, method = _of_vector(name, encoder.channel.build(), image, values)
        channels.append(channel)
        methods.append(method)
    attributed = sum((c.evidence.sum(axis=0, dtype=np.float64) for c in channels), 0.0)
    total = sum((values.sum(axis=0, dtype=np.float64) for values in columns), 0.0)
    sentence = "; ".join(dict.fromkeys(methods))
    return Explanation(
        classes=classes,
        scores=scores,
        probabilities=probabilities,
        offsets=scores - total + (total - attributed),
        channels=channels,
        shape=(int(images[0].shape[0]), int(images[0].shape[1])),
        method=sentence[:1].upper() + sentence[1:] + ".",
    )


def _numbered(names: list[str]) -> list[str]:
    """Return names with numbers behind those that occur more than once."""
    return [
        name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}"
        for i, name in enumerate(names)
    ]


def _of_patches(
    name: str, encoder: ChannelEncoder, found: LocalFeatures, shape: tuple, values: np.ndarray
) -> tuple[ChannelEvidence, str]:
    stage = encoder.stage
    if isinstance(stage, BagOfWords):
        method, word = WORDS, "word"
        words = stage.words_of(found) if len(found) else np.zeros(0, np.int32)
        shares = stage.share(found, values) if len(found) else np.zeros((0, values.shape[1]))
        n_windows, n_words = len(values) // stage.codebook_.n_words, stage.codebook_.n_words
        of_words = values.reshape(n_windows, n_words, -1).sum(axis=0, dtype=np.float64)
    elif isinstance(stage, FisherVectors):
        method, word = FISHER, "Gaussian"
        shares, words = fisher_evidence.share(stage, encoder.prepared(found), values)
        k, d = stage.mixture_.means.shape
        of_words = values.reshape(-1, k, d, values.shape[1]).sum(axis=(0, 2), dtype=np.float64)
    elif encoder.embedding is not None:
        method, word, words = SETS, "", None
        shares, of_words = _of_points(encoder, found, values), np.zeros((0, values.shape[1]))
    else:
        return _nowhere(name, values)
    channel = ChannelEvidence(
        name=name,
        positions=found.positions,
        sizes=found.sizes[:, None] / np.array(shape[1::-1], np.float32),
        words=words,
        evidence=shares.astype(np.float32),
        names=[f"{word} {k}" for k in range(len(of_words))],
        values=of_words.astype(np.float32),
        exact=method == WORDS,
    )
    return channel, method


def _of_points(encoder: ChannelEncoder, found: LocalFeatures, values: np.ndarray) -> np.ndarray:
    """Share the values of each bin of a pyramid match equally among the points in it.

    A bin has a column for each number of points; a set of one point has the first of every bin
    that the point is in.
    """
    embedding, shares = encoder.embedding, np.zeros((len(found), values.shape[1]))
    points = encoder.stage.transform([found])
    if embedding is None or not len(points.points):
        return shares
    first = [branches.first_column for every in embedding.branches_ for branches in every]
    starts = np.unique(np.concatenate([[0], *first]))
    starts = starts[starts < len(values)]
    of_bins = np.add.reduceat(values.astype(np.float64), starts)
    alone = FeatureSets(points.points, np.arange(len(points.points) + 1), points.side)
    touched = embedding.transform(alone)
    bins = np.searchsorted(starts, touched.indices, side="right") - 1
    inside = np.bincount(bins, minlength=len(starts))
    each = of_bins / np.maximum(inside, 1)[:, None]
    owners = np.repeat(np.arange(len(points.points)), np.diff(touched.indptr))
    np.add.at(shares, encoder.stage.kept(found)[owners], each[bins])
    return shares


def _of_vector(
    name: str, extractor: Any, image: np.ndarray, values: np.ndarray
) -> tuple[ChannelEvidence, str]:
    if isinstance(extractor, HOG):
        return _of_hog(name, extractor, image, values)
    if isinstance(extractor, ColorHistogram):
        codes = extractor.codes(image)
        bounds = window_bounds(as_windows(extractor.windows), *codes.shape)
        return _of_pixels(name, extractor, codes, bounds, values)
    if isinstance(extractor, Centrist) and _counts_whole_pixels(extractor):
        height, width = image.shape[:2]
        windows = np.array([[0.0, 0.0, 1.0, 1.0]])
        if extractor.layout == "pyramid":
            windows = np.vstack(pyramid_windows(31))
        bounds = window_bounds(windows, height, width)
        inner = np.hstack([bounds[:, :2] + 1, np.maximum(bounds[:, :2] + 1, bounds[:, 2:] - 1)])
        codes = np.zeros((height, width), np.uint8)
        codes[1:-1, 1:-1] = extractor.census(image)
        return _of_pixels(name, extractor, codes, inner, values)
    return _nowhere(name, values)


def _counts_whole_pixels(extractor: Centrist) -> bool:
    whole = extractor.layout == "whole"
    return whole or (extractor.layout == "pyramid" and not extractor.resize_levels)


def _of_pixels(
    name: str, extractor: Any, codes: np.ndarray, bounds: np.ndarray, values: np.ndarray
) -> tuple[ChannelEvidence, str]:
    """Share the values of bins among their pixels, and sum those of blocks of pixels."""
    n_classes = values.shape[1]
    n_bins = len(values) // len(bounds)
    by_window = values.reshape(len(bounds), n_bins, n_classes)
    height, width = codes.shape
    rows, columns = -(-height // BLOCK), -(-width // BLOCK)
    block = (np.arange(height) // BLOCK)[:, None] * columns + np.arange(width) // BLOCK
    evidence = np.zeros((rows * columns, n_classes))
    for (x0, y0, x1, y1), of_bins in zip(bounds, by_window):
        inside = codes[y0:y1, x0:x1].ravel()
        pairs = block[y0:y1, x0:x1].ravel() * n_bins + inside
        counts = np.bincount(inside, minlength=n_bins)
        each = of_bins / np.maximum(counts, 1)[:, None]
        found, times = np.unique(pairs, return_counts=True)
        np.add.at(evidence, found // n_bins, times[:, None] * each[found % n_bins])
    left, top = np.meshgrid(np.arange(columns) * BLOCK, np.arange(rows) * BLOCK)
    low = np.stack([left.ravel(), top.ravel()], axis=1)
    high = np.minimum(low + BLOCK, (width, height))
    names = [n.rpartition("window0_")[2] for n in extractor.get_feature_names_out()[:n_bins]]
    channel = ChannelEvidence(
        name=name,
        positions=((low + high) / (2.0 * width, 2.0 * height)).astype(np.float32),
        sizes=((high - low) / (width, height)).astype(np.float32),
        words=None,
        evidence=evidence.astype(np.float32),
        names=names,
        values=by_window.sum(axis=0, dtype=np.float64).astype(np.float32),
        exact=True,
    )
    return channel, PIXELS


def _of_hog(
    name: str, extractor: HOG, image: np.ndarray, values: np.ndarray
) -> tuple[ChannelEvidence, str]:
    blocks = extractor.extract(image)
    n_columns, n_classes = blocks.descriptors.shape[1], values.shape[1]
    of_blocks = values.reshape(len(blocks), n_columns, n_classes)
    of_angles = of_blocks.reshape(-1, extractor.n_orientations, n_classes)
    size_wh = np.array(extractor.resize_wh or image.shape[1::-1], np.float32)
    step = 180 / extractor.n_orientations
    channel = ChannelEvidence(
        name=name,
        positions=blocks.positions,
        sizes=blocks.sizes[:, None] / size_wh,
        words=None,
        evidence=of_blocks.sum(axis=1, dtype=np.float64).astype(np.float32),
        names=[f"angle {step * k:.4g}" for k in range(extractor.n_orientations)],
        values=of_angles.sum(axis=0, dtype=np.float64).astype(np.float32),
        exact=True,
    )
    return channel, BLOCKS


def _nowhere(name: str, values: np.ndarray) -> tuple[ChannelEvidence, str]:
    """Return a channel without places: all it says is in the offsets."""
    nothing = np.zeros((0, values.shape[1]), np.float32)
    empty = np.zeros((0, 2), np.float32)
    return ChannelEvidence(name, empty, empty, None, nothing, [], nothing, False), NOWHERE
