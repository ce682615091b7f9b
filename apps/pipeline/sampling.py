"""The first two stages of a recipe that learns: a sample of patches, and what is learned from it.

Neither needs the patches of all images in memory: some images of every class are read, and a few
patches of each are kept, chosen by the content of its file.
"""

import hashlib
from collections.abc import Sequence
from functools import partial

import numpy as np

import visualwords
from visualwords.apps.pipeline.encoding import ChannelEncoder
from visualwords.apps.pipeline.inputs import Source
from visualwords.apps.pipeline.reading import OpenedImage, Reader, channel_settings
from visualwords.apps.pipeline.recipe import Channel
from visualwords.codebook.fair_shares import fair_shares
from visualwords.errors import ImageError
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets
from visualwords.images import read_bytes
from visualwords.named_arrays import packed, unpacked
from visualwords.progress import Progress

IMAGES = 600  # read for the sample, in equal shares of the classes
PATCHES = 150_000  # of all of them together
LEAST = 250  # of an image, if it has so many
VERSION = 2  # of what is learned; to be raised when the same sample gives something else


def chosen_images(codes: np.ndarray, seed: int, n_images: int = IMAGES) -> np.ndarray:
    """Return positions of the images to sample from: equal shares of the classes, ascending."""
    random = np.random.default_rng(seed)
    shares = fair_shares(np.bincount(codes), n_images)
    chosen = [
        random.permutation(np.flatnonzero(codes == c))[:share] for c, share in enumerate(shares)
    ]
    return np.sort(np.concatenate(chosen))


def sample_patches(
    sources: Sequence[Source],
    channels: Sequence[Channel],
    reader: Reader,
    progress: Progress,
) -> list[LocalFeatureSets]:
    """Return some patches of every image that can be read, for each channel."""
    if not channels:
        return []
    n = max(LEAST, -(-PATCHES // max(len(sources), 1)))
    found = reader.each(partial(_sample, channels, n), sources, "sampling patches", progress)
    kept = [images for images in found if not isinstance(images, str)]
    return [
        LocalFeatureSets.concatenate([features_of(images[c]) for images in kept])
        for c in range(len(channels))
    ]


def learn(
    encoders: Sequence[ChannelEncoder],
    sources: Sequence[Source],
    reader: Reader,
    progress: Progress,
) -> None:
    """Let encoders learn from images; what the cache remembers is not learned again."""
    keys = [_key(encoder, content_of(sources), reader) for encoder in encoders]
    new = []
    for encoder, key in zip(encoders, keys):
        learned = None if key is None or reader.cache is None else reader.cache.get(key)
        if learned is None:
            new.append((encoder, key))
        else:
            encoder.set_state(unpacked(learned))
    samples = sample_patches(sources, [encoder.channel for encoder, _ in new], reader, progress)
    for (encoder, key), sample in zip(new, samples):
        encoder.learn(sample, progress)
        if key is not None and reader.cache is not None:
            reader.cache.put(key, packed(encoder.get_state()))


def content_of(sources: Sequence[Source]) -> bytes:
    """Return a fingerprint of the contents of files; nothing if some images are arrays."""
    if any(isinstance(source, np.ndarray) for source in sources):
        return b""
    digest = hashlib.blake2b()
    for source in sources:
        try:
            content = source if isinstance(source, bytes) else read_bytes(str(source))
        except ImageError:  # it will be left out
            content = b""
        digest.update(hashlib.blake2b(content).digest())
    return digest.digest()


def _key(encoder: ChannelEncoder, content: bytes, reader: Reader) -> str | None:
    """Return the name of what an encoder learns from images; None if it can't be remembered."""
    if reader.cache is None or not content:
        return None
    settings = {
        **channel_settings(encoder.channel),
        "stage": "learn",
        "channel": repr(encoder.channel),
        "sample": [IMAGES, PATCHES, LEAST],
        "max_side": reader.max_side,
        "max_pixels": reader.max_pixels,
        "seed": encoder.seed,
        "version": [visualwords.__version__, VERSION],
    }
    return reader.cache.key(content, settings)


def _sample(channels: Sequence[Channel], n: int, image: OpenedImage) -> list[np.ndarray]:
    return [
        image.cached(
            {**image.reader.settings(channel), "stage": "sample", "n": n},
            partial(_some_patches, channel, n, image),
        )
        for channel in channels
    ]


def _some_patches(channel: Channel, n: int, image: OpenedImage) -> np.ndarray:
    """Return records of n patches, or of all there are, in the order of the extractor."""
    local = image.features(channel)
    if not isinstance(local, LocalFeatures):
        raise TypeError(f"{channel.extractor} gives no patches to learn from")
    rows = np.random.default_rng(image.seed).permutation(len(local))[:n]
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
