"""The scores of an image as sums over its places: evidence for and against every class."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

__all__ = ["ChannelEvidence", "Explanation", "Word"]


class Word(NamedTuple):
    """A visual word, colour or angle, and what it adds to the score of a class."""

    channel: int  # position in `Explanation.channels`
    word: int  # position in the channel's ``names``
    name: str
    value: float


@dataclass(frozen=True)
class ChannelEvidence:
    """Contributions of one channel of a recipe.

    Attributes
    ----------
    name : str
        The extractor, with a number where a recipe has it twice.
    positions : (n, 2) float32
        Centres (x, y) of the patches in the unit square of the image.
    sizes : (n, 2) float32
        Width and height of the patches in the unit square.
    words : (n,) int32 or None
        The visual word (or Gaussian) of each patch.
    evidence : (n, n_classes) float32
        Contribution of each patch to the score of each class.
    names : list of str
        Of the words, colours or other columns, whatever their window.
    values : (len(names), n_classes) float32
        Their contributions to the scores, summed over the image.
    exact : bool
        Whether the evidence is the model's own decomposition of the score.
    """

    name: str
    positions: np.ndarray
    sizes: np.ndarray
    words: np.ndarray | None
    evidence: np.ndarray
    names: list[str]
    values: np.ndarray
    exact: bool

    def __repr__(self) -> str:
        n_places, n_classes = self.evidence.shape
        return f"<ChannelEvidence {self.name}: {n_places} places, {n_classes} classes>"


@dataclass(frozen=True)
class Explanation:
    """The scores of an image, decomposed.

    ``scores = offsets + Σ evidence`` over all patches of all channels.

    Attributes
    ----------
    classes : (n_classes,) array of str
    scores : (n_classes,) float64
        Decision values; for two classes, those of the first are minus those of the second.
    probabilities : (n_classes,) float64 or None
        Calibrated; None where the training images were too few.
    offsets : (n_classes,) float64
        The part of the scores that belongs to no place of the image.
    channels : list of ChannelEvidence
    shape : (height, width)
        Of the image as the recipe reads it.
    image : (height, width, 3) uint8 array
        That image, for drawings.
    exact : bool
        True: the evidence is exact. False: attributed, see ``method``.
    method : str
        How the evidence was attributed, in a sentence.
    decided : str
        The label that the model gives the image; empty for the best class.
    novelty : float or None
        How unlike the training images the image is; None where it is unknown.
    """

    classes: np.ndarray
    scores: np.ndarray
    probabilities: np.ndarray | None
    offsets: np.ndarray
    channels: list[ChannelEvidence]
    shape: tuple[int, int]
    image: np.ndarray
    method: str
    decided: str = ""
    novelty: float | None = None

    def _repr_png_(self) -> bytes:
        """Evidence maps, for a notebook."""
        from visualwords.apps.report.notebook import explanation_png

        return explanation_png(self)

    def __repr__(self) -> str:
        chances = "" if self.probabilities is None else f" {self.probabilities.max():.1%}"
        channels = ", ".join(channel.name for channel in self.channels)
        kind = "exact" if self.exact else "attributed"
        return f"<Explanation: {self.label}{chances}; {kind} evidence of {channels}>"

    @property
    def exact(self) -> bool:
        """Whether all channels are exact."""
        return all(channel.exact for channel in self.channels)

    @property
    def label(self) -> str:
        """The label of the image: that of the model's decision, else the best class."""
        return self.decided or self.ranked[0]

    @property
    def ranked(self) -> list[str]:
        """The classes, most probable first; by scores where there are no probabilities."""
        merit = self.scores if self.probabilities is None else self.probabilities
        return [str(self.classes[i]) for i in np.argsort(-merit, kind="stable")]

    def heat_map(
        self, label: str | None = None, shape: tuple[int, int] | None = None
    ) -> np.ndarray:
        """The evidence for a class as a map; its sum plus the offset is the score.

        The evidence of a patch is spread evenly over the pixels it covers.

        Parameters
        ----------
        label : str, optional
            The class; default: the most probable one.
        shape : (height, width), optional
            Of the map; default: that of the image as the recipe reads it.

        Returns
        -------
        (height, width) float32
        """
        column = self.column_of(label)
        height, width = shape or self.shape
        steps = np.zeros((height + 1, width + 1))
        for channel in self.channels:
            x0, x1 = _edges(channel.positions[:, 0], channel.sizes[:, 0], width)
            y0, y1 = _edges(channel.positions[:, 1], channel.sizes[:, 1], height)
            each = channel.evidence[:, column] / ((x1 - x0) * (y1 - y0))
            for rows, columns, sign in ((y0, x0, 1), (y0, x1, -1), (y1, x0, -1), (y1, x1, 1)):
                np.add.at(steps, (rows, columns), sign * each)
        return steps.cumsum(axis=0).cumsum(axis=1)[:-1, :-1].astype(np.float32)

    def discriminative_words(self, label: str | None = None, k: int = 10) -> list[Word]:
        """Return the words that raise or lower the score of a class most.

        Parameters
        ----------
        label : str, optional
            The class; default: the most probable one.
        k : int
            How many, largest absolute value first.
        """
        column, found = self.column_of(label), list[Word]()
        for number, channel in enumerate(self.channels):
            for word, value in enumerate(channel.values[:, column].tolist()):
                found.append(Word(number, word, f"{channel.name} {channel.names[word]}", value))
        return sorted(found, key=lambda one: -abs(one.value))[:k]

    def column_of(self, label: str | None = None) -> int:
        """The position of a class; of the best one by default."""
        label = self.ranked[0] if label is None else label
        found = np.flatnonzero(self.classes == label)
        if not found.size:
            known = ", ".join(map(str, self.classes))
            raise ValueError(f"the model has no class {label!r}; it knows {known}")
        return int(found[0])


def _edges(centers: np.ndarray, sizes: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """The first pixel of patches and the one after the last; at least one is covered."""
    first = np.floor((centers - sizes / 2) * length + 0.5).astype(np.intp)
    last = np.floor((centers + sizes / 2) * length + 0.5).astype(np.intp)
    first = np.clip(first, 0, length - 1)
    return first, np.clip(np.maximum(last, first + 1), 1, length)
