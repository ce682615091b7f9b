"""The stages that pass over images: patches of some are sampled, encoders learn, all are encoded.

A stage is a plain function with a cache key. Only `cached` reads or writes the cache, and only
`each_image` reads files in parallel, reports progress and collects what is left out; it does not
know what is computed. Any number of threads, or of workers of joblib's active backend, gives the
same.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

import visualwords
from visualwords.apps.cluster.connection import check_seen
from visualwords.apps.pipeline.channel import Channel, Words
from visualwords.apps.pipeline.contents import Content, OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoder import (
    ChannelEncoder,
    Rows,
    rows_of,
    side_by_side,
    weigh_side_by_side,
)
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.view import View
from visualwords.cache import FeatureCache, written
from visualwords.classifiers.row_file import RowFile
from visualwords.codebook.codebook import fair_shares
from visualwords.errors import FolderError, ImageError, Skipped
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets
from visualwords.images import MAX_PIXELS
from visualwords.model_file import packed, unpacked
from visualwords.parallel import map_on_workers, return_freed_memory, workers_share_memory
from visualwords.progress import Progress, Silent

CHUNK = 16  # images; small enough that Ctrl-C is answered at once
PARCEL = 64  # images in a message of a worker
IMAGES = 600  # read for the sample of patches, in equal shares of the classes
PATCHES = 150_000  # of all of them together
LEAST = 250  # patches of an image, if it has so many
BLOCK = 256  # images whose rows are written to a file at once
PATCH = ("descriptors", "positions", "sizes")

VERSIONS = {  # of what is made of one image; to be raised when the same input gives something else
    "sample": 4,
    "encode": 6,
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


def cached(
    cache: FeatureCache | None, key: Callable[[], str], function: Callable[[], np.ndarray]
) -> np.ndarray:
    """What a function makes, from the cache if it is there under a key.

    The key is asked for again before the array is kept: it may depend on files that changed, or
    could not be read, meanwhile. An empty key stands for what can't be kept.
    """
    before = "" if cache is None else key()
    array = cache.get(before) if cache is not None and before else None
    if array is None:
        array = function()
        if cache is not None and before and key() == before:
            cache.put(before, array)
    return array


@dataclass(frozen=True)
class Step:
    """What is made of each image.

    Attributes
    ----------
    name : one of `VERSIONS`
    settings : dict
        All that decides the result, beside the image; JSON can hold it.
    function : function of an `OpenedImage` and the inputs → array
        It goes to other processes where the backend has such, so it must be importable.
    inputs : tuple
        What else the function takes.
    """

    name: str
    settings: dict[str, Any]
    function: Callable[..., np.ndarray]
    inputs: tuple[Any, ...] = ()

    def of(self, image: OpenedImage, cache: FeatureCache | None) -> np.ndarray:
        """The array of one image: from the cache, else made and kept."""

        def key() -> str:
            fingerprint = image.content.fingerprint
            return FeatureCache.key(fingerprint, self._settings) if fingerprint else ""

        return cached(cache, key, lambda: self.function(image, *self.inputs))

    @cached_property
    def _settings(self) -> bytes:
        return written({**self.settings, "step": self.name, "version": VERSIONS[self.name]})


Arrays = list[np.ndarray]  # of one image, one for each step


class _Parcel(NamedTuple):
    """The identity of several images, and what was made of each: a message of a worker."""

    images: list[tuple[tuple[bytes, bytes] | Skipped, Arrays | Skipped]]


def each_image(
    steps: Sequence[Step], data: Dataset, env: Environment, title: str, keep: bool = False
) -> Iterator[Arrays | Skipped]:
    """Yield what steps make of every image, in order; why it is left out if they can't.

    An image is opened, decoded and described once for all steps.

    Parameters
    ----------
    steps : of each image; none only open the files
    data : Dataset
    env : Environment
    title : what progress shows
    keep : bool
        Whether the next pass needs the same pixels, which stay in memory while there is room.
    """
    env.progress.start(title, len(data))
    here = workers_share_memory()
    size = CHUNK if here else PARCEL
    chunks = [data.contents[i : i + size] for i in range(0, len(data), size)]
    shared = [steps, env.cache, env.max_pixels, keep]
    parcels = map_on_workers(
        _make, ((chunk,) for chunk in chunks), shared=shared, n_jobs=env.n_jobs
    )
    for chunk, parcel in zip(chunks, parcels, strict=True):  # workers warn of an end unseen
        if not here:
            check_seen([made for _, made in parcel.images])
            for content, (identity, _) in zip(chunk, parcel.images):
                content.take_over(identity)
        env.progress.advance(len(chunk))
        yield from (made for _, made in parcel.images)


def _make(
    steps: Sequence[Step],
    cache: FeatureCache | None,
    max_pixels: int,
    keep: bool,
    contents: Sequence[Content],
) -> _Parcel:
    made: list[Any] = []
    for content in contents:
        image = OpenedImage(content, max_pixels, keep)
        try:
            image.identify()
            made.append((content.identity, [step.of(image, cache) for step in steps]))
        except ImageError as problem:
            skipped = Skipped.of(content.name, problem)
            made.append((skipped, skipped))
    return _Parcel(made)


def fingerprint_files(data: Dataset, env: Environment) -> list[bytes]:
    """Open every file that has not been opened; the fingerprints of all."""
    unknown = [i for i, content in enumerate(data.contents) if not content.is_known]
    if unknown:
        for _ in each_image([], data.part(unknown), env, "looking at files"):
            pass
    return data.fingerprints


# Learning from a sample of patches: the patches of all images need not be in memory.


def chosen_images(codes: np.ndarray, seed: int, n_images: int = IMAGES) -> np.ndarray:
    """Positions of the images to sample from: equal shares of the classes, ascending."""
    random = np.random.default_rng(seed)
    shares = fair_shares(np.bincount(codes), n_images)
    chosen = [
        random.permutation(np.flatnonzero(codes == c))[:share] for c, share in enumerate(shares)
    ]
    return np.sort(np.concatenate(chosen))


def learn(
    channels: Sequence[Channel], data: Dataset, view: View, env: Environment, seed: int
) -> list[ChannelEncoder]:
    """Encoders of channels that have learned from some patches of some images of every class."""
    encoders = [ChannelEncoder(channel.unweighted, seed) for channel in channels]
    learning = [encoder for encoder in encoders if encoder.channel.learns]
    some = data.part(chosen_images(data.codes, seed))
    if learning and env.cache is not None:
        fingerprint_files(some, env)
    keys = [_learn_key(encoder, some, view, env) for encoder in learning]
    known = [env.cache is not None and env.cache.get(key()) is not None for key in keys]
    new = [encoder for encoder, it in zip(learning, known) if not it]
    samples = sample([encoder.channel for encoder in new], some, view, env)
    for encoder, key, it in zip(learning, keys, known):

        def learned(encoder: ChannelEncoder = encoder, it: bool = it) -> np.ndarray:
            # What the cache has lost this very moment is sampled alone.
            source = sample([encoder.channel], some, view, env) if it else samples
            return packed(encoder.learn(next(source), env.progress, env.n_jobs).get_state())

        state = cached(env.cache, key, learned)
        if encoder.codebook is None:
            encoder.set_state(unpacked(state))
    return_freed_memory()  # of the patches: rows of all images come next
    return [encoder.of(channel) for encoder, channel in zip(encoders, channels)]


def sample(
    channels: Sequence[Channel], data: Dataset, view: View, env: Environment
) -> Iterator[LocalFeatureSets]:
    """Yield some patches of every image that can be read, for each channel.

    All channels are sampled in one pass. Until they are asked for, patches wait on disk: those of
    many channels are more than rows will be.
    """
    n = max(LEAST, -(-PATCHES // max(len(data), 1)))
    steps = [
        Step(
            "sample",
            {**channel_settings(channel), **view.settings(), "n": n},
            some_patches,
            (channel, n, view),
        )
        for channel in channels
    ]
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in channels]
        kinds: list[np.dtype] = [np.dtype(np.uint8)] * len(channels)
        sizes: list[list[int]] = [[] for _ in channels]
        images = each_image(steps, data, env, "sampling patches", keep=True) if channels else ()
        for made in images:
            if not isinstance(made, Skipped):
                for c, records in enumerate(made):
                    files[c].write(records.tobytes())
                    kinds[c] = records.dtype
                    sizes[c].append(len(records))
        for file, kind, counts in zip(files, kinds, sizes):
            file.seek(0)
            if not counts:
                yield LocalFeatureSets.concatenate([])
                continue
            records = np.frombuffer(file.read(), kind)
            columns = [np.ascontiguousarray(records[name]) for name in PATCH]
            offsets = np.cumsum([0, *counts], dtype=np.int64)
            yield LocalFeatureSets(columns[0], columns[1], columns[2], offsets)


def _learn_key(
    encoder: ChannelEncoder, data: Dataset, view: View, env: Environment
) -> Callable[[], str]:
    settings = {
        **channel_settings(encoder.channel),
        "channel": repr(encoder.channel),
        "sample": [IMAGES, PATCHES, LEAST],
        **view.settings(),
        "max_pixels": env.max_pixels,
        "seed": encoder.seed,
        "step": "learn",
        "version": visualwords.__version__,  # learning is repeated by every release
    }

    def key() -> str:
        content = data.fingerprint()
        return "" if content is None else FeatureCache.key(content, settings)

    return key


def some_patches(image: OpenedImage, channel: Channel, n: int, view: View) -> np.ndarray:
    """Records of n patches, or of all there are, in the order of the extractor."""
    local = image.features(channel, view)
    assert isinstance(local, LocalFeatures)
    rows = np.sort(np.random.default_rng(image.content.seed).permutation(len(local))[:n])
    kind = local.descriptors.dtype, local.descriptors.shape[1:]
    kinds: list[tuple[Any, ...]] = [kind, (np.float32, (2,)), (np.float32,)]
    records = np.empty(len(rows), [(name, *kind) for name, kind in zip(PATCH, kinds)])
    for name in PATCH:
        records[name] = getattr(local, name)[rows]
    return records


def channel_settings(channel: Channel) -> dict[str, Any]:
    """The name of a channel's extractor, all its parameters and its version."""
    return _extractor_settings(channel.extractor, json.dumps(channel.params), channel.learns)


@lru_cache(maxsize=64)
def _extractor_settings(extractor: str, params: str, of_patches: bool) -> dict[str, Any]:
    made = Channel(extractor, json.loads(params), words=Words() if of_patches else None).build()
    given = made.get_params()
    if given.get("sha256") is not None:  # a network is known by its content, wherever it lies
        del given["path"]
    return {"extractor": extractor, "params": given, "version": made.version}


# Encoding all images


@dataclass(frozen=True)
class Encoded:
    """The rows of images, and what made them.

    Attributes
    ----------
    encoders : list of ChannelEncoder
    rows : (n_views · n, d) array, CSR matrix or RowFile
        Rows of views follow those of all originals.
    places : (n,) int
        The row of each image that can be read.
    kept : (n,) positions of these images
    skipped : list of Skipped
        The others.
    more : for each further step, its arrays of the kept images
    products : of the rows, where they are known
    """

    encoders: list[ChannelEncoder]
    rows: Rows
    places: np.ndarray
    kept: np.ndarray
    skipped: list[Skipped]
    more: list[list[np.ndarray]]
    products: np.ndarray | None = None


def encode(
    recipe: Recipe,
    encoders: list[ChannelEncoder],
    data: Dataset,
    env: Environment,
    more: Sequence[Step] = (),
    *,
    learn_from: np.ndarray | None = None,
    file: RowFile | None = None,
    seed: int = 0,
) -> Encoded:
    """Encode the images of a data set, and the views of them that a recipe asks for.

    Parameters
    ----------
    recipe : Recipe
    encoders : list of ChannelEncoder
        They have learned, but for the scale of rows, which they learn here.
    data : Dataset
    env : Environment
    more : further steps of the same pass over the originals
    learn_from : (n,) bool, optional
        Images that scales are learned from; all.
    file : RowFile, optional
        Where rows wait, in random order, that memory has no room for. Scales are known then, and
        there are no views.
    seed : int
        Of that order.
    """
    views, n = recipe.image_views(), len(data)
    order = np.arange(n) if file is None else np.random.default_rng(seed).permutation(n)
    skipped: dict[int, Skipped] = {}
    others: dict[int, Arrays] = {}
    table = _Table(encoders, n * len(views), file)
    for number, view in enumerate(views):
        stream = encode_each(encoders, data.part(order), view, env, () if number else more)
        for i, made in zip(order.tolist(), stream, strict=True):
            if isinstance(made, Skipped):
                skipped.setdefault(i, made)
                continue
            table.put(number * n + i, made[: len(encoders)])
            if not number:
                others[i] = made[len(encoders) :]
    kept = np.array([i for i in range(n) if i not in skipped], np.intp)
    wanted = (kept + n * np.arange(len(views))[:, None]).ravel()
    rows, places = table.rows(wanted, wanted if learn_from is None else kept[learn_from[kept]])
    further = [[others[i][m] for i in kept] for m in range(len(more))]
    left_out = [skipped[i] for i in sorted(skipped)]  # places are those of originals
    return Encoded(encoders, rows, places[: len(kept)], kept, left_out, further)


class _Table:
    """Encoded images as they come: bytes of all channels in one matrix, others as they are.

    With a file, they are written there a block at a time.
    """

    def __init__(self, encoders: Sequence[ChannelEncoder], n_rows: int, file: RowFile | None):
        self.encoders, self.n_rows, self.file = encoders, n_rows, file
        self.is_linear = all(encoder.channel.linear for encoder in encoders)
        self.widths: list[int] = []
        self.bytes = np.zeros((0, 0), np.int8)
        self.arrays: dict[int, Arrays] = {}
        self.written: list[int] = []

    def put(self, place: int, arrays: Arrays) -> None:
        """Keep the arrays of one image."""
        if self.file is not None or not self.is_linear or arrays[0].ndim != 1:
            self.arrays[place] = arrays
            if len(self.arrays) == BLOCK:
                self._write()
            return
        widths = [len(array) for array in arrays]
        if not self.widths:
            self.widths, self.bytes = widths, np.empty((self.n_rows, sum(widths)), np.int8)
        if widths != self.widths:
            raise FolderError(
                f"the extractors give {sum(self.widths)} and {sum(widths)} numbers an image; "
                "bring all images to one size, or give them a parameter that does"
            )
        np.concatenate(arrays, out=self.bytes[place])

    def _write(self) -> None:
        if self.file is not None and self.arrays:
            self.file.append(rows_of(self.encoders, list(self.arrays.values())))
            self.written += self.arrays
            self.arrays = {}

    def rows(self, wanted: np.ndarray, learn_from: np.ndarray) -> tuple[Rows, np.ndarray]:
        """The rows of some images, and where each is; scales are learned from others."""
        if self.file is not None:
            self._write()
            return self.file, np.argsort(self.written)
        places = np.arange(len(wanted))
        if self.widths:
            whole = len(wanted) == len(self.bytes)
            rows = self.bytes if whole else self.bytes[wanted]
            return weigh_side_by_side(rows, self.encoders, self.widths), places
        parts = []
        for number, encoder in enumerate(self.encoders):
            same = np.array_equal(learn_from, wanted)
            if not same:
                encoder.assemble([self.arrays[i][number] for i in learn_from], learn=True)
            encoded = [self.arrays[i][number] for i in wanted]
            parts.append(encoder.assemble(encoded, learn=same))
        return side_by_side(parts), places


def encode_each(
    encoders: Sequence[ChannelEncoder],
    data: Dataset,
    view: View,
    env: Environment,
    more: Sequence[Step] = (),
) -> Iterator[Arrays | Skipped]:
    """Yield the encoded channels of every image, then what further steps made; or why not."""
    steps = [_encode_step(encoder, view, env.cache is not None) for encoder in encoders]
    return each_image([*steps, *more], data, env, "reading images")


def _encode_step(encoder: ChannelEncoder, view: View, is_cached: bool) -> Step:
    settings: dict[str, Any] = {}
    if is_cached:  # a fingerprint of all words or Gaussians takes time
        settings = {
            **channel_settings(encoder.channel),
            **view.settings(),
            "encoder": encoder.fingerprint(),
        }
    return Step("encode", settings, encode_image, (encoder, view))


def encode_image(image: OpenedImage, encoder: ChannelEncoder, view: View) -> np.ndarray:
    """What an encoder makes of one image."""
    return encoder.encode(image.features(encoder.channel, view))


def digests_of(data: Dataset) -> np.ndarray:
    """The digests of files, (n,) uint64; arrays have none."""
    found = b"".join(content.digest for content in data.contents)
    return np.frombuffer(found, np.uint64)
