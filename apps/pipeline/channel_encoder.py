"""From the features of one image to its row: what every channel learns, and how it applies it.

Three steps, each a plain function of what came before: ``learn`` from a sample of patches,
``encode`` one image after the other (small arrays, which the cache keeps), and ``assemble`` the
matrix of many.
"""

import hashlib
import json
from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from visualwords.apps.pipeline.contents import Features
from visualwords.apps.pipeline.recipe import Channel, Recipe, Words, windows_of
from visualwords.codebook import (
    BagOfWords,
    FeatureSetEncoder,
    FeatureSets,
    FisherVectors,
    HIKCodebook,
    KMeansCodebook,
    PyramidMatchEmbedding,
    SecondOrderPooling,
    SpatialPyramid,
)
from visualwords.errors import FolderError
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets
from visualwords.model_file import add_to, part_of
from visualwords.progress import Progress, Silent

PERCENTILE = 97.5  # as that of the quantisation, [Wu10], Sec. 3.5
PATCHES_PER_WORD = 5
PATCHES_PER_GAUSSIAN = 20
MIXTURE_ITERATIONS = 12  # more change no figure of folds (docs/choices.md)
UNIT = 4096.0  # shares of words are multiplied by this before they become float16
ROWS_AT_A_TIME = 8  # while bytes are weighted: some have half a million columns
LENGTH = 500.0  # of signed bytes: a whole image's numbers, or a window of a Fisher vector

CODEBOOKS = {"KMeansCodebook": KMeansCodebook, "HIKCodebook": HIKCodebook}

Rows: TypeAlias = Any  # an array or a CSR matrix; SciPy publishes no types


class ChannelEncoder:
    """Learns and applies one channel's way from extracted features to rows.

    Parameters
    ----------
    channel : Channel
    seed : int
    """

    def __init__(self, channel: Channel, seed: int):
        self.channel = channel
        self.seed = seed
        self.n_patches = 0
        self.stage: Any = None
        self.embedding: PyramidMatchEmbedding | None = None
        self.scale = 1.0

    def learn(
        self,
        sample: LocalFeatureSets,
        progress: Progress | None = None,
        n_jobs: int | None = None,
    ) -> "ChannelEncoder":
        """Learn words, Gaussians or directions from patches, in any number of threads.

        Few patches make few words, at most one for every `PATCHES_PER_WORD`; none make rows
        without columns.
        """
        self.n_patches = len(sample.descriptors)
        self.stage = self._new_stage(n_jobs)
        if isinstance(self.stage, FeatureSetEncoder) and not self.stage.kept(sample).size:
            self.n_patches, self.stage = 0, None  # blank patches are no points
        if self.stage is None:
            return self
        if isinstance(self.stage, FeatureSetEncoder):
            self.stage.fit(sample)
        else:
            self.stage.fit(self.prepared(sample), progress=progress or Silent())
        return self

    def encode(self, features: Features) -> np.ndarray:
        """Return what is kept of one image: a row of few bytes a column, or points of a set.

        It is the same whatever the channel's weight, which `assemble` multiplies with.
        """
        if not isinstance(features, LocalFeatures):
            return self._encode_vector(features)
        if self.stage is None:
            return np.zeros(0, np.int8 if self.channel.linear else np.float32)
        if isinstance(self.stage, FeatureSetEncoder):
            return self.stage.transform([features]).points
        if isinstance(self.stage, FisherVectors | SecondOrderPooling):
            return _as_bytes(self.stage.encode(self.prepared(features)) * np.float32(LENGTH))
        return self._encode_words(self.stage.encode(features))

    def assemble(self, encoded: list[np.ndarray], *, learn: bool = False) -> Rows:
        """Return the matrix of many images; with ``learn``, after learning the common scale."""
        if isinstance(self.stage, FeatureSetEncoder):
            return self._embed(encoded, learn)
        rows = _stacked(encoded)
        if rows.dtype == np.int8 and self.channel.linear:
            return weighted(rows, self.channel.weight)
        if rows.dtype == np.int8:
            return rows.astype(np.float32) / np.float32(LENGTH)
        if learn:
            self.scale = _scale_of(rows[rows != 0])
            if not self.channel.rescale:
                self.scale = UNIT if rows.dtype == np.float16 else 1.0
        rows = (rows * np.float32(self.channel.weight / self.scale)).astype(np.float32, copy=False)
        return rows if self.channel.hashes is None else self._hashed(rows)

    def get_state(self) -> dict[str, np.ndarray]:
        """Return what was learned as plain arrays."""
        state = {"scale": np.array(self.scale), "n_patches": np.array(self.n_patches)}
        if self.stage is not None:
            state |= {f"stage/{name}": value for name, value in self.stage.get_state().items()}
        if self.embedding is not None:
            state |= {f"sets/{name}": value for name, value in self.embedding.get_state().items()}
        return state

    def set_state(self, state: dict[str, np.ndarray]) -> "ChannelEncoder":
        """Become the encoder, of the same channel, whose `get_state` this is."""
        self.scale, self.n_patches = float(state["scale"]), int(state["n_patches"])
        self.stage = self._new_stage()
        if self.stage is not None:
            self.stage.set_state(part_of("stage/", state))
        learned = part_of("sets/", state)
        self.embedding = self._new_embedding().set_state(learned) if learned else None
        return self

    def of(self, channel: Channel) -> "ChannelEncoder":
        """Return this encoder for a channel that differs in its weight, with what was learned."""
        other = copy(self)
        other.channel = channel
        return other

    def column_names(self) -> list[str]:
        """Name the columns of `assemble`."""
        hashes = self.channel.hashes
        if hashes is not None:
            size = 1 << hashes.n_bits
            return [f"hash{k}_code{code}" for k in range(hashes.n_hashes) for code in range(size)]
        if self.embedding is not None:
            return [f"bin{k}" for k in range(self.embedding.n_columns_)]
        if self.channel.learns:
            return [] if self.stage is None else self.stage.get_feature_names_out().tolist()
        return self.channel.build().get_feature_names_out().tolist()

    def fingerprint(self) -> str:
        """Return a name for what `encode` does; part of the keys of what it made."""
        kept = repr((self.channel.unweighted, self.n_patches))
        digest = hashlib.blake2b(kept.encode(), digest_size=16)
        if self.stage is not None:
            add_to(digest, self.stage.get_state())
        return digest.hexdigest()

    def _new_stage(self, n_jobs: int | None = None) -> Any:
        """Return what learns from patches; None where there are none."""
        words, fisher, sets = self.channel.words, self.channel.fisher, self.channel.sets
        second_order = self.channel.second_order
        if not self.n_patches:
            return None
        if words is not None:
            n_words = min(words.n_words, -(-self.n_patches // PATCHES_PER_WORD))
            codebook = CODEBOOKS[words.codebook](
                n_words, random_state=self.seed, n_jobs=n_jobs, **words.codebook_params
            )
            return BagOfWords(
                codebook,
                windows_of(words.pyramid),
                norm=words.norm,
                scope=words.scope,
                power=words.power,
                output="dense",
            )
        if fisher is not None:
            return FisherVectors(
                min(fisher.n_gaussians, -(-self.n_patches // PATCHES_PER_GAUSSIAN)),
                fisher.n_components,
                SpatialPyramid(windows_of(fisher.pyramid), weights=fisher.weights),
                self.seed,
                max_iter=MIXTURE_ITERATIONS,
                n_jobs=n_jobs,
            )
        if second_order is not None:
            return SecondOrderPooling(
                second_order.n_components,
                SpatialPyramid(windows_of(second_order.pyramid), weights=second_order.weights),
                self.seed,
            )
        if sets is not None:
            return FeatureSetEncoder(sets.n_components, random_state=self.seed)
        return None

    def _new_embedding(self) -> PyramidMatchEmbedding:
        sets = self.channel.sets
        if sets is None:
            raise ValueError("the channel has no sets")
        return PyramidMatchEmbedding(
            sets.n_shifts,
            finest_level=sets.finest_level,
            min_sets=sets.min_sets,
            random_state=self.seed,
        )

    def _embed(self, encoded: list[np.ndarray], learn: bool) -> Rows:
        """Return sets of points as sparse rows."""
        offsets = np.concatenate([[0], np.cumsum([len(points) for points in encoded])])
        empty = np.zeros((0, self.stage.n_dimensions_), np.int32)
        points = np.concatenate([*encoded, empty])
        sets = FeatureSets(points, offsets.astype(np.int64), self.stage.side)
        if learn:
            self.embedding = self._new_embedding().fit(sets)
        if self.embedding is None:
            raise ValueError("the embedding has not learned")
        rows = self.embedding.transform(sets)
        if learn:
            self.scale = _scale_of(rows.data)
        factor = np.float32(self.channel.weight / self.scale)
        return (rows * factor).astype(np.float32, copy=False)

    def _hashed(self, rows: np.ndarray) -> Rows:
        """Return rows as the indicators of their hashes; nothing is learned."""
        hashes = self.channel.hashes
        if hashes is None:
            raise ValueError("the channel has no hashes")
        if not rows.shape[1]:
            return rows
        from visualwords.classifiers.gcws import GCWSHasher  # takes a while; few recipes hash

        hasher = GCWSHasher(hashes.n_hashes, hashes.n_bits, hashes.normalize, self.seed)
        first = np.ones((1, rows.shape[1]), np.float32)  # the number of columns is all it learns
        return sparse.csr_matrix(hasher.fit(first).transform(rows))

    def prepared(self, features: Any) -> Any:
        """Return local features with square roots of the descriptors, if the channel wants them."""
        if self.channel.fisher is None or not self.channel.fisher.root:
            return features
        roots = np.sqrt(features.descriptors.astype(np.float32))
        rest = (features.positions, features.sizes)
        if isinstance(features, LocalFeatureSets):
            return LocalFeatureSets(roots, *rest, features.offsets)
        return LocalFeatures(roots, *rest)

    def _encode_vector(self, numbers: np.ndarray) -> np.ndarray:
        comparable = _comparable(numbers, self.channel.power)
        return self._in_bytes(comparable) if self.channel.linear else comparable

    def _encode_words(self, counts: np.ndarray) -> np.ndarray:
        if self.channel.linear:
            return self._in_bytes(counts)
        if self.stage.norm is None:
            return counts.astype(np.float32)
        return (counts * np.float32(UNIT)).astype(np.float16)

    def _in_bytes(self, numbers: np.ndarray) -> np.ndarray:
        """Return numbers brought to one length, for a linear classifier."""
        length = np.sqrt((numbers.astype(np.float64) ** 2).sum())
        return _as_bytes(numbers * np.float32(LENGTH / max(length, 1e-12)))


def channel_settings(channel: Channel) -> dict[str, Any]:
    """Return the name of a channel's extractor, all its parameters and its version."""
    return _extractor_settings(channel.extractor, json.dumps(channel.params), channel.learns)


@lru_cache(maxsize=64)
def _extractor_settings(extractor: str, params: str, of_patches: bool) -> dict[str, Any]:
    made = Channel(extractor, json.loads(params), words=Words() if of_patches else None).build()
    given = made.get_params()
    if given.get("sha256") is not None:  # a network is known by its content, wherever it lies
        del given["path"]
    return {"extractor": extractor, "params": given, "version": made.version}


def names_of_columns(encoders: Sequence[ChannelEncoder]) -> np.ndarray:
    """Name the columns of the rows that encoders make together."""
    names = [encoder.channel.extractor for encoder in encoders]
    columns = []
    for number, encoder in enumerate(encoders):
        again = f" {names[: number + 1].count(names[number])}" * (names.count(names[number]) > 1)
        columns += [f"{names[number]}{again}/{name}" for name in encoder.column_names()]
    return np.array(columns, dtype=str)


def make_encoders(recipe: Recipe, seed: int) -> list[ChannelEncoder]:
    """Return a new encoder for each channel of a recipe."""
    return [ChannelEncoder(channel, seed) for channel in recipe.channels]


def rows_of(encoders: Sequence[ChannelEncoder], images: list[list[np.ndarray]]) -> Rows:
    """Return the matrix of images, each encoded by all channels of a recipe that has learned."""
    lengths = {tuple(map(len, arrays)) for arrays in images}
    if len(lengths) == 1 and all(encoder.channel.linear for encoder in encoders):
        rows = np.concatenate([a for arrays in images for a in arrays]).reshape(len(images), -1)
        return weigh_side_by_side(rows, encoders, *lengths)
    parts = [e.assemble([arrays[c] for arrays in images]) for c, e in enumerate(encoders)]
    return side_by_side(parts)


def side_by_side(rows: list[Rows]) -> Rows:
    """Join the rows of channels; the result is sparse if any of them is."""
    rows = [part for part in rows if part.shape[1]] or rows[:1]
    if len(rows) == 1:
        return rows[0]
    if any(sparse.issparse(part) for part in rows):
        return sparse.hstack([sparse.csr_matrix(part) for part in rows], format="csr")
    return np.concatenate(rows, axis=1)


def weigh_side_by_side(
    rows: np.ndarray, encoders: Sequence[ChannelEncoder], widths: Sequence[int]
) -> np.ndarray:
    """Multiply the bytes of channels, side by side, with their weights, in place."""
    for encoder, width, end in zip(encoders, widths, np.cumsum(widths)):
        part = rows[:, end - width : end]
        weighted(part, encoder.channel.weight, in_place=True)
    return rows


def weighted(rows: np.ndarray, weight: float, in_place: bool = False) -> np.ndarray:
    """Return bytes times a weight, rounded; those that are too large are 127.

    Examples
    --------
    >>> weighted(np.array([[1, 3, -100]], np.int8), 1.5).tolist()
    [[2, 4, -127]]
    """
    if weight == 1:
        return rows
    found = rows if in_place else np.empty_like(rows)
    for start in range(0, len(rows), ROWS_AT_A_TIME):  # floats take four times the memory
        part = slice(start, start + ROWS_AT_A_TIME)
        found[part] = _as_bytes(rows[part] * np.float32(weight))
    return found


def _as_bytes(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), -127, 127).astype(np.int8)


def _comparable(numbers: np.ndarray, power: float | None) -> np.ndarray:
    """Return counts as shares of their sum, raised to a power; no counts give zeros.

    Signed numbers are shares of the sum of their magnitudes, and keep their signs.
    """
    if power is None:
        return numbers.astype(np.float32, copy=False)
    if numbers.min(initial=0) < 0:
        shares = numbers / max(np.abs(numbers).sum(dtype=np.float64), 1.0)
        return (np.sign(shares) * np.abs(shares) ** power).astype(np.float32)
    shares = numbers / max(numbers.sum(dtype=np.float64), 1.0)
    return (shares**power).astype(np.float32)


def _scale_of(numbers: np.ndarray) -> float:
    """Return what a channel's numbers are divided by, from those of them that are not 0."""
    return float(np.percentile(np.abs(numbers), PERCENTILE)) if numbers.size else 1.0


def _stacked(encoded: list[np.ndarray]) -> np.ndarray:
    common_length(encoded)
    return np.stack(encoded) if encoded else np.zeros((0, 0), np.float32)


def common_length(encoded: list[np.ndarray]) -> int:
    """Return the length of the arrays of many images, which must be the same for all."""
    sizes = {len(vector) for vector in encoded}
    if len(sizes) > 1:
        raise FolderError(
            f"the extractor gives from {min(sizes)} to {max(sizes)} numbers an image; "
            "bring all images to one size, or give it a parameter that does"
        )
    return sizes.pop() if sizes else 0
