"""How unlike its training images an image is: by scores, nearest neighbour and appearance."""

from dataclasses import dataclass, field

import numpy as np

from visualwords.apps.pipeline.appearance import Appearance
from visualwords.apps.pipeline.class_distances import ClassDistances, NearestDirection
from visualwords.apps.pipeline.extrapolation import measure_held_out
from visualwords.apps.pipeline.similarity import Signer, unsigned
from visualwords.classifiers.one_vs_rest import both_classes

# Signs: score, nearest image, appearance, doubt, classes, nearest direction. Their weights were
# chosen by leaving classes out of training images (benchmarks/accuracy/novelty_choices.py).
WEIGHTS = np.array([2.0, 1.0, 4.0, 0.5, 1.0, 1.0])
USUAL = np.array([-np.inf, 0.0, 1.0, -np.inf, -np.inf, -np.inf])  # up to here a sign counts nothing
N_SIGNS = len(WEIGHTS)
OLDER_WEIGHTS = np.array([2.0, 1.0, 0.0, 0.0])  # of files that do not have them
OLDER_USUAL = np.array([-np.inf, -np.inf, 2.0, -np.inf])
MEASURED = 4096  # images at most whose distances are measured
N_KNOWN = 512  # values at most that describe how strange held-out images are


@dataclass(frozen=True)
class Novelty:
    """The share of known images that are less strange than an image.

    Strangeness is −2·(highest score) + max(0, distance to the nearest training image)
    + 4·max(0, appearance − 1) + ½·(1 − highest probability) + (relative distance to the classes)
    + (distance to the nearest direction, without what varies within classes), each less its median
    and divided by its spread on training images that were held out. Scores are those of one machine
    for each class, which all can say no; probabilities, which add up to one, can't. The nearest
    image counts only where it is far, for an image without much in it is near to many. The
    appearance counts only where it is unusual: it knows noise, blank images, pages of text and
    photographs of another kind, not classes.

    Attributes
    ----------
    medians, spreads : (6,) float64
        Of scores, nearest images, appearances, doubts, classes and directions; NaN for what the
        model does not know.
    known : (n,) float64
        Strangeness of held-out training images, sorted.
    appearance : Appearance or None
    weights : (6,) float64
        Of the signs in the strangeness.
    usual : (6,) float64
        Up to here a sign counts nothing.

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
    usual: np.ndarray = field(default_factory=lambda: USUAL)

    @classmethod
    def fit(
        cls,
        scores: np.ndarray,
        distances: np.ndarray | None = None,
        looks: np.ndarray | None = None,
        doubts: np.ndarray | None = None,
        appearance: Appearance | None = None,
        trust: np.ndarray | None = None,
    ) -> "Novelty":
        """Learn from held-out training images what is usual.

        Parameters
        ----------
        scores : (n,) or (n, n_classes)
            By classifiers that were trained without the image.
        distances : (n, 3) or None
            To the nearest training image, relatively to the classes, and to the nearest direction,
            without the image's fold.
        looks : (n,) or None
            Distances to an appearance that was learned without the image's fold.
        doubts : (n,) or None
            1 − the highest probability.
        appearance : Appearance or None
            That of all training images.
        trust : (n,) or None
            What each image counts in the share of known images.
        """
        signs = _signs(scores, distances, looks, doubts)
        medians = np.median(signs, axis=0)
        low, high = np.percentile(signs, [25, 75], axis=0)
        spreads = np.maximum((high - low) / 1.349, 1e-9)  # the normal distribution's
        strange = _strangeness(signs, medians, spreads, WEIGHTS, USUAL)
        return cls(medians, spreads, _evenly(strange, trust), appearance)

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
        strange = self.strangeness(scores, distances, looks, doubts)
        n = len(self.known)
        below = (np.arange(n) + 1) / (n + 1)
        inside = np.interp(strange, self.known, below, left=below[0] / 2)
        with np.errstate(over="ignore"):
            beyond = 1 - np.exp(-(strange - self.known[-1]) / self.known_range) / (n + 1)
        return np.where(strange > self.known[-1], beyond, inside)

    def strangeness(
        self,
        scores: np.ndarray,
        distances: np.ndarray | None = None,
        looks: np.ndarray | None = None,
        doubts: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the weighted sum of the signs, (n,), of which novelty is a share."""
        signs = _signs(scores, distances, looks, doubts)
        return _strangeness(signs, self.medians, self.spreads, self.weights, self.usual)

    @property
    def known_range(self) -> float:
        """The scale on which novelty approaches 1."""
        return float(max(self.known[-1] - self.known[0], 1.0))

    def get_state(self) -> dict[str, np.ndarray]:
        """Return what was learned as plain arrays."""
        names = ("medians", "spreads", "known", "weights", "usual")
        state = {name: getattr(self, name) for name in names}
        if self.appearance is not None:
            state |= {"means": self.appearance.examples, "root": self.appearance.root}
        return state

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> "Novelty":
        """Restore what `get_state` returned; older files have fewer signs."""
        medians, spreads, known = (state[name] for name in ("medians", "spreads", "known"))
        if medians.shape != spreads.shape or not 1 <= medians.size <= N_SIGNS or not known.size:
            raise ValueError("what was learned of strange images does not fit together")
        weights = state.get("weights", OLDER_WEIGHTS)
        usual = state.get("usual", OLDER_USUAL[: len(weights)])
        if weights.shape != usual.shape or not medians.size <= weights.size <= N_SIGNS:
            raise ValueError("the weights of what is strange do not fit")
        return cls(
            _padded(medians, np.nan),
            _padded(spreads, np.nan),
            known,
            Appearance.of_arrays(state["means"], state["root"]) if "root" in state else None,
            _padded(weights, 0.0),
            _padded(usual, -np.inf),
        )


def _evenly(strange: np.ndarray, trust: np.ndarray | None) -> np.ndarray:
    """Return sorted values between which lie equal shares of images, by what each counts.

    There are as many as images that counted the same would say as much, and at most `N_KNOWN`.
    """
    order = np.argsort(strange)
    weight = np.ones(len(order)) if trust is None else trust[order]
    total = weight.sum()
    n = min(N_KNOWN, max(1, round(float(total**2 / (weight**2).sum()))))
    return np.interp(
        (np.arange(n) + 0.5) / n, (weight.cumsum() - weight / 2) / total, strange[order]
    )


def _padded(signs: np.ndarray, value: float) -> np.ndarray:
    return np.pad(signs, (0, N_SIGNS - signs.size), constant_values=value)


def held_out_distances(
    sketch: np.ndarray, codes: np.ndarray, folds: np.ndarray, n_jobs: int | None = None
) -> np.ndarray:
    """Return how far every sketched row is from those outside of its fold, (n, 3).

    Components are learned without the fold, too, as those of the model are without new images.
    """

    def measure(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        signer = Signer().fit(sketch[train])
        signed = signer.sign(sketch[train])
        found = signer.components(sketch[test])
        nearest = signer.distances(sketch[test], found, *signed)
        return np.column_stack([nearest, _from_classes(found, unsigned(*signed), codes[train])])

    distances = measure_held_out(measure, folds, n_jobs)
    np.maximum(distances[:, 0], 0, out=distances[:, 0])  # a distance, extrapolated or not
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
    codes: np.ndarray,
    folds: np.ndarray,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return how far the `spread` images are from those outside of their fold, (k, 3).

    Of more than `MEASURED` images, components are those of all: a fold hardly changes what many
    have in common.

    Parameters
    ----------
    signed : Signer, signatures and lengths of all images
    sketch : (k, BUCKETS) float32
        Of the spread images.
    codes, folds : (n,) int
        Of all images.
    """
    if len(folds) <= MEASURED:
        return held_out_distances(sketch, codes, folds, n_jobs)
    signer, signatures, lengths = signed
    distances, own = np.zeros((len(sketch), 3)), folds[spread(len(folds))]
    for fold in np.unique(folds):
        here, others = own == fold, folds != fold
        known = signatures[others], lengths[others]
        found = signer.components(sketch[here])
        distances[here, 0] = signer.distances(sketch[here], found, *known)
        distances[here, 1:] = _from_classes(found, unsigned(*known), codes[others])
    return distances


def _from_classes(rows: np.ndarray, known: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return how far rows are from the classes and directions of known ones, (n, 2)."""
    classes, directions = ClassDistances.fit(known, codes), NearestDirection.fit(known, codes)
    return np.stack([classes.relative(rows), directions.distances(rows)], axis=1)


def _signs(
    scores: np.ndarray,
    distances: np.ndarray | None,
    looks: np.ndarray | None,
    doubts: np.ndarray | None,
) -> np.ndarray:
    """Return what speaks for a strange image, (n, 6); NaN for what is not known."""
    top = both_classes(scores).max(axis=1)
    apart = (None, None, None) if distances is None else distances.T
    unknown = np.full(len(top), np.nan)
    others = (unknown if one is None else one for one in (apart[0], looks, doubts, *apart[1:]))
    return np.stack([-top, *others], axis=1)


def _strangeness(
    signs: np.ndarray,
    medians: np.ndarray,
    spreads: np.ndarray,
    weights: np.ndarray,
    usual: np.ndarray,
) -> np.ndarray:
    """Return the weighted sum of the signs that the model knows."""
    unit = (signs - medians) / spreads
    beyond = np.where(np.isinf(usual), unit, np.maximum(unit - usual, 0))
    return np.where(np.isnan(beyond), 0.0, beyond) @ weights
