"""Whether a recipe works, found out before any image is read: its parts are tried on noise."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from visualwords.apps.pipeline.channel import PARTS, Channel
from visualwords.apps.pipeline.encoder import ChannelEncoder, Rows, side_by_side
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.errors import RecipeError
from visualwords.features.extractor import Extractor
from visualwords.features.local_features import LocalFeatureSets

SHAPE = (64, 72, 3)  # of the noise
N_IMAGES = 6
COLUMNS = 256  # that a classifier is tried on
SIGNED = {
    "fisher": "Fisher vectors",
    "second_order": "second moments",
}  # parts with negative numbers


def check_recipe(recipe: Recipe) -> None:
    """Raise `RecipeError`, in one sentence, where a recipe can't work.

    Parts must fit each other, and all of them work on images of noise.
    """
    if not recipe.channels:
        raise RecipeError(f"recipe {recipe.name!r} has no channel; give it an extractor")
    for number, channel in enumerate(recipe.channels):
        with _named(f"channel {number + 1} ({channel.extractor})"):
            _check_parts(channel)
    _check_rows_fit(recipe)
    parts = []
    for number, channel in enumerate(recipe.channels):
        with _named(f"channel {number + 1} ({channel.extractor})"):
            parts.append(_rows_of_noise(channel))
    with _named(f"classifier {recipe.classifier.kind}"):
        few = [part[:, : max(1, COLUMNS // len(parts))] for part in parts]
        recipe.build_classifier().fit(side_by_side(few), np.arange(N_IMAGES) % 3)


def _check_parts(channel: Channel) -> None:
    given = [name for name in PARTS if getattr(channel, name) is not None]
    if len(given) > 1:
        raise RecipeError(f"has {' and '.join(given)}; patches become one of them")
    if channel.hashes is not None and given and channel.words is None:
        raise RecipeError(f"has hashes of {given[0]}; hash words, or one vector an image")
    extractor = channel.build()
    extractor.check_parameters()
    if not given and extractor.is_local:
        raise RecipeError("gives patches; turn them into words, fisher, second_order or sets")
    if given and type(extractor).extract is Extractor.extract:
        raise RecipeError(
            f"gives one vector an image, which has no {given[0]}; leave them out, or take an "
            "extractor of patches: DenseSIFT, DenseFilters, KeypointSIFT, Centrist, "
            "ColorHistogram, ColorStatistics, HOG"
        )


def _check_rows_fit(recipe: Recipe) -> None:
    """Refuse a classifier that can't use what the channels make."""
    kind, kernel = recipe.classifier.kind, recipe.classifier.kernel
    has = {
        part
        for channel in recipe.channels
        for part in (*PARTS, "hashes")
        if getattr(channel, part) is not None
    }
    if "sets" in has and not (kind == "linear" or kernel == "pyramid_match"):
        raise RecipeError(
            "sets are compared by the pyramid match: the classifier's kind must be 'linear', or "
            f"'kernel' with kernel 'pyramid_match'; it is {recipe.classifier}"
        )
    if kernel == "pyramid_match" and not all(channel.sets for channel in recipe.channels):
        raise RecipeError("kernel 'pyramid_match' compares sets; every channel needs sets")
    smaller = [c for c in recipe.channels if c.sets and c.sets.normalization == "min_cardinality"]
    if smaller and (kernel != "pyramid_match" or len(recipe.channels) > 1):
        raise RecipeError(
            "normalization 'min_cardinality' of sets is no product of vectors: it needs the kernel "
            "'pyramid_match' and no other channel"
        )
    if "hashes" in has and kind != "linear":
        raise RecipeError(f"hashes need a classifier of kind 'linear'; it is {recipe.classifier}")
    signed = [name for part, name in SIGNED.items() if part in has]
    if signed and kind == "pmsvm":
        raise RecipeError(
            f"{signed[0]} have negative numbers, which classifier 'pmsvm' has no use for; choose "
            "'linear', 'icd' or 'kernel'"
        )


def _rows_of_noise(channel: Channel) -> Rows:
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (N_IMAGES, *SHAPE), dtype=np.uint8)
    found: list[Any] = [channel.see(image) for image in images]
    encoder = ChannelEncoder(channel, 0)
    if channel.learns:
        encoder.learn(LocalFeatureSets.concatenate(found))
    return encoder.assemble([encoder.encode(one) for one in found], learn=True)


@contextmanager
def _named(part: str) -> Iterator[None]:
    """Raise whatever goes wrong as a sentence about a part of the recipe."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of noise, nothing converges
            yield
    except Exception as problem:  # extractors of other packages may raise anything
        reason = " ".join(str(problem).split()) or type(problem).__name__
        raise RecipeError(f"{part}: {reason}") from None
