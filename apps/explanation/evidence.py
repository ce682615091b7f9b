"""Sharing the contributions of columns among the places of an image, for each kind of encoder."""

from typing import Any, NamedTuple

import numpy as np

from visualwords.apps.explanation import gradients
from visualwords.apps.explanation.explanation import ChannelEvidence
from visualwords.apps.pipeline.encoder import ChannelEncoder
from visualwords.codebook import BagOfWords, FeatureSets, FisherVectors, SecondOrderPooling
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


class Shares(NamedTuple):
    """What the patches of an image have of its columns' values.

    Attributes
    ----------
    method : how they were shared, in a sentence
    of_patches : (n_patches, n_classes)
    words : (n_patches,) of each patch, or None
    word : what a word is called
    of_words : (n_words, n_classes), values summed over windows
    """

    method: str
    of_patches: np.ndarray
    words: np.ndarray | None
    word: str
    of_words: np.ndarray


def share(
    name: str, encoder: ChannelEncoder, image: np.ndarray, found: Any, values: np.ndarray
) -> tuple[ChannelEvidence, str]:
    """Share the contributions of one channel's columns among its places.

    Parameters
    ----------
    name : str
    encoder : ChannelEncoder
    image : as passed to the channel's extractor
    found : its local features, or its vector
    values : (n_columns, n_classes) contributions to the scores

    Returns
    -------
    evidence : ChannelEvidence
    method : str
    """
    values = values.astype(np.float64)
    if not isinstance(found, LocalFeatures):
        places = encoder.channel.build().column_places(image)
        if places is None:
            return _nowhere(name, values)
        of_names = np.zeros((len(places.names), values.shape[1]))
        np.add.at(of_names, places.name_of, values)
        shares = places.shares @ values
        where = (places.positions, places.sizes)
        return channel(name, where, shares, None, places.names, of_names, True), places.method
    shared = _shares(encoder, found, values)
    if shared is None:
        return _nowhere(name, values)
    where, exact = (found.positions, sizes_of(found, image)), shared.method == WORDS
    names = [f"{shared.word} {k}" for k in range(len(shared.of_words))]
    shares, words, of_words = shared.of_patches, shared.words, shared.of_words
    return channel(name, where, shares, words, names, of_words, exact), shared.method


def channel(
    name: str,
    where: tuple[np.ndarray, np.ndarray],
    evidence: np.ndarray,
    words: np.ndarray | None,
    names: list[str],
    values: np.ndarray,
    exact: bool,
) -> ChannelEvidence:
    """The evidence of a channel, in single precision; ``where`` are positions and sizes."""
    positions, sizes, evidence, values = (
        array.astype(np.float32) for array in (*where, evidence, values)
    )
    return ChannelEvidence(name, positions, sizes, words, evidence, names, values, exact)


def sizes_of(found: LocalFeatures, image: np.ndarray) -> np.ndarray:
    """Width and height of patches in the unit square of an image."""
    return found.sizes[:, None] / np.array(image.shape[1::-1], np.float32)


def _nowhere(name: str, values: np.ndarray) -> tuple[ChannelEvidence, str]:
    """A channel without places: all its contributions are part of the offset."""
    nothing, empty = np.zeros((0, values.shape[1])), np.zeros((0, 2))
    return channel(name, (empty, empty), nothing, None, [], nothing, False), NOWHERE


def _shares(encoder: ChannelEncoder, found: LocalFeatures, values: np.ndarray) -> Shares | None:
    """What each patch has of a channel's values; None for an encoder without places."""
    stage, n_classes = encoder.codebook, values.shape[1]
    if isinstance(stage, BagOfWords):
        words = stage.words_of(found) if len(found) else np.zeros(0, np.int32)
        shares = stage.share(found, values) if len(found) else np.zeros((0, n_classes))
        of_words = values.reshape(-1, stage.codebook_.n_words, n_classes).sum(axis=0)
        return Shares(WORDS, shares, words, "word", of_words)
    if isinstance(stage, FisherVectors):
        shares, words = gradients.share_fisher(stage, encoder.prepared(found), values)
        of_words = values.reshape(-1, *stage.mixture_.means.shape, n_classes).sum(axis=(0, 2))
        return Shares(FISHER, shares, words, "Gaussian", of_words)
    if isinstance(stage, SecondOrderPooling):
        shares, of_words = gradients.share_second_order(stage, found, values)
        return Shares(SECOND_ORDER, shares, None, "component", of_words)
    if encoder.embedding is not None:
        return Shares(SETS, _of_points(encoder, found, values), None, "", values[:0])
    return None


def _of_points(encoder: ChannelEncoder, found: LocalFeatures, values: np.ndarray) -> np.ndarray:
    """Share the values of each bin of a pyramid match equally among the points in it.

    A bin has a column for each number of points; a set of one point has the first of every bin
    that the point is in.
    """
    embedding, shares = encoder.embedding, np.zeros((len(found), values.shape[1]))
    points = encoder.codebook.transform([found])
    if embedding is None or not len(points.points):
        return shares
    first = [branches.first_column for every in embedding.branches_ for branches in every]
    starts = np.unique(np.concatenate([[0], *first]))
    starts = starts[starts < len(values)]
    of_bins = np.add.reduceat(values, starts)
    alone = FeatureSets(points.points, np.arange(len(points.points) + 1), points.side)
    touched = embedding.transform(alone)
    bins = np.searchsorted(starts, touched.indices, side="right") - 1
    inside = np.bincount(bins, minlength=len(starts))
    each = of_bins / np.maximum(inside, 1)[:, None]
    owners = np.repeat(np.arange(len(points.points)), np.diff(touched.indptr))
    np.add.at(shares, encoder.codebook.kept(found)[owners], each[bins])
    return shares
