"""How unlike its training images an image is: by scores, nearest neighbour and appearance."""

from dataclasses import dataclass, field

import numpy as np

from visualwords.apps.pipeline.appearance import Appearance
from visualwords.apps.pipeline.similarity import Signer
from visualwords.classifiers.calibration import divide
from visualwords.classifiers.one_vs_rest import both_classes
from visualwords.threads import map_in_threads

# Chosen by leaving classes out of training images of corel1000, scene15 and others.
WEIGHTS = np.array([1.0, 1.0, 6.0, 1.0])  # of score, distance, appearance and doubt
OLDER_WEIGHTS = np.array([2.0, 1.0, 0.0, 0.0])  # of files that do not have them
USUAL = np.array([-np.inf, -np.inf, 2.0, -np.inf])  # up to here a sign counts nothing
MEASURED = 4096  # images at most whose distances are measured
N_KNOWN = 512  # of held-out images, evenly taken from the sorted ones


@dataclass(frozen=True)
class Novelty:
    """The share of known images that are less strange than an image.

    Strangeness is −(highest score) + (distance to the nearest training image)
    + 6·max(0, appearance − 2) + (1 − highest probability), each less its median and divided by
    its spread on training images that were held out. Scores are those of one machine for each
    class, which all can say no; probabilities, which add up to one, can't. The appearance counts
    only where it is unusual: it knows noise, blank images, pages of text and photographs of another
    kind, not classes.

    Attributes
    ----------
    medians, spreads : (4,) float64
        Of scores, distances, appearances and doubts; NaN for what the model does not know.
    known : (n,) float64
        Strangeness of held-out training images, sorted.
    appearance : Appearance or None
    weights : (4,) float64
        Of the signs in the strangeness.

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
    weights: np.ndarray = field(default_factory=lambda: WEIGHTS)

    @classmethod
    def fit(
        cls,
        scores: np.ndarray,
        distances: np.ndarray | None = None,
        looks: np.ndarray | None = None,
        doubts: np.ndarray | None = None,
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
        doubts : (n,) or None
            1 − the highest probability.
        appearance : Appearance or None
            That of all training images.
        """
        signs = _signs(scores, distances, looks, doubts)
        medians = np.median(signs, axis=0)
        low, high = np.percentile(signs, [25, 75], axis=0)
        spreads = np.maximum((high - low) / 1.349, 1e-9)  # the normal distribution's
        strange = np.sort(_strangeness(signs, medians, spreads, WEIGHTS))
        if len(strange) > N_KNOWN:
            strange = strange[np.linspace(0, len(strange) - 1, N_KNOWN).round().astype(int)]
        return cls(medians, spreads, strange, appearance)

    def of(
        self,
        scores: np.ndarray,
        distances: np.ndarray | None = None,
        looks: np.ndarray | None = None,
        doubts: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the novelty of images, (n,), 0 to 1: higher is stranger.

        Beyond the strangest known image it approaches 1 like exp(−strangeness), so that strange
        images keep their order.
        """
        signs = _signs(scores, distances, looks, doubts)
        strange = _strangeness(signs, self.medians, self.spreads, self.weights)
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
        names = ("medians", "spreads", "known", "weights")
        state = {name: getattr(self, name) for name in names}
        if self.appearance is not None:
            state |= {"means": self.appearance.means, "root": self.appearance.root}
        return state

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> "Novelty":
        """Restore what `get_state` returned; older files lack the appearance."""
        medians, spreads, known = (state[name] for name in ("medians", "spreads", "known"))
        if medians.shape != spreads.shape or not 1 <= medians.size <= 4 or not known.size:
            raise ValueError("what was learned of strange images does not fit together")
        weights = state.get("weights", OLDER_WEIGHTS)
        if weights.shape != WEIGHTS.shape:
            raise ValueError("the weights of what is strange do not fit")
        missing = (0, 4 - medians.size)
        return cls(
            np.pad(medians, missing, constant_values=np.nan),
            np.pad(spreads, missing, constant_values=np.nan),
            known,
            Appearance.of_arrays(state["means"], state["root"]) if "root" in state else None,
            weights,
        )


def held_out_distances(
    sketch: np.ndarray, folds: np.ndarray, n_jobs: int | None = None
) -> np.ndarray:
    """Return the distance of every sketched row to its nearest neighbour outside of its fold.

    Components are learned without the fold, too, as those of the model are without new images.
    """
    distances = np.zeros(len(sketch))

    def measure(division: tuple[np.ndarray, np.ndarray]) -> None:
        train, test = division
        signer = Signer().fit(sketch[train])
        signatures, lengths = signer.sign(sketch[train])
        distances[test] = signer.distances(sketch[test], signatures, lengths)

    map_in_threads(measure, divide(folds), n_jobs)
    return distances


def spread(n: int) -> np.ndarray:
    """Return the positions of at most `MEASURED` of n images, evenly.

    Examples
    --------
    >>> spread(3).tolist(), len(spread(100_000))
    ([0, 1, 2], 4096)
    """
    return np.arange(n) if n <= MEASURED else np.linspace(0, n - 1, MEASURED).astype(np.intp)


def sampled_distances(
    signed: tuple[Signer, np.ndarray, np.ndarray],
    sketch: np.ndarray,
    folds: np.ndarray,
) -> np.ndarray:
    """Return the distances of the `spread` images to the nearest one outside of their fold.

    Components are those of all images: a fold hardly changes what many have in common.

    Parameters
    ----------
    signed : Signer, signatures and lengths of all images
    sketch : (k, BUCKETS) float32
        Of the spread images.
    folds : (n,) int
        Of all images.

    Returns
    -------
    (k,) float64
    """
    signer, signatures, lengths = signed
    distances, own = np.zeros(len(sketch)), folds[spread(len(folds))]
    for fold in np.unique(folds):
        here, others = own == fold, folds != fold
        distances[here] = signer.distances(sketch[here], signatures[others], lengths[others])
    return distances


def _signs(scores: np.ndarray, *others: np.ndarray | None) -> np.ndarray:
    """Return what speaks for a strange image, (n, 4); NaN for what is not known."""
    top = both_classes(scores).max(axis=1)
    unknown = np.full(len(top), np.nan)
    return np.stack([-top, *(unknown if one is None else one for one in others)], axis=1)


def _strangeness(
    signs: np.ndarray, medians: np.ndarray, spreads: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the weighted sum of the signs that the model knows."""
    usual = (signs - medians) / spreads
    beyond = np.where(np.isinf(USUAL), usual, np.maximum(usual - USUAL, 0))
    return np.where(np.isnan(beyond), 0.0, beyond) @ weights
