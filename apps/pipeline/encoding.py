"""The stages that pass over images: patches of some are sampled, encoders learn from them, and all
images are encoded, one array for each channel.

Learning does not need the patches of all images in memory: some images of every class are read, and
a few patches of each are kept, chosen by the content of its file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from visualwords.apps.pipeline.cached_arrays import (
    PatchKind,
    check_learned,
    features_of_sample,
    kind_of_encoded,
)
from visualwords.apps.pipeline.channel_encoder import ChannelEncoder, channel_settings
from visualwords.apps.pipeline.contents import OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipe import Channel
from visualwords.apps.pipeline.stage import (
    Arrays,
    Environment,
    Stage,
    each_image,
    fingerprint_files,
)
from visualwords.apps.pipeline.view import View
from visualwords.codebook.codebook import fair_shares
from visualwords.errors import Skipped
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets
from visualwords.model_file import State

IMAGES = 600  # read for the sample, in equal shares of the classes
PATCHES = 150_000  # of all of them together
LEAST = 250  # of an image, if it has so many


class Sample(NamedTuple):
    """Patches for each channel that learns, and the images that were left out."""

    patches: list[LocalFeatureSets]
    skipped: list[Skipped]


def chosen_images(codes: np.ndarray, seed: int, n_images: int = IMAGES) -> np.ndarray:
    """Return positions of the images to sample from: equal shares of the classes, ascending."""
    random = np.random.default_rng(seed)
    shares = fair_shares(np.bincount(codes), n_images)
    chosen = [
        random.permutation(np.flatnonzero(codes == c))[:share] for c, share in enumerate(shares)
    ]
    return np.sort(np.concatenate(chosen))


def sample_patches(
    channels: Sequence[Channel], data: Dataset, view: View, env: Environment
) -> Sample:
    """Return some patches of every image that can be read, for each channel."""
    if not channels:
        return Sample([], [])
    n = max(LEAST, -(-PATCHES // max(len(data), 1)))
    stages = [_sample_stage(channel, n, view, env) for channel in channels]
    found = list(each_image(stages, data, env, "sampling patches"))
    kept = [images for images in found if not isinstance(images, Skipped)]
    return Sample(
        [
            LocalFeatureSets.concatenate([features_of(images[c]) for images in kept])
            for c in range(len(channels))
        ],
        [skipped for skipped in found if isinstance(skipped, Skipped)],
    )


def learn(encoders: Sequence[ChannelEncoder], data: Dataset, view: View, env: Environment) -> None:
    """Let encoders learn from a sample of patches; what is in the cache is not learned again."""
    stages = [_learn_stage(encoder, view, env) for encoder in encoders]
    content = None
    if env.cache is not None:
        fingerprint_files(data, env)
        content = data.fingerprint()
    new = []
    for encoder, stage in zip(encoders, stages):
        learned = stage.load(content, env.cache)
        if learned is None or not _has_learned(encoder, learned, view):
            new.append((encoder, stage))
    sample = sample_patches([encoder.channel for encoder, _ in new], data, view, env)
    if any(skipped.may_pass for skipped in sample.skipped):
        content = None  # another time these images may be learned from, too
    for (encoder, stage), patches in zip(new, sample.patches):
        encoder.learn(patches, env.progress, env.n_jobs)
        stage.store(content, env.cache, encoder.get_state())


def _learn_stage(encoder: ChannelEncoder, view: View, env: Environment) -> Stage:
    settings = {
        **channel_settings(encoder.channel),
        "channel": repr(encoder.channel.unweighted),
        "sample": [IMAGES, PATCHES, LEAST],
        **view.settings(),
        "max_pixels": env.max_pixels,
        "seed": encoder.seed,
    }
    return Stage("learn", settings)


def _has_learned(encoder: ChannelEncoder, state: State, view: View) -> bool:
    """Give an encoder what the cache has; False if that is no state of it."""
    try:
        check_learned(encoder, state, view)
    except Exception:  # an entry that others wrote can be wrong in any way
        return False
    return True


def _sample_stage(channel: Channel, n: int, view: View, env: Environment) -> Stage:
    settings = {**channel_settings(channel), **view.settings(), "n": n}
    kind = None if env.cache is None else _kind_of_patches(channel, n, view)
    return Stage("sample", settings, some_patches, (channel, n, view), kind)


def _kind_of_patches(channel: Channel, n: int, view: View) -> PatchKind | None:
    """Return what `some_patches` makes of images; None where it can't be tried."""
    local = features_of_sample(channel, view)
    if not isinstance(local, LocalFeatures):
        return None
    return PatchKind(records_of(local, np.arange(0)).dtype, n)


def some_patches(image: OpenedImage, channel: Channel, n: int, view: View) -> np.ndarray:
    """Return records of n patches, or of all there are, in the order of the extractor."""
    local = image.features(channel, view)
    if not isinstance(local, LocalFeatures):
        raise TypeError(f"{channel.extractor} gives no patches to learn from")
    rows = np.random.default_rng(image.content.seed).permutation(len(local))[:n]
    return records_of(local, np.sort(rows))


def records_of(local: LocalFeatures, rows: np.ndarray) -> np.ndarray:
    """Return some local features as one array."""
    records = np.empty(
        len(rows),
        [
            ("descriptor", local.descriptors.dtype, local.descriptors.shape[1:]),
            ("position", np.float32, (2,)),
            ("size", np.float32),
        ],
    )
    records["descriptor"] = local.descriptors[rows]
    records["position"] = local.positions[rows]
    records["size"] = local.sizes[rows]
    return records


def features_of(records: np.ndarray) -> LocalFeatures:
    """Return the local features that records hold."""
    return LocalFeatures(
        *(np.ascontiguousarray(records[name]) for name in ("descriptor", "position", "size"))
    )


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
    stages = [_encode_stage(encoder, view, env.cache is not None) for encoder in encoders]
    return each_image([*stages, *more], data, env, "reading images")


def _encode_stage(encoder: ChannelEncoder, view: View, cached: bool) -> Stage:
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
