"""Reading images for the stages of a recipe: each file once, in chunks, what fails left out."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from visualwords.apps.cluster.connection import check_seen
from visualwords.apps.pipeline.encoding import Features
from visualwords.apps.pipeline.inputs import Source
from visualwords.apps.pipeline.recipe import Channel
from visualwords.cache import FeatureCache
from visualwords.duplicates import digest
from visualwords.errors import ImageError
from visualwords.features.extractor import as_grey, as_rgb
from visualwords.features.registry import find_extractor
from visualwords.images import MAX_PIXELS, read_bytes, read_image, shrink
from visualwords.progress import Progress
from visualwords.workers import map_on_workers

CHUNK = 16  # images; small enough that Ctrl-C is answered at once


@dataclass(frozen=True)
class Reader:
    """How images are read, whatever is then made of them.

    Attributes
    ----------
    max_side : int or None
        Longer side that images are shrunk to.
    max_pixels : int
        Larger images are refused.
    cache : FeatureCache or None
    n_jobs : int or None
        Threads, or workers of the active joblib backend.
    """

    max_side: int | None = None
    max_pixels: int = MAX_PIXELS
    cache: FeatureCache | None = None
    n_jobs: int | None = None

    def each(
        self,
        work: Callable[["OpenedImage"], Any],
        sources: Sequence[Source],
        stage: str,
        progress: Progress,
    ) -> Iterator[Any]:
        """Yield what ``work`` returns for every image, in order; a reason (str) where it can't.

        ``work`` and its results travel between processes where the joblib backend has several.
        """
        progress.start(stage, len(sources))
        absolute = [_absolute(source) for source in sources]  # workers may be elsewhere
        chunks = ((absolute[i : i + CHUNK],) for i in range(0, len(absolute), CHUNK))
        found = map_on_workers(_work_on, chunks, shared=[self, work], n_jobs=self.n_jobs)
        for number, results in enumerate(found):
            check_seen(absolute[number * CHUNK :], results)
            progress.advance(len(results))
            yield from results

    def contents(self, sources: Sequence[Source], progress: Progress) -> list[bytes | str]:
        """Return the fingerprints of all files; of one that can't be read, the reason."""
        return list(self.each(_digest, sources, "looking at files", progress))

    def settings(self, channel: Channel) -> dict[str, Any]:
        """Return all that decides a channel's features, beside the bytes of the file."""
        return {**channel_settings(channel), "max_side": self.max_side}


def _absolute(source: Source) -> Source:
    return os.path.abspath(source) if isinstance(source, str) else source


def _work_on(
    reader: Reader, work: Callable[["OpenedImage"], Any], sources: Sequence[Source]
) -> list[Any]:
    results: list[Any] = []
    for source in sources:
        try:
            results.append(work(OpenedImage(source, reader)))
        except ImageError as problem:
            results.append(str(problem))
    return results


def _digest(image: "OpenedImage") -> bytes:
    return image.digest


class OpenedImage:
    """One image: its bytes, its pixels as extractors want them, and its features, made once each.

    Parameters
    ----------
    source : path, content of a file (bytes) or uint8 array
    reader : Reader
    """

    def __init__(self, source: Source, reader: Reader):
        self.reader = reader
        if isinstance(source, np.ndarray):
            self.data = b""
        else:
            self.data = source if isinstance(source, bytes) else read_bytes(source)
        self._source = self.data or source
        self._pixels: dict[str, np.ndarray] = {}
        self._features: dict[str, Features] = {}

    @property
    def digest(self) -> bytes:
        """Fingerprint of the file; nothing for an array."""
        return digest(self.data) if self.data else b""

    @property
    def seed(self) -> int:
        """A number that depends on the image's content alone."""
        content = self.data or np.ascontiguousarray(self._source).tobytes()
        return int.from_bytes(digest(content), "little")

    def pixels(self, mode: str) -> np.ndarray:
        """Return the image as "rgb" or "grey", no larger than wanted."""
        if mode not in self._pixels:
            self._pixels[mode] = self._read(mode, self.reader.max_side)
        return self._pixels[mode]

    def small(self, max_side: int) -> np.ndarray:
        """Return the image in colours, shrunk."""
        return self._read("rgb", max_side)

    def features(self, channel: Channel) -> Features:
        """Return the local features or the vector that a channel's extractor gives."""
        key = repr((channel.extractor, channel.params))
        if key not in self._features:
            extractor = channel.build()
            image = self.pixels(extractor.color_mode)
            made = extractor.extract if extractor.is_local else extractor.describe
            self._features[key] = made(image)
        return self._features[key]

    def cached(
        self, settings: dict[str, Any] | bytes, make: Callable[[], np.ndarray]
    ) -> np.ndarray:
        """Return an array that the settings determine: from the cache, else made and kept."""
        cache = self.reader.cache
        if cache is None or not self.data:
            return make()
        key = cache.key(self.data, settings)
        array = cache.get(key)
        if array is None:
            array = make()
            cache.put(key, array)
        return array

    def key(self, settings: dict[str, Any] | bytes) -> str:
        """Return the name that the cache has for such an array; an image without file has none."""
        cache = self.reader.cache
        return cache.key(self.data, settings) if cache is not None and self.data else ""

    def _read(self, mode: str, max_side: int | None) -> np.ndarray:
        if isinstance(self._source, np.ndarray):
            pixels = as_rgb(self._source) if mode == "rgb" else as_grey(self._source)
            return shrink(pixels, max_side)
        return read_image(self._source, mode, self.reader.max_pixels, max_side=max_side)


def channel_settings(channel: Channel) -> dict[str, Any]:
    """Return the name of a channel's extractor, all its parameters and its version."""
    return _settings(channel.extractor, json.dumps(channel.params))


@lru_cache(maxsize=64)
def _settings(extractor: str, params: str) -> dict[str, Any]:
    made = find_extractor(extractor)(**json.loads(params))
    return {"extractor": extractor, "params": made.get_params(), "version": made.version}
