"""The first stage of every recipe: image files or arrays → a vector or local features each.

Images are independent of each other, so any number of jobs gives the same. What can't be read is
left out and listed with its reason; a file is read once, and what is cached belongs to exactly the
bytes that were read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from visualwords.apps.inputs import Source
from visualwords.apps.recipes import Channel, Recipe
from visualwords.cache import FeatureCache
from visualwords.duplicates import digest
from visualwords.errors import FolderError, ImageError
from visualwords.features.extractor import Extractor, as_grey, as_rgb
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets
from visualwords.images import MAX_PIXELS, read_bytes, read_image, shrink
from visualwords.progress import Progress, Silent

CHUNK = 16  # images; small enough that Ctrl-C is answered at once


@dataclass(frozen=True)
class Extraction:
    """What was computed from a list of images.

    Attributes
    ----------
    channels : one for each channel of the recipe: an (n_kept, d) float32 array, or the local
        features of all images
    kept : positions of the images that could be read
    skipped : list of (position, reason)
    digests : fingerprints of the files that could be read; empty for arrays
    """

    channels: list[np.ndarray | LocalFeatureSets]
    kept: np.ndarray
    skipped: list[tuple[int, str]]
    digests: list[bytes]


def extract(
    sources: Sequence[Source],
    recipe: Recipe,
    *,
    n_jobs: int | None = None,
    cache: FeatureCache | None = None,
    max_pixels: int = MAX_PIXELS,
    progress: Progress | None = None,
) -> Extraction:
    """Compute the channels of a recipe for many images.

    Parameters
    ----------
    sources : sequence of paths, contents of files (bytes) or uint8 arrays
    recipe : Recipe
    n_jobs : int, optional
        Threads (or workers of the active joblib backend).
    cache : FeatureCache, optional
    max_pixels : int
        Larger images are skipped.
    progress : Progress, optional
    """
    progress = progress or Silent()
    progress.start("reading images", len(sources))
    chunks = [sources[i : i + CHUNK] for i in range(0, len(sources), CHUNK)]
    work = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    results: list[_Result] = []
    for chunk in work(delayed(_extract_chunk)(c, recipe, cache, max_pixels) for c in chunks):
        results += chunk
        progress.advance(len(chunk))
    kept = [i for i, result in enumerate(results) if isinstance(result, _Row)]
    rows = [result for result in results if isinstance(result, _Row)]
    return Extraction(
        channels=[_join([row.channels[c] for row in rows]) for c in range(len(recipe.channels))],
        kept=np.array(kept, dtype=np.intp),
        skipped=[(i, reason) for i, reason in enumerate(results) if isinstance(reason, str)],
        digests=[row.digest for row in rows if row.digest],
    )


@dataclass(frozen=True)
class _Row:
    channels: list[np.ndarray | LocalFeatures]
    digest: bytes


_Result = _Row | str  # or the reason why there is none


def _join(images: Sequence[Any]) -> np.ndarray | LocalFeatureSets:
    if images and isinstance(images[0], LocalFeatures):
        return LocalFeatureSets.concatenate(images)
    sizes = {len(vector) for vector in images}
    if len(sizes) > 1:
        raise FolderError(
            f"the extractor gives from {min(sizes)} to {max(sizes)} numbers an image; "
            "bring all images to one size, or give it a parameter that does"
        )
    return np.stack(images) if images else np.zeros((0, 0), np.float32)


def _extract_chunk(
    sources: Sequence[Source], recipe: Recipe, cache: FeatureCache | None, max_pixels: int
) -> list[_Result]:
    extractors = [channel.build() for channel in recipe.channels]
    results: list[_Result] = []
    for source in sources:
        try:
            results.append(_extract_one(source, recipe, extractors, cache, max_pixels))
        except ImageError as problem:
            results.append(str(problem))
    return results


def seen_image(
    source: Source, mode: str, recipe: Recipe, max_pixels: int = MAX_PIXELS
) -> np.ndarray:
    """Return an image as the extractors of a recipe see it: of a colour mode, not too large."""
    if isinstance(source, np.ndarray):
        return shrink(as_rgb(source) if mode == "rgb" else as_grey(source), recipe.max_side)
    return read_image(source, mode, max_pixels, max_side=recipe.max_side)


def _extract_one(
    source: Source,
    recipe: Recipe,
    extractors: Sequence[Extractor],
    cache: FeatureCache | None,
    max_pixels: int,
) -> _Row:
    if isinstance(source, np.ndarray):
        data = b""
    else:
        data = source if isinstance(source, bytes) else read_bytes(source)
    images: dict[str, np.ndarray] = {}

    def image(mode: str) -> np.ndarray:
        if mode not in images:
            images[mode] = seen_image(data or source, mode, recipe, max_pixels)
        return images[mode]

    found: list[np.ndarray | LocalFeatures] = []
    for channel, extractor in zip(recipe.channels, extractors):
        key = array = None
        if cache is not None and data:
            key = cache.key(data, _settings(channel, extractor, recipe))
            array = cache.get(key)
        if array is None:
            array = _describe(image(extractor.color_mode), channel, extractor)
            if cache is not None and key is not None:
                cache.put(key, array)
        found.append(_features_of(array) if extractor.is_local else array)
    return _Row(found, digest(data) if data else b"")


def _describe(image: np.ndarray, channel: Channel, extractor: Extractor) -> np.ndarray:
    """Return what is kept of an image: one vector, or a record for each patch."""
    if not extractor.is_local:
        return _comparable(extractor.describe(image), channel.power)
    local = extractor.extract(image)
    records = np.empty(
        len(local),
        [
            ("descriptor", local.descriptors.dtype, local.descriptors.shape[1:]),
            ("position", np.float32, (2,)),
            ("size", np.float32),
        ],
    )
    records["descriptor"] = local.descriptors
    records["position"] = local.positions
    records["size"] = local.sizes
    return records


def _features_of(records: np.ndarray) -> LocalFeatures:
    return LocalFeatures(
        *(np.ascontiguousarray(records[name]) for name in ("descriptor", "position", "size"))
    )


def _settings(channel: Channel, extractor: Extractor, recipe: Recipe) -> dict[str, Any]:
    """Return all that decides a channel's numbers, beside the bytes of the file."""
    return {
        "extractor": channel.extractor,
        "params": extractor.get_params(),
        "version": extractor.version,
        "power": channel.power,
        "max_side": recipe.max_side,
    }


def _comparable(numbers: np.ndarray, power: float | None) -> np.ndarray:
    """Return counts as shares of their sum, raised to a power; no counts give zeros."""
    if numbers.min(initial=0) < 0:
        raise ImageError("the extractor gives negative numbers, which no histogram has")
    if power is None:
        return numbers.astype(np.float32, copy=False)
    shares = numbers / max(numbers.sum(dtype=np.float64), 1.0)
    return (shares**power).astype(np.float32)
