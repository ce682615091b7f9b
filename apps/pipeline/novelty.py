"""How unlike its training images an image is: from its scores, and from its nearest neighbour."""

from dataclasses import dataclass, field

import numpy as np

from visualwords.apps.pipeline.similarity import Signer
from visualwords.classifiers.calibration import divide
from visualwords.classifiers.one_vs_rest import both_classes

SCORE_WEIGHT = 2.0  # of the highest score, beside the distance; chosen by leaving classes out
N_KNOWN = 512  # of held-out images, evenly taken from the sorted ones


@dataclass(frozen=True)
class Novelty:
    """The share of known images that are less strange than an image.

    Strangeness is −2·(highest score) + (distance to the nearest training image), each less its
    median and divided by its spread on training images that were held out. Scores are those of
    one machine for each class, which all can say no; probabilities, which add up to one, can't.

    Attributes
    ----------
    medians, spreads : (1,) or (2,) float64
        Of scores and, where the model keeps its training images' signatures, of distances.
    known : (n,) float64
        Strangeness of held-out training images, sorted.

    Examples
    --------
    >>> scores = np.linspace(0, 1, 100)[:, None] * [1, -1]
    >>> novelty = Novelty.fit(scores, None)
    >>> novelty.of(np.array([[0.95, -1], [0.02, -1], [-3.0, -1]]), None).round(2).tolist()
    [0.06, 0.97, 1.0]
    """

    medians: np.ndarray
    spreads: np.ndarray
    known: np.ndarray = field(repr=False)

    @classmethod
    def fit(cls, scores: np.ndarray, distances: np.ndarray | None) -> "Novelty":
        """Learn from held-out training images what is usual.

        Parameters
        ----------
        scores : (n,) or (n, n_classes)
            By classifiers that were trained without the image.
        distances : (n,) or None
            To training images without those of the image's fold.
        """
        signs = _signs(scores, distances)
        medians = np.median(signs, axis=0)
        low, high = np.percentile(signs, [25, 75], axis=0)
        spreads = np.maximum((high - low) / 1.349, 1e-9)  # the normal distribution's
        strange = np.sort(_strangeness(signs, medians, spreads))
        if len(strange) > N_KNOWN:
            strange = strange[np.linspace(0, len(strange) - 1, N_KNOWN).round().astype(int)]
        return cls(medians, spreads, strange)

    @property
    def needs_distances(self) -> bool:
        """Whether it was learned with distances."""
        return self.medians.size == 2

    def of(self, scores: np.ndarray, distances: np.ndarray | None) -> np.ndarray:
        """Return the novelty of images, (n,), 0 to 1: higher is stranger.

        Beyond the strangest known image it approaches 1 like exp(−strangeness), so that strange
        images keep their order.
        """
        given = distances if self.needs_distances else None
        strange = _strangeness(_signs(scores, given), self.medians, self.spreads)
        n = len(self.known)
        below = (np.arange(n) + 1) / (n + 1)
        inside = np.interp(strange, self.known, below, left=below[0] / 2)
        with np.errstate(over="ignore"):
            beyond = 1 - np.exp(-(strange - self.known[-1]) / self.known_range) / (n + 1)
        return np.where(strange > self.known[-1], beyond, inside)

    @property
    def known_range(self) -> float:
        """The scale on which novelty approaches 1."""
        return float(max(self.known[-1] - self.known[0], 1.0))

    def get_state(self) -> dict[str, np.ndarray]:
        """Return what was learned as plain arrays."""
        return {"medians": self.medians, "spreads": self.spreads, "known": self.known}

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> "Novelty":
        """Restore what `get_state` returned."""
        medians, spreads, known = (state[name] for name in ("medians", "spreads", "known"))
        if medians.shape != spreads.shape or medians.size not in (1, 2) or not known.size:
            raise ValueError("what was learned of strange images does not fit together")
        return cls(medians, spreads, known)


def held_out_distances(sketch: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Return the distance of every sketched row to its nearest neighbour outside of its fold.

    Components are learned without the fold, too, as those of the model are without new images.
    """
    distances = np.zeros(len(sketch))
    for train, test in divide(folds):
        signer = Signer().fit(sketch[train])
        signatures, lengths = signer.sign(sketch[train])
        distances[test] = signer.distances(sketch[test], signatures, lengths)
    return distances


def _signs(scores: np.ndarray, distances: np.ndarray | None) -> np.ndarray:
    """Return what speaks for a strange image, (n, 1) or (n, 2)."""
    columns = [-both_classes(scores).max(axis=1)]
    if distances is not None:
        columns.append(distances)
    return np.stack(columns, axis=1)


def _strangeness(signs: np.ndarray, medians: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    weights = np.array([SCORE_WEIGHT, 1.0])[: medians.size]
    return ((signs - medians) / spreads) @ weights
