"""How unlike its training images an image is: its scores, its nearest neighbour, its appearance."""

from dataclasses import dataclass, field

import numpy as np

from visualwords.apps.pipeline.appearance import Appearance
from visualwords.apps.pipeline.similarity import Signer
from visualwords.classifiers.calibration import divide
from visualwords.classifiers.one_vs_rest import both_classes

# Chosen by leaving classes out of training images of corel1000, scene15 and others.
WEIGHTS = np.array([2.0, 1.0, 4.0])  # of the highest score, the distance and the appearance
USUAL = np.array([-np.inf, -np.inf, 2.0])  # up to here a sign counts nothing
N_KNOWN = 512  # of held-out images, evenly taken from the sorted ones


@dataclass(frozen=True)
class Novelty:
    """The share of known images that are less strange than an image.

    Strangeness is −2·(highest score) + (distance to the nearest training image)
    + 4·max(0, appearance − 2), each less its median and divided by its spread on training images
    that were held out. Scores are those of one machine for each class, which all can say no;
    probabilities, which add up to one, can't. The appearance counts only where it is unusual: it
    knows noise, blank images, pages of text and photographs of another kind, not classes.

    Attributes
    ----------
    medians, spreads : (3,) float64
        Of scores, distances and appearances; NaN for what the model does not know.
    known : (n,) float64
        Strangeness of held-out training images, sorted.
    appearance : Appearance or None

    Examples
    --------
    >>> scores = np.linspace(0, 1, 100)[:, None] * [1, -1]
    >>> novelty = Novelty.fit(scores)
    >>> novelty.of(np.array([[0.95, -1], [0.02, -1], [-3.0, -1]])).round(2).tolist()
    [0.06, 0.97, 1.0]
    """

    medians: np.ndarray
    spreads: np.ndarray
    known: np.ndarray = field(repr=False)
    appearance: Appearance | None = None

    @classmethod
    def fit(
        cls,
        scores: np.ndarray,
        distances: np.ndarray | None = None,
        looks: np.ndarray | None = None,
        appearance: Appearance | None = None,
    ) -> "Novelty":
        """Learn from held-out training images what is usual.

        Parameters
        ----------
        scores : (n,) or (n, n_classes)
            By classifiers that were trained without the image.
        distances : (n,) or None
            To training images without those of the image's fold.
        looks : (n,) or None
            Distances to an appearance that was learned without the image's fold.
        appearance : Appearance or None
            That of all training images.
        """
        signs = _signs(scores, distances, looks)
        medians = np.median(signs, axis=0)
        low, high = np.percentile(signs, [25, 75], axis=0)
        spreads = np.maximum((high - low) / 1.349, 1e-9)  # the normal distribution's
        strange = np.sort(_strangeness(signs, medians, spreads))
        if len(strange) > N_KNOWN:
            strange = strange[np.linspace(0, len(strange) - 1, N_KNOWN).round().astype(int)]
        return cls(medians, spreads, strange, appearance)

    def of(
        self,
        scores: np.ndarray,
        distances: np.ndarray | None = None,
        looks: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the novelty of images, (n,), 0 to 1: higher is stranger.

        Beyond the strangest known image it approaches 1 like exp(−strangeness), so that strange
        images keep their order.
        """
        strange = _strangeness(_signs(scores, distances, looks), self.medians, self.spreads)
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
        state = {"medians": self.medians, "spreads": self.spreads, "known": self.known}
        if self.appearance is not None:
            state |= {"means": self.appearance.means, "root": self.appearance.root}
        return state

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> "Novelty":
        """Restore what `get_state` returned; older files lack the appearance."""
        medians, spreads, known = (state[name] for name in ("medians", "spreads", "known"))
        if medians.shape != spreads.shape or medians.size not in (1, 2, 3) or not known.size:
            raise ValueError("what was learned of strange images does not fit together")
        missing = (0, 3 - medians.size)
        return cls(
            np.pad(medians, missing, constant_values=np.nan),
            np.pad(spreads, missing, constant_values=np.nan),
            known,
            Appearance.of_arrays(state["means"], state["root"]) if "root" in state else None,
        )


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


def _signs(
    scores: np.ndarray, distances: np.ndarray | None, looks: np.ndarray | None
) -> np.ndarray:
    """Return what speaks for a strange image, (n, 3); NaN for what is not known."""
    top = both_classes(scores).max(axis=1)
    unknown = np.full(len(top), np.nan)
    columns = [-top, *(unknown if one is None else one for one in (distances, looks))]
    return np.stack(columns, axis=1)


def _strangeness(signs: np.ndarray, medians: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    """Return the weighted sum of the signs that the model knows."""
    usual = (signs - medians) / spreads
    beyond = np.where(np.isinf(USUAL), usual, np.maximum(usual - USUAL, 0))
    return np.where(np.isnan(beyond), 0.0, beyond) @ WEIGHTS
