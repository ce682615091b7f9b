"""From the features of one image to its row: what every channel learns, and how it applies it.

Three steps, each a plain function of what came before: ``learn`` from a sample of patches,
``encode`` one image after the other (small arrays, which the cache keeps), and ``assemble`` the
matrix of many.
"""

import hashlib
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from visualwords.apps.pipeline.channel import Channel, windows_of
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
from visualwords.model_file import add_to, part_of, prefixed
from visualwords.progress import Progress, Silent

PERCENTILE = 97.5  # as that of the quantisation, [Wu10], Sec. 3.5
PATCHES_PER_WORD = 5
PATCHES_PER_GAUSSIAN = 20
MIXTURE_ITERATIONS = 12  # more change no figure of folds (docs/lab)
UNIT = 4096.0  # shares of words are multiplied by this before they become float16
ROWS_AT_A_TIME = 8  # while bytes are weighted: some have half a million columns
LENGTH = 500.0  # of signed bytes: a whole image's numbers, or a window of a Fisher vector

Features: TypeAlias = "np.ndarray | LocalFeatures"
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
        self.codebook: Any = None
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
        self.codebook = self._new_codebook(n_jobs)
        if isinstance(self.codebook, FeatureSetEncoder):
            if self.codebook.kept(sample).size:
                self.codebook.fit(sample)
            else:  # blank patches are no points
                self.n_patches, self.codebook = 0, None
        elif self.codebook is not None:
            self.codebook.fit(self.prepared(sample), progress=progress or Silent())
        return self

    def encode(self, features: Features) -> np.ndarray:
        """What is kept of one image: a row of few bytes a column, or points of a set.

        It is the same whatever the channel's weight, which `assemble` multiplies with.
        """
        if not isinstance(features, LocalFeatures):
            shares = _shares(features, self.channel.exponent)
            return _of_one_length(shares) if self.channel.linear else shares
        if self.codebook is None:
            return np.zeros(0, np.int8 if self.channel.linear else np.float32)
        if isinstance(self.codebook, FeatureSetEncoder):
            return self.codebook.transform([features]).points
        if not isinstance(self.codebook, BagOfWords):
            return _as_bytes(self.codebook.encode(self.prepared(features)) * np.float32(LENGTH))
        counts = self.codebook.encode(features)
        if self.channel.linear:
            return _of_one_length(counts)
        if self.codebook.norm is None:
            return counts.astype(np.float32)
        return (counts * np.float32(UNIT)).astype(np.float16)

    def assemble(self, encoded: Sequence[np.ndarray], *, learn: bool = False) -> Rows:
        """The matrix of many images; with ``learn``, after learning the common scale."""
        if isinstance(self.codebook, FeatureSetEncoder):
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
        """What was learned, as plain arrays."""
        state = {"scale": np.array(self.scale), "n_patches": np.array(self.n_patches)}
        if self.codebook is not None:
            state |= prefixed("codebook/", self.codebook.get_state())
        if self.embedding is not None:
            state |= prefixed("sets/", self.embedding.get_state())
        return state

    def set_state(self, state: dict[str, np.ndarray]) -> "ChannelEncoder":
        """Become the encoder, of the same channel, whose `get_state` this is."""
        self.scale, self.n_patches = float(state["scale"]), int(state["n_patches"])
        self.codebook = self._new_codebook()
        if self.codebook is not None:
            self.codebook.set_state(part_of("codebook/", state))
        learned = part_of("sets/", state)
        self.embedding = self._new_embedding().set_state(learned) if learned else None
        return self

    def of(self, channel: Channel) -> "ChannelEncoder":
        """This encoder for a channel that differs in its weight, with what was learned."""
        other = copy(self)
        other.channel = channel
        return other

    def column_names(self) -> list[str]:
        """Names of the columns of `assemble`."""
        hashes = self.channel.hashes
        if hashes is not None:
            size = 1 << ((hashes.n_bits or 0) + hashes.t_bits)
            return [f"hash{k}_code{code}" for k in range(hashes.n_hashes) for code in range(size)]
        if self.embedding is not None:
            return [f"bin{k}" for k in range(self.embedding.n_columns_)]
        if self.channel.learns:
            return [] if self.codebook is None else self.codebook.get_feature_names_out().tolist()
        return self.channel.build().get_feature_names_out().tolist()

    def fingerprint(self) -> str:
        """A name for what `encode` does; part of the keys of what it made."""
        kept = repr((self.channel.unweighted, self.n_patches))
        digest = hashlib.blake2b(kept.encode(), digest_size=16)
        if self.codebook is not None:
            add_to(digest, self.codebook.get_state())
        return digest.hexdigest()

    def prepared(self, features: Any) -> Any:
        """Local features with square roots of the descriptors, if the channel wants them."""
        if self.channel.fisher is None or not self.channel.fisher.root:
            return features
        return replace(features, descriptors=np.sqrt(features.descriptors.astype(np.float32)))

    def _new_codebook(self, n_jobs: int | None = None) -> Any:
        """What learns from patches; None where there are none."""
        channel, words, fisher = self.channel, self.channel.words, self.channel.fisher
        if not self.n_patches or not channel.learns:
            return None
        if words is not None:
            n_words = min(words.n_words, -(-self.n_patches // PATCHES_PER_WORD))
            settings = words.codebook_settings() | {"random_state": self.seed, "n_jobs": n_jobs}
            if words.codebook == "hik":
                codebook: Any = HIKCodebook(n_words, **settings)
            else:
                codebook = KMeansCodebook(n_words, root=words.codebook == "kmeans-root", **settings)
            normed: dict[str, Any] = {
                "norm": words.norm,
                "scope": words.scope,
                "power": words.power,
            }
            return BagOfWords(codebook, windows_of(words.pyramid), output="dense", **normed)
        if channel.sets is not None:
            return FeatureSetEncoder(channel.sets.n_components, random_state=self.seed)
        part: Any = fisher or channel.second_order
        pyramid = SpatialPyramid(windows_of(part.pyramid), weights=part.weights)
        if fisher is None:
            return SecondOrderPooling(part.n_components, pyramid, self.seed)
        n_gaussians = min(fisher.n_gaussians, -(-self.n_patches // PATCHES_PER_GAUSSIAN))
        iterations: dict[str, Any] = {"max_iter": MIXTURE_ITERATIONS, "n_jobs": n_jobs}
        return FisherVectors(n_gaussians, fisher.n_components, pyramid, self.seed, **iterations)

    def _new_embedding(self) -> PyramidMatchEmbedding:
        sets = self.channel.sets
        assert sets is not None
        return PyramidMatchEmbedding(
            sets.n_shifts,
            "self" if sets.normalization == "self" else None,
            finest_level=sets.finest_level,
            min_sets=sets.min_sets,
            random_state=self.seed,
        )

    def _embed(self, encoded: Sequence[np.ndarray], learn: bool) -> Rows:
        """Sets of points as sparse rows; of min_cardinality, with their sizes as a column."""
        sizes = [len(points) for points in encoded]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        empty = np.zeros((0, self.codebook.n_dimensions_), np.int32)
        sets = FeatureSets(np.concatenate([*encoded, empty]), offsets, self.codebook.side)
        if learn:
            self.embedding = self._new_embedding().fit(sets)
        assert self.embedding is not None
        rows = self.embedding.transform(sets)
        if self.channel.sets is not None and self.channel.sets.normalization == "min_cardinality":
            return sparse.hstack([rows, np.array(sizes, float)[:, None]], format="csr")
        if learn:
            self.scale = _scale_of(rows.data)
        factor = np.float32(self.channel.weight / self.scale)
        return (rows * factor).astype(np.float32, copy=False)

    def _hashed(self, rows: np.ndarray) -> Rows:
        """Rows as the indicators of their hashes; nothing is learned."""
        hashes = self.channel.hashes
        if hashes is None or not rows.shape[1]:
            return rows
        from visualwords.classifiers.gcws import GCWSHasher  # takes a while; few recipes hash

        settings = {"random_state": self.seed, "t_bits": hashes.t_bits}
        hasher = GCWSHasher(hashes.n_hashes, hashes.n_bits, hashes.normalize, **settings)
        first = np.ones((1, rows.shape[1]), np.float32)  # the number of columns is all it learns
        return sparse.csr_matrix(hasher.fit(first).transform(rows))


def names_of_columns(encoders: Sequence[ChannelEncoder]) -> np.ndarray:
    """Names of the columns of the rows that encoders make together."""
    titles = numbered([encoder.channel.extractor for encoder in encoders])
    return np.array(
        [f"{title}/{name}" for title, e in zip(titles, encoders) for name in e.column_names()], str
    )


def numbered(names: Sequence[str]) -> list[str]:
    """Names, with a number after those that occur more than once.

    Examples
    --------
    >>> numbered(["HOG", "DenseSIFT", "HOG"])
    ['HOG 1', 'DenseSIFT', 'HOG 2']
    """
    return [
        name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}"
        for i, name in enumerate(names)
    ]


def rows_of(encoders: Sequence[ChannelEncoder], images: list[list[np.ndarray]]) -> Rows:
    """The matrix of images, each encoded by all channels of a recipe that has learned."""
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
        weighted(rows[:, end - width : end], encoder.channel.weight, in_place=True)
    return rows


def weighted(rows: np.ndarray, weight: float, in_place: bool = False) -> np.ndarray:
    """Bytes times a weight, rounded; those that are too large are 127.

    Examples
    --------
    >>> weighted(np.array([[1, 3, -100]], np.int8), 1.5).tolist()
    [[2, 4, -127]]
    """
    if weight == 1:
        return rows
    result = rows if in_place else np.empty_like(rows)
    for start in range(0, len(rows), ROWS_AT_A_TIME):  # floats take four times the memory
        part = slice(start, start + ROWS_AT_A_TIME)
        result[part] = _as_bytes(rows[part] * np.float32(weight))
    return result


def _as_bytes(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), -127, 127).astype(np.int8)


def _of_one_length(numbers: np.ndarray) -> np.ndarray:
    """Numbers as bytes, brought to one length for a linear classifier."""
    length = np.sqrt((numbers.astype(np.float64) ** 2).sum())
    return _as_bytes(numbers * np.float32(LENGTH / max(length, 1e-12)))


def _shares(numbers: np.ndarray, power: float | None) -> np.ndarray:
    """Counts as shares of their sum, raised to a power; no counts give zeros.

    Signed numbers are shares of the sum of their magnitudes, and keep their signs.
    """
    if power is None:
        return numbers.astype(np.float32, copy=False)
    magnitudes = np.abs(numbers) if numbers.min(initial=0) < 0 else numbers
    shares = magnitudes / max(magnitudes.sum(dtype=np.float64), 1.0)
    result = (shares**power).astype(np.float32)
    return result if magnitudes is numbers else np.sign(numbers).astype(np.float32) * result


def _scale_of(numbers: np.ndarray) -> float:
    """What a channel's numbers are divided by, from those of them that are not 0."""
    return float(np.percentile(np.abs(numbers), PERCENTILE)) if numbers.size else 1.0


def _stacked(encoded: Sequence[np.ndarray]) -> np.ndarray:
    """The arrays of many images as rows, which must have the same length."""
    sizes = {len(vector) for vector in encoded}
    if len(sizes) > 1:
        raise FolderError(
            f"the extractor gives from {min(sizes)} to {max(sizes)} numbers an image; "
            "bring all images to one size, or give it a parameter that does"
        )
    return np.stack(encoded) if len(encoded) else np.zeros((0, 0), np.float32)
