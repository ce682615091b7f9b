"""The second stage of every recipe: what was extracted → one row of non-negative numbers an image.

Channels are brought to a common scale and put side by side, which adds their kernels.
"""

from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from visualwords.apps.recipes import CODEBOOKS, Channel, Recipe
from visualwords.codebook import BagOfWords, FeatureSetEncoder, PyramidMatchEmbedding
from visualwords.features.local_features import LocalFeatureSets
from visualwords.progress import Progress, Silent

PERCENTILE = 97.5  # as that of the quantisation, [Wu10], Sec. 3.5
PATCHES_PER_WORD = 5

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

    def fit_transform(
        self, values: np.ndarray | LocalFeatureSets, codes: np.ndarray, progress: Progress
    ) -> Rows:
        """Learn what the channel needs to learn, and the scale; return the training rows.

        Few patches make few words, at most one for every `PATCHES_PER_WORD`; none make rows
        without columns.
        """
        self.n_patches = len(values.descriptors) if isinstance(values, LocalFeatureSets) else 0
        self.stages = self._new_stages()
        for stage in self.stages:
            values = _fit_transform(stage, values, codes, progress)
        rows = self._rows(values)
        numbers = rows.data if sparse.issparse(rows) else rows[rows != 0]
        self.scale = float(np.percentile(numbers, PERCENTILE)) if numbers.size else 1.0
        return self._scaled(rows)

    def transform(self, values: np.ndarray | LocalFeatureSets) -> Rows:
        """Return the rows of other images."""
        for stage in self.stages:
            values = stage.transform(values)
        return self._scaled(self._rows(values))

    def get_state(self) -> dict[str, np.ndarray]:
        """Return what was learned as plain arrays."""
        state = {"scale": np.array(self.scale), "n_patches": np.array(self.n_patches)}
        for number, stage in enumerate(self.stages):
            state |= {f"stage{number}/{name}": v for name, v in stage.get_state().items()}
        return state

    def set_state(self, state: dict[str, np.ndarray]) -> "ChannelEncoder":
        """Become the encoder, of the same channel, whose `get_state` this is."""
        self.scale, self.n_patches = float(state["scale"]), int(state["n_patches"])
        self.stages = self._new_stages()
        for number, stage in enumerate(self.stages):
            prefix = f"stage{number}/"
            stage.set_state(
                {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
            )
        return self

    def _new_stages(self) -> list[Any]:
        """Return unfitted transformers, in the order of their application."""
        words, sets = self.channel.words, self.channel.sets
        if not self.n_patches:
            return []
        if words is not None:
            n_words = min(words.n_words, -(-self.n_patches // PATCHES_PER_WORD))
            codebook = CODEBOOKS[words.codebook](
                n_words, random_state=self.seed, **words.codebook_params
            )
            return [
                BagOfWords(
                    codebook, words.pyramid, norm=words.norm, scope=words.scope, power=words.power
                )
            ]
        if sets is not None:
            return [
                FeatureSetEncoder(sets.n_components, random_state=self.seed),
                PyramidMatchEmbedding(
                    sets.n_shifts,
                    finest_level=sets.finest_level,
                    min_sets=sets.min_sets,
                    random_state=self.seed,
                ),
            ]
        return []

    def _rows(self, values: Any) -> Rows:
        """Return rows as they are; local features that no stage could take have no columns."""
        return np.zeros((len(values), 0)) if isinstance(values, LocalFeatureSets) else values

    def _scaled(self, rows: Rows) -> Rows:
        return (rows * np.float32(1 / self.scale)).astype(np.float32, copy=False)


def _fit_transform(stage: Any, values: Any, codes: np.ndarray, progress: Progress) -> Any:
    if isinstance(stage, BagOfWords):
        return stage.fit(values, codes, progress=progress).transform(values)
    return stage.fit_transform(values)


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
