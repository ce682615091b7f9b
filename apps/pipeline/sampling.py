"""The first two stages of a recipe that learns: a sample of patches, and what is learned from it.

Neither needs the patches of all images in memory: some images of every class are read, and a few
patches of each are kept, chosen by the content of its file.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from visualwords.apps.pipeline.cached_arrays import (
    PatchKind,
    check_learned,
    features_of_sample,
)
from visualwords.apps.pipeline.channel_encoder import ChannelEncoder, channel_settings
from visualwords.apps.pipeline.contents import OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipe import Channel
from visualwords.apps.pipeline.stage import Environment, Stage, each_image, fingerprint_files
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
        "channel": repr(encoder.channel),
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
    except Exception:  # an entry by another hand can be wrong in any way
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
