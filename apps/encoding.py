"""The second stage of every recipe: what was extracted → one row of non-negative numbers an image.

Channels are brought to a common scale and put side by side, which adds their kernels.
"""

from typing import Any

import numpy as np
from scipy import sparse

from visualwords.apps.recipes import Channel, Recipe
from visualwords.features.local_features import LocalFeatureSets
from visualwords.progress import Progress, Silent

PERCENTILE = 97.5  # as that of the quantisation, [Wu10], Sec. 3.5
PATCHES_PER_WORD = 5

Rows = np.ndarray | sparse.csr_matrix


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

    def fit_transform(
        self, values: np.ndarray | LocalFeatureSets, codes: np.ndarray, progress: Progress
    ) -> Rows:
        """Learn the words, if any, and the scale; return the training rows.

        Few patches make few words, at most one for every `PATCHES_PER_WORD`; none make rows
        without columns.
        """
        self.n_words = 0
        if self.channel.words is not None:
            n_patches = len(values.descriptors)
            self.n_words = min(self.channel.words.n_words, -(-n_patches // PATCHES_PER_WORD))
            if self.n_words:
                self.words = self.channel.words.build(self.n_words, self.seed)
                self.words.fit(values, codes, progress=progress)
        rows = self._unscaled(values)
        numbers = rows.data if sparse.issparse(rows) else rows[rows != 0]
        self.scale = float(np.percentile(numbers, PERCENTILE)) if numbers.size else 1.0
        return self._scaled(rows)

    def transform(self, values: np.ndarray | LocalFeatureSets) -> Rows:
        """Return the rows of other images."""
        return self._scaled(self._unscaled(values))

    def get_state(self) -> dict[str, np.ndarray]:
        """Return what was learned as plain arrays."""
        state = {"scale": np.array(self.scale), "n_words": np.array(self.n_words)}
        return state | self.words.get_state() if self.n_words else state

    def set_state(self, state: dict[str, np.ndarray]) -> "ChannelEncoder":
        """Become the encoder, of the same channel, whose `get_state` this is."""
        learned = dict(state)
        self.scale = float(learned.pop("scale"))
        self.n_words = int(learned.pop("n_words"))
        if self.n_words and self.channel.words is not None:
            self.words = self.channel.words.build(self.n_words, self.seed).set_state(learned)
        return self

    def _unscaled(self, values: np.ndarray | LocalFeatureSets) -> Rows:
        if self.channel.words is None:
            return values
        return self.words.transform(values) if self.n_words else np.zeros((len(values), 0))

    def _scaled(self, rows: Rows) -> Rows:
        return (rows * np.float32(1 / self.scale)).astype(np.float32, copy=False)


def make_encoders(recipe: Recipe, seed: int) -> list[ChannelEncoder]:
    """Return a new encoder for each channel of a recipe."""
    return [ChannelEncoder(channel, seed) for channel in recipe.channels]


def learn_rows(
    encoders: list[ChannelEncoder],
    channels: list[Any],
    codes: np.ndarray,
    progress: Progress | None = None,
) -> list[Rows]:
    """Let every channel's encoder learn; return the training rows of each channel."""
    progress = progress or Silent()
    return [
        encoder.fit_transform(values, codes, progress)
        for encoder, values in zip(encoders, channels)
    ]


def side_by_side(rows: list[Rows]) -> Rows:
    """Join the rows of channels; the result is sparse if any of them is."""
    if len(rows) == 1:
        return rows[0]
    if any(sparse.issparse(part) for part in rows):
        return sparse.hstack([sparse.csr_matrix(part) for part in rows], format="csr")
    return np.concatenate(rows, axis=1)
