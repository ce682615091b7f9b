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
    rows : (n, d) int8 or None
        The arrays of all channels side by side, of which ``channels`` has parts: there is no second
        copy. None where channels do not make bytes of one length.
    """

    channels: list[list[np.ndarray]]
    kept: np.ndarray
    skipped: list[Skipped]
    rows: np.ndarray | None = None


def encode(
    encoders: Sequence[ChannelEncoder], data: Dataset, view: View, env: Environment
) -> Encoded:
    """Encode many images by encoders that have learned."""
    table = _Table(len(data))
    kept: list[int] = []
    skipped: list[Skipped] = []
    channels: list[list[np.ndarray]] = [[] for _ in encoders]
    for position, result in enumerate(encode_each(encoders, data, view, env)):
        if isinstance(result, Skipped):
            skipped.append(result)
            continue
        kept.append(position)
        for known, array in zip(channels, table.add(result)):
            known.append(array)
    return Encoded(channels, np.array(kept, np.intp), skipped, table.filled)


class _Table:
    """The bytes of all channels of many images in one matrix, filled as they come."""

    def __init__(self, n_images: int):
        self.n_images = n_images
        self.n_rows = 0
        self.lengths: list[int] = []
        self.rows: np.ndarray | None = None

    def add(self, arrays: Arrays) -> Arrays:
        """Keep the arrays of one image; return them, as parts of the matrix if they fit."""
        if not self.n_rows and all(a.dtype == np.int8 and a.ndim == 1 for a in arrays):
            self.lengths = [len(array) for array in arrays]
            self.rows = np.empty((self.n_images, sum(self.lengths)), np.int8)
        self.n_rows += 1
        if self.rows is None or [len(array) for array in arrays] != self.lengths:
            self.rows = None
            return arrays
        row = self.rows[self.n_rows - 1]
        np.concatenate(arrays, out=row)
        return np.split(row, np.cumsum(self.lengths)[:-1])

    @property
    def filled(self) -> np.ndarray | None:
        return None if self.rows is None else self.rows[: self.n_rows]


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
