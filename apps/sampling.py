"""The first two stages of a recipe that learns: a sample of patches, and what is learned from it.

Neither needs the patches of all images in memory: some images of every class are read, and a few
patches of each are kept, chosen by the content of its file.
"""

import io
from collections.abc import Sequence
from functools import partial

import numpy as np

import visualwords
from visualwords.apps.encoding import ChannelEncoder
from visualwords.apps.inputs import Source
from visualwords.apps.reading import OpenedImage, Reader
from visualwords.apps.recipe import Channel
from visualwords.cache import FeatureCache
from visualwords.codebook.sampling import fair_shares
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets
from visualwords.progress import Progress

IMAGES = 600  # read for the sample, in equal shares of the classes
PATCHES = 150_000  # of all of them together
LEAST = 250  # of an image, if it has so many


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
    samples: Sequence[LocalFeatureSets],
    cache: FeatureCache | None,
    progress: Progress,
) -> None:
    """Let encoders learn from samples; what the cache remembers is not learned again."""
    for encoder, sample in zip(encoders, samples):
        if cache is None:
            encoder.learn(sample, progress)
            continue
        parts = (sample.descriptors, sample.positions, sample.offsets)
        key = cache.key(
            b"".join(np.ascontiguousarray(part).tobytes() for part in parts),
            {
                "stage": "learn",
                "channel": repr(encoder.channel),
                "seed": encoder.seed,
                "version": visualwords.__version__,
            },
        )
        remembered = cache.get(key)
        if remembered is None:
            encoder.learn(sample, progress)
            cache.put(key, _packed(encoder.get_state()))
        else:
            encoder.set_state(_unpacked(remembered))


def _sample(channels: Sequence[Channel], n: int, image: OpenedImage) -> list[np.ndarray]:
    return [
        image.cached(
            {**image.settings(channel), "stage": "sample", "n": n},
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


def _packed(state: dict[str, np.ndarray]) -> np.ndarray:
    """Return named arrays as the bytes of one."""
    buffer = io.BytesIO()
    np.savez(buffer, **state)
    return np.frombuffer(buffer.getvalue(), np.uint8)


def _unpacked(data: np.ndarray) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(data.tobytes()), allow_pickle=False) as arrays:
        return dict(arrays)
