"""Sharing a score among the places of an image, for each kind of encoder."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from visualwords.apps.explanation import fisher_evidence, second_order_evidence
from visualwords.apps.explanation.explanation import ChannelEvidence, Explanation
from visualwords.apps.pipeline.channel_encoder import ChannelEncoder
from visualwords.codebook import BagOfWords, FeatureSets, FisherVectors, SecondOrderPooling
from visualwords.features.extractor import Extractor
from visualwords.features.local_features import LocalFeatures

WORDS = "each word's table value is shared equally among the patches counted in its window"
FISHER = (
    "each column of a Fisher vector is shared among patches in proportion to their contributions "
    "before the square root: a gradient, scaled to add up to the score"
)
SECOND_ORDER = (
    "second moments of a window are shared among its patches by the gradient of their logarithm, "
    "scaled to add up to the score"
)
SETS = "each bin's weights are shared equally among the patches in it"
NOWHERE = "the recipe has columns without a place in the image; they are part of the offset"


def explain(
    encoders: Sequence[ChannelEncoder],
    images: Sequence[np.ndarray],
    features: Sequence[Any],
    columns: Sequence[np.ndarray],
    scores: np.ndarray,
    classes: np.ndarray,
    probabilities: np.ndarray | None,
) -> Explanation:
    """Decompose the scores of one image.

    Parameters
    ----------
    encoders : one a channel
    images : for each channel, the image as passed to its extractor
    features : for each channel, the local features of the image, or its vector
    columns : for each channel, the contributions of its columns to the scores, (d, n_classes)
    scores : (n_classes,)
    classes, probabilities : as in `Explanation`
    """
    channels, methods = [], []
    names = numbered([encoder.channel.extractor for encoder in encoders])
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


def numbered(names: list[str]) -> list[str]:
    """Return names, with a number appended to those that occur more than once."""
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
    elif isinstance(stage, SecondOrderPooling):
        method, word, words = SECOND_ORDER, "component", None
        shares, of_words = second_order_evidence.share(stage, found, values)
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
    name: str, extractor: Extractor, image: np.ndarray, values: np.ndarray
) -> tuple[ChannelEvidence, str]:
    """Share the values of columns among the places that the extractor names."""
    places = extractor.column_places(image)
    if places is None:
        return _nowhere(name, values)
    by_name = np.zeros((len(places.names), values.shape[1]))
    np.add.at(by_name, places.name_of, values)
    channel = ChannelEvidence(
        name=name,
        positions=places.positions,
        sizes=places.sizes,
        words=None,
        evidence=(places.shares @ values.astype(np.float64)).astype(np.float32),
        names=places.names,
        values=by_name.astype(np.float32),
        exact=True,
    )
    return channel, places.method


def _nowhere(name: str, values: np.ndarray) -> tuple[ChannelEvidence, str]:
    """Return a channel without places: all its contributions are part of the offset."""
    nothing = np.zeros((0, values.shape[1]), np.float32)
    empty = np.zeros((0, 2), np.float32)
    return ChannelEvidence(name, empty, empty, None, nothing, [], nothing, False), NOWHERE
