"""The stage that all images go through: file or array → one encoded array for each channel.

Images are independent of each other, so any number of jobs gives the same. What can't be read is
left out and listed with its reason; a file is read once, and what is cached belongs to exactly the
bytes that were read and to what the encoder had learned.
"""

import platform
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from visualwords.apps.pipeline.encoding import ChannelEncoder
from visualwords.apps.pipeline.inputs import Source
from visualwords.apps.pipeline.reading import OpenedImage, Reader
from visualwords.cache import FeatureCache, written
from visualwords.progress import Progress, Silent
from visualwords.workers import workers_share_memory

VERSION = 2  # of what encoders do; to be raised when the same image gives another row


Encoded = tuple[bytes, list[np.ndarray]]  # fingerprint of the file, an array for each channel


@dataclass(frozen=True)
class Extraction:
    """What was computed from a list of images.

    Attributes
    ----------
    channels : for each channel of the recipe, the encoded arrays of the images that could be read
    kept : positions of these images
    skipped : list of (position, reason)
    digests : fingerprints of the files that could be read; empty ones for arrays
    """

    channels: list[list[np.ndarray]]
    kept: np.ndarray
    skipped: list[tuple[int, str]]
    digests: list[bytes]


def extract(
    sources: Sequence[Source],
    encoders: Sequence[ChannelEncoder],
    reader: Reader,
    progress: Progress | None = None,
) -> Extraction:
    """Encode many images by encoders that have learned.

    Parameters
    ----------
    sources : sequence of paths, contents of files (bytes) or uint8 arrays
    encoders : one for each channel
    reader : Reader
    progress : Progress, optional
    """
    results = list(encode_each(sources, encoders, reader, progress or Silent()))
    found = [result for result in results if not isinstance(result, str)]
    return Extraction(
        channels=[[arrays[c] for _, arrays in found] for c in range(len(encoders))],
        kept=np.array([i for i, r in enumerate(results) if not isinstance(r, str)], np.intp),
        skipped=[(i, reason) for i, reason in enumerate(results) if isinstance(reason, str)],
        digests=[digest for digest, _ in found],
    )


def encode_each(
    sources: Sequence[Source],
    encoders: Sequence[ChannelEncoder],
    reader: Reader,
    progress: Progress,
) -> Iterator[Encoded | str]:
    """Yield what was encoded of every image, in order; a reason where it can't be read.

    Workers that do not share this process's memory leave arrays in the cache and send their keys;
    where the cache is not the one that this process has under the same name, they send the arrays
    too, which are kept here. An array that is found nowhere is made here.
    """
    settings = [_settings(encoder, reader) for encoder in encoders]
    here = partial(_encode, encoders, settings)
    if reader.cache is None or workers_share_memory():
        yield from reader.each(here, sources, "reading images", progress)
        return
    there = partial(_encode_elsewhere, encoders, settings, _marked(reader.cache))
    for source, result in zip(sources, reader.each(there, sources, "reading images", progress)):
        if isinstance(result, str):
            yield result
            continue
        digest, parts = result
        arrays: list[Any] = [_fetched(reader.cache, *part) for part in parts]
        missing = any(array is None for array in arrays)
        yield here(OpenedImage(source, reader)) if missing else (digest, arrays)


def _encode(
    encoders: Sequence[ChannelEncoder], settings: Sequence[bytes], image: OpenedImage
) -> Encoded:
    """Return the fingerprint of the file, and an array for each channel."""
    return image.digest, [
        image.cached(known, partial(_encode_one, encoder, image))
        for encoder, known in zip(encoders, settings)
    ]


def _encode_elsewhere(
    encoders: Sequence[ChannelEncoder], settings: Sequence[bytes], mark: str, image: OpenedImage
) -> tuple[bytes, list[tuple[str, np.ndarray | None]]]:
    """Return the fingerprint of the file, and each channel's key, with its array if need be."""
    digest, arrays = _encode(encoders, settings, image)
    keys = [image.key(known) for known in settings]
    shared = _has(image.reader.cache, mark)
    return digest, [(key, None if key and shared else array) for key, array in zip(keys, arrays)]


def _marked(cache: FeatureCache) -> str:
    """Leave an entry in the cache that tells it from those of other machines; return its key."""
    key = cache.key(b"", {"mark": [platform.node(), uuid.getnode()]})
    cache.put(key, np.zeros(0))
    return key


@lru_cache(maxsize=8)
def _has(cache: FeatureCache | None, key: str) -> bool:
    return cache is not None and cache.get(key) is not None


def _fetched(cache: FeatureCache, key: str, array: np.ndarray | None) -> np.ndarray | None:
    """Return an array of the cache, or one that came along, which is kept there."""
    if array is None:
        return cache.get(key)
    if key:
        cache.put(key, array)
    return array


def _encode_one(encoder: ChannelEncoder, image: OpenedImage) -> np.ndarray:
    return encoder.encode(image.features(encoder.channel))


def _settings(encoder: ChannelEncoder, reader: Reader) -> bytes:
    """Return what determines a channel's array, beside the file; nothing without a cache."""
    if reader.cache is None:
        return b""
    return written(
        {
            **reader.settings(encoder.channel),
            "encoder": encoder.fingerprint(),
            "encoding": VERSION,
        }
    )
