"""Stages of a recipe: what is made of each image, or of all together, and how the cache keeps it.

Only this module makes keys of the cache, reads and writes it, reports how far a stage is, and
collects what it leaves out. A stage of each image runs in threads, or on the workers of joblib's
active backend; any number of them gives the same.
"""

import platform
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

import visualwords
from visualwords.apps.cluster.connection import check_seen
from visualwords.apps.pipeline.contents import Content, OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.cache import FeatureCache, written
from visualwords.errors import ImageError, Skipped
from visualwords.images import MAX_PIXELS
from visualwords.model_file import State, packed, unpacked
from visualwords.parallel import map_on_workers, workers_share_memory
from visualwords.progress import Progress, Silent

CHUNK = 16  # images; small enough that Ctrl-C is answered at once
PARCEL = 64  # images in a message of a worker

VERSIONS = {  # of what stages do; to be raised when the same input gives something else
    "sample": 3,  # patches of one image
    "learn": 5,  # an encoder, of the sample
    "encode": 5,  # the row of one image
    "train": 11,  # a recipe, of all images
    "sign": 2,  # signatures of all images
    "score": 7,  # what a model predicts for many files
    "thumbnail": 2,
    "portrait": 1,
    "appearance": 2,
}


@dataclass(frozen=True)
class Environment:
    """What stages run in; nothing of it changes what they make.

    Attributes
    ----------
    cache : FeatureCache or None
    n_jobs : int or None
        Threads, or workers of the active joblib backend.
    progress : Progress
    max_pixels : int
        Larger images are left out.
    """

    cache: FeatureCache | None = None
    n_jobs: int | None = None
    progress: Progress = field(default_factory=Silent)
    max_pixels: int = MAX_PIXELS


@dataclass(frozen=True)
class Stage:
    """One step of the pipeline.

    Attributes
    ----------
    name : one of `VERSIONS`
    settings : dict
        All that decides the result, beside the images; JSON can hold it.
    function : function of an `OpenedImage` and the inputs → array; for stages of each image
        It goes to other processes where the backend has such, so it must be importable.
    inputs : tuple
        What else the function takes.
    accepts : function of an array → bool, optional
        Whether the function can have made it; an entry of the cache that it did not is not used.
    """

    name: str
    settings: dict[str, Any]
    function: Callable[..., np.ndarray] | None = None
    inputs: tuple[Any, ...] = ()
    accepts: Callable[[np.ndarray], bool] | None = None

    def load(self, content: bytes | None, cache: FeatureCache | None) -> State | None:
        """Return what this stage made of all images before; None if that is not known.

        Parameters
        ----------
        content : fingerprint of everything it was made of; None if that can't be told
        cache : FeatureCache or None
        """
        if cache is None or content is None:
            return None
        known = cache.get(self._key(content, cache))
        try:
            return None if known is None else unpacked(known)
        except Exception:  # an entry that others wrote can be wrong in any way
            return None

    def store(self, content: bytes | None, cache: FeatureCache | None, state: State) -> None:
        """Keep what this stage made of all images."""
        if cache is not None and content is not None:
            cache.put(self._key(content, cache), packed(state))

    def of_image(self, image: OpenedImage, cache: FeatureCache | None) -> np.ndarray:
        """Return the array of one image: from the cache, else made and kept."""
        if self.function is None:
            raise TypeError(f"the stage {self.name!r} is none of single images")
        key = self.key_of(image.content, cache)
        if cache is None or not key:
            return self.function(image, *self.inputs)
        array = cache.get(key)
        if array is None or (self.accepts is not None and not self.accepts(array)):
            array = self.function(image, *self.inputs)
            cache.put(key, array)
        return array

    def key_of(self, content: Content, cache: FeatureCache | None) -> str:
        """Return the name that the cache has for the array of an image; empty if it has none."""
        if cache is None or not content.fingerprint:
            return ""
        return self._key(content.fingerprint, cache)

    def _key(self, content: bytes, cache: FeatureCache) -> str:
        return cache.key(content, self._settings)

    @cached_property
    def _settings(self) -> bytes:
        version: list[Any] = [VERSIONS[self.name]]
        if self.function is None:  # what was learned is made anew by every release
            version.append(visualwords.__version__)
        return written({**self.settings, "stage": self.name, "stage version": version})


Arrays = list[np.ndarray]  # of one image, one for each stage


def fingerprint_files(data: Dataset, env: Environment) -> list[bytes]:
    """Open every file that has not been opened; return the fingerprints of all."""
    unknown = [i for i, content in enumerate(data.contents) if not content.is_known]
    if unknown:
        for _ in each_image([], data.part(unknown), env, "looking at files"):
            pass
    return data.fingerprints


def each_image(
    stages: Sequence[Stage], data: Dataset, env: Environment, title: str
) -> Iterator[Arrays | Skipped]:
    """Yield what stages make of every image, in order; why it is left out if they can't.

    An image is opened, decoded and described once for all stages.

    Workers that do not share this process's memory leave arrays in the cache and send their keys;
    where the cache is not the one that this process has under the same name, they send the arrays
    too, which are kept here. An array that is found nowhere is made here.

    Parameters
    ----------
    stages : of each image
    data : Dataset
    env : Environment
    title : what progress shows
    """
    env.progress.start(title, len(data))
    here = workers_share_memory()
    mark = "" if here or env.cache is None or not stages else _marked(env.cache)
    size = CHUNK if here else PARCEL
    chunks = [data.contents[i : i + size] for i in range(0, len(data), size)]
    found = map_on_workers(
        _run_here if here else _run_elsewhere,
        ((chunk,) for chunk in chunks),
        shared=[stages, env.cache, env.max_pixels, mark],
        n_jobs=env.n_jobs,
    )
    for chunk, results in zip(chunks, found, strict=True):  # workers warn of an end unseen
        if not here:
            check_seen(results.images)
            results = [_received(stages, env, *pair) for pair in zip(chunk, results.images)]
        env.progress.advance(len(results))
        yield from results


def _run_here(
    stages: Sequence[Stage],
    cache: FeatureCache | None,
    max_pixels: int,
    mark: str,
    contents: Sequence[Content],
) -> list[Arrays | Skipped]:
    return [run_stages(stages, content, cache, max_pixels) for content in contents]


def run_stages(
    stages: Sequence[Stage], content: Content, cache: FeatureCache | None, max_pixels: int
) -> Arrays | Skipped:
    """Return what stages make of one image, or why they can't."""
    try:
        image = OpenedImage(content, max_pixels)
        image.identify()
        return [stage.of_image(image, cache) for stage in stages]
    except ImageError as problem:
        return Skipped.of(content.name, problem)


Packed = tuple[np.dtype, tuple[int, ...], bytes]
Sent = tuple[tuple[bytes, bytes], list[tuple[str, Packed | None]]]


@dataclass(frozen=True)
class _Parcel:
    """What a worker sends of several images, packed as a whole.

    Of lists Dask would pack every array and text on its own, which takes longer than to send them.
    """

    images: list[Sent | Skipped]


def _run_elsewhere(
    stages: Sequence[Stage],
    cache: FeatureCache | None,
    max_pixels: int,
    mark: str,
    contents: Sequence[Content],
) -> _Parcel:
    """Return for each file its identity, and each stage's key, with the array if need be."""
    shared = _has(cache, mark)
    sent: list[Sent | Skipped] = []
    for content in contents:
        made = run_stages(stages, content, cache, max_pixels)
        if isinstance(made, Skipped):
            sent.append(made)
            continue
        keys = [stage.key_of(content, cache) for stage in stages]
        arrays = [None if key and shared else _packed(array) for key, array in zip(keys, made)]
        sent.append((content.identity, list(zip(keys, arrays))))
    return _Parcel(sent)


def _packed(array: np.ndarray) -> Packed:
    """Return what an array is made of; arrays themselves are no part of a parcel."""
    return array.dtype, array.shape, array.tobytes()


def _unpacked(dtype: np.dtype, shape: tuple[int, ...], values: bytes) -> np.ndarray:
    return np.frombuffer(values, dtype).reshape(shape).copy()


def _received(
    stages: Sequence[Stage], env: Environment, content: Content, sent: Sent | Skipped
) -> Arrays | Skipped:
    """Return the arrays of an image that a worker of another process looked at."""
    if isinstance(sent, Skipped):
        content.fail(sent)
        return sent
    content.identity, parts = sent
    arrays: list[Any] = [_fetched(env.cache, *part) for part in parts]
    if any(array is None for array in arrays):
        return run_stages(stages, content, env.cache, env.max_pixels)
    return arrays


def _fetched(cache: FeatureCache | None, key: str, sent: Packed | None) -> np.ndarray | None:
    """Return an array of the cache, or one that was sent, which is kept there."""
    if sent is None:
        return None if cache is None else cache.get(key, expected=True)
    array = _unpacked(*sent)
    if cache is not None and key:
        cache.put(key, array)
    return array


def _marked(cache: FeatureCache) -> str:
    """Leave an entry in the cache that tells it from those of other machines; return its key."""
    key = cache.key(b"", {"mark": [platform.node(), uuid.getnode()]})
    cache.put(key, np.zeros(0))
    return key


@lru_cache(maxsize=8)
def _has(cache: FeatureCache | None, key: str) -> bool:
    return cache is not None and bool(key) and cache.get(key, expected=True) is not None
