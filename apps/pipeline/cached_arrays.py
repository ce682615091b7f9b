"""What an entry of a cache can be, so that no other is used: type, shape, bounds and sign.

Entries of a shared cache have checksums that anyone can compute. A stage is tried on one small
image, and its entries must be of the same kind as what it makes of that. A careful attacker can
still change numbers within these bounds.
"""

from dataclasses import dataclass

import numpy as np

from visualwords.apps.pipeline.channel_encoder import UNIT, ChannelEncoder, side_by_side
from visualwords.apps.pipeline.contents import Content, OpenedImage
from visualwords.apps.pipeline.recipe import Channel
from visualwords.apps.pipeline.trained import HUGE, Trained, check_numbers
from visualwords.apps.pipeline.view import View
from visualwords.codebook import BagOfWords, FeatureSetEncoder
from visualwords.errors import ImageError
from visualwords.features import HOG, Centrist, ColorHistogram
from visualwords.features.local_features import LocalFeatures
from visualwords.model_file import State

COUNTS = (HOG, Centrist, ColorHistogram)  # descriptors that are never negative
WORDS = "stage/codebook_"  # names of the state of words begin so
PATCH = ("descriptor", "position", "size")
_SIDES = (48, 64)


@dataclass(frozen=True)
class Kind:
    """The arrays that a stage can make.

    Attributes
    ----------
    dtype : of the array
    shape : tuple of int or None
        None is any length.
    low, high : bounds of its numbers
    """

    dtype: np.dtype
    shape: tuple[int | None, ...]
    low: float = -HUGE
    high: float = HUGE

    def __call__(self, array: np.ndarray) -> bool:
        """Return whether an array is of this kind."""
        if array.dtype != self.dtype or array.ndim != len(self.shape):
            return False
        if any(want not in (None, found) for want, found in zip(self.shape, array.shape)):
            return False
        return not array.size or bool(self.low <= array.min() <= array.max() <= self.high)


@dataclass(frozen=True)
class PatchKind:
    """Records of patches that a stage can make: at most ``most``, at places in the image."""

    dtype: np.dtype
    most: int

    def __call__(self, array: np.ndarray) -> bool:
        """Return whether an array is of this kind."""
        if array.dtype != self.dtype or array.ndim != 1 or len(array) > self.most:
            return False
        if not all(np.isfinite(array[name]).all() for name in PATCH):
            return False
        places, sizes = array["position"], array["size"]
        return not len(array) or bool(
            places.min() >= 0 and places.max() <= 1 and 0 <= sizes.min() <= sizes.max() < HUGE
        )


def kind_of_encoded(encoder: ChannelEncoder, view: View) -> Kind | None:
    """Return what an encoder makes of images; None where it can't be tried."""
    made = encoded_sample(encoder, view)
    if made is None:
        return None
    if isinstance(encoder.stage, FeatureSetEncoder):
        return Kind(made.dtype, (None, *made.shape[1:]), 0)
    low = 0.0 if _is_never_negative(encoder) else -HUGE
    is_share = not encoder.channel.learns and encoder.channel.power is not None
    high = 1.0 + 1e-6 if is_share and made.dtype.kind == "f" else HUGE
    if made.dtype == np.float16:  # shares of words
        high = UNIT
    is_fixed = encoder.channel.learns or isinstance(encoder.channel.build(), COUNTS)
    shape = made.shape if is_fixed else (None,)  # others may depend on the size of images
    return Kind(made.dtype, shape, max(low, -high), high)


def encoded_sample(encoder: ChannelEncoder, view: View) -> np.ndarray | None:
    """Return what an encoder makes of a small image; None where the image is not for it."""
    features = features_of_sample(encoder.channel, view)
    return None if features is None else encoder.encode(features)


def features_of_sample(channel: Channel, view: View) -> np.ndarray | LocalFeatures | None:
    """Return what a channel's extractor makes of a small image; None if it refuses it."""
    pixels = np.random.default_rng(0).integers(0, 256, (*_SIDES, 3), dtype=np.uint8)
    image = OpenedImage(Content(pixels, "a small image"), pixels.size)
    try:
        return image.features(channel, view)
    except ImageError:
        return None


def _is_never_negative(encoder: ChannelEncoder) -> bool:
    if encoder.channel.learns:
        return isinstance(encoder.stage, BagOfWords)
    return isinstance(encoder.channel.build(), COUNTS)


def check_learned(encoder: ChannelEncoder, state: State, view: View) -> None:
    """Give an encoder a state of the cache, and try it on a small image.

    Raises
    ------
    ValueError, KeyError, …
        If it is no state of such an encoder.
    """
    check_numbers(state)
    words, counts = state.get(f"{WORDS}words"), state.get(f"{WORDS}counts")
    if words is not None and counts is not None:
        if counts.shape != words.shape[:1] or counts.dtype.kind != "i":
            raise ValueError("the counts are not those of the words")
        features = features_of_sample(encoder.channel, view)
        is_bytes = isinstance(features, LocalFeatures) and features.descriptors.dtype == np.uint8
        if is_bytes and not 0 <= words.min() <= words.max() <= 255:
            raise ValueError("the words are not means of descriptors")
    made = encoded_sample(encoder.set_state(state), view)
    if made is not None and not np.isfinite(made).all():
        raise ValueError("what it makes of an image is not finite")


def try_out(trained: Trained) -> None:
    """Score a small image: parts of a cached recipe that do not fit together fail now.

    Raises
    ------
    ValueError, …
    """
    encoders = trained.encoders
    made = [encoded_sample(encoder, trained.recipe.view) for encoder in encoders]
    found = [(encoder, one) for encoder, one in zip(encoders, made) if one is not None]
    if len(found) < len(encoders):  # the image is not for this recipe
        return
    rows = side_by_side([encoder.assemble([one]) for encoder, one in found])
    if trained.coefficients is not None:
        n_rows = len(trained.kept) * len(trained.recipe.image_views())
        if trained.coefficients.values.shape[1] != n_rows:
            raise ValueError("the coefficients are not those of the images")
        return
    scores = trained.classifier.decision_function(rows)
    n_classes = len(np.unique(trained.held_out_labels))
    if scores.shape not in [(1, n_classes), *([(1,)] if n_classes == 2 else [])]:
        raise ValueError("the scores do not fit the classes")
    if not np.isfinite(scores).all():
        raise ValueError("the scores are not finite")
