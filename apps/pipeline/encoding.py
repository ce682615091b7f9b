"""The stage that all images go through: encoders that have learned → one array for each channel."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from visualwords.apps.pipeline.cached_arrays import kind_of_encoded
from visualwords.apps.pipeline.channel_encoder import ChannelEncoder, channel_settings
from visualwords.apps.pipeline.contents import OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.stage import Arrays, Environment, Stage, each_image
from visualwords.apps.pipeline.view import View
from visualwords.errors import Skipped


@dataclass(frozen=True)
class Encoded:
    """What was computed from many images.

    Attributes
    ----------
    channels : for each channel of the recipe, the encoded arrays of the images that could be read
    kept : positions of these images
    skipped : the others
    """

    channels: list[list[np.ndarray]]
    kept: np.ndarray
    skipped: list[Skipped]


def encode(
    encoders: Sequence[ChannelEncoder], data: Dataset, view: View, env: Environment
) -> Encoded:
    """Encode many images by encoders that have learned."""
    results = list(encode_each(encoders, data, view, env))
    found = [result for result in results if not isinstance(result, Skipped)]
    return Encoded(
        channels=[[arrays[c] for arrays in found] for c in range(len(encoders))],
        kept=np.array([i for i, r in enumerate(results) if not isinstance(r, Skipped)], np.intp),
        skipped=[result for result in results if isinstance(result, Skipped)],
    )


def encode_each(
    encoders: Sequence[ChannelEncoder],
    data: Dataset,
    view: View,
    env: Environment,
    more: Sequence[Stage] = (),
) -> Iterator[Arrays | Skipped]:
    """Yield what was encoded of every image, in order; why it is left out if it can't be.

    What other stages make of it in the same pass comes after the channels.
    """
    stages = [_stage(encoder, view, env.cache is not None) for encoder in encoders]
    return each_image([*stages, *more], data, env, "reading images")


def _stage(encoder: ChannelEncoder, view: View, cached: bool) -> Stage:
    settings, kind = {}, None
    if cached:  # a fingerprint of all words or Gaussians takes time
        kind = kind_of_encoded(encoder, view)
        settings = {
            **channel_settings(encoder.channel),
            **view.settings(),
            "encoder": encoder.fingerprint(),
        }
    return Stage("encode", settings, encode_image, (encoder, view), kind)


def encode_image(image: OpenedImage, encoder: ChannelEncoder, view: View) -> np.ndarray:
    """Return what an encoder makes of one image."""
    return encoder.encode(image.features(encoder.channel, view))
