"""How unlike its training images an image is: by scores, nearest neighbour and appearance."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from visualwords.apps.pipeline.appearance import Appearance, appearance_step
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoder import rows_of
from visualwords.apps.pipeline.similarity import Signer, sketch_rows
from visualwords.apps.pipeline.stages import Environment, chosen_images, encode_each
from visualwords.classifiers.one_vs_rest import both_classes
from visualwords.errors import Skipped
from visualwords.parallel import with_one_library_thread

if TYPE_CHECKING:
    from visualwords.apps.pipeline.fitted_classifier import FittedImageClassifier

# Of the highest score, the distance to the nearest image, and the appearance, in the sum; up to
# the usual value a score is ignored. Kept from a choice among six scores, of which these stay;
# benchmarks/accuracy/novelty.py measures them.
WEIGHTS = np.array([2.0, 1.0, 4.0])
USUAL = np.array([-np.inf, 0.0, 1.0])
MOST_KNOWN = 512  # values that describe how novel held-out images are
ROUNDS, MOST_TRIED = 5, 2000  # in which classes are left out; images of all of them


@dataclass(frozen=True)
class Novelty:
    """The share of known images that are less novel than an image.

    Three scores are added up, each less its median and divided by its spread on held-out training
    images: minus the highest score of one-vs-rest classifiers, which can all be negative where
    probabilities still add up to one; the distance to the nearest training image, where it is far,
    for an image without much in it is near to many; and the distance to the appearance of training
    images where it is unusual, which detects noise, blank images, pages of text and photographs of
    another kind, not classes.

    Attributes
    ----------
    medians, spreads : (3,) float64
        NaN for what the model does not know.
    known : (n,) float64
        Sums of held-out training images, ascending.
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
        trust: np.ndarray | None = None,
    ) -> "Novelty":
        """Learn from held-out training images what is usual.

        Parameters
        ----------
        scores : (n,) or (n, n_classes)
            By classifiers that were trained without the image.
        distances : (n,) or None
            To the nearest training image outside of the image's fold.
        looks : (n,) or None
            Distances to an appearance that was learned without the image's fold.
        appearance : Appearance or None
            That of all training images.
        trust : (n,) or None
            What each image counts in the share of known images.
        """
        signs = _signs(scores, distances, looks)
        low, medians, high = np.percentile(signs, [25, 50, 75], axis=0)
        spreads = np.maximum((high - low) / 1.349, 1e-9)  # the normal distribution's
        sums = _sums(signs, medians, spreads)
        return cls(medians, spreads, _evenly(sums, trust), appearance)

    def of(
        self,
        scores: np.ndarray,
        distances: np.ndarray | None = None,
        looks: np.ndarray | None = None,
    ) -> np.ndarray:
        """The novelty of images, (n,), 0 to 1: higher is stranger.

        Beyond the most novel known image it approaches 1 like exp(−sum), so that strange images
        keep their order.
        """
        sums = _sums(_signs(scores, distances, looks), self.medians, self.spreads)
        n, last = len(self.known), self.known[-1]
        below = (np.arange(n) + 1) / (n + 1)
        inside = np.interp(sums, self.known, below, left=below[0] / 2)
        scale = max(last - self.known[0], 1.0)
        beyond = 1 - np.exp(-np.maximum(sums - last, 0) / scale) / (n + 1)
        return np.where(sums > last, beyond, inside)

    def get_state(self) -> dict[str, np.ndarray]:
        """What was learned, as plain arrays."""
        state = {name: getattr(self, name) for name in ("medians", "spreads", "known")}
        if self.appearance is not None:
            state |= {"examples": self.appearance.examples, "root": self.appearance.root}
        return state

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> "Novelty":
        """Restore what `get_state` returned."""
        medians, spreads, known = (state[name] for name in ("medians", "spreads", "known"))
        if not medians.shape == spreads.shape == WEIGHTS.shape or known.ndim != 1 or not known.size:
            raise ValueError("what was learned of novel images does not fit together")
        if not (
            np.isfinite(known).all() and (np.diff(known) >= 0).all() and not (spreads <= 0).any()
        ):
            raise ValueError("what was learned of novel images is out of range")
        appearance = None
        if "root" in state:
            appearance = Appearance.of_arrays(state["examples"], state["root"])
        return cls(medians, spreads, known, appearance)


@with_one_library_thread
def left_out_area(model: "FittedImageClassifier", data: Dataset, env: Environment) -> float | None:
    """How often novelty ranks an image of a left-out class above one of a known class.

    In each of five rounds other classes and another fold are left out of training; the area under
    the ROC curve of novelty on the fold is the mean of the rounds. Images are encoded as the model
    encodes them, by what the cache has. None for two classes, or a class of one image or group.
    """
    from sklearn.metrics import roc_auc_score

    data = data.part(chosen_images(data.codes, 0, MOST_TRIED))
    made = list(encode_each(model.encoders_, data, model.recipe_.view, env, [appearance_step()]))
    data = data.part([i for i, one in enumerate(made) if not isinstance(one, Skipped)])
    arrays = [one for one in made if not isinstance(one, Skipped)]
    folds = data.folds_of_all_classes(ROUNDS, 0) if len(data.classes) > 2 else None
    if folds is None:
        return None
    rows = rows_of(model.encoders_, [one[:-1] for one in arrays])
    looks, sketch = np.stack([one[-1] for one in arrays]), sketch_rows(rows)
    areas, n_parts = [], min(ROUNDS, len(data.classes))  # of classes
    env.progress.start("measuring novelty", n_parts)
    for fold in range(min(n_parts, int(folds.max()) + 1)):
        left_out = data.codes % n_parts == fold
        known, here = ~left_out & (folds != fold), folds == fold
        classifier = model.recipe_.build_classifier(0, env.n_jobs, None)
        classifier.fit(rows[known], data.labels[known])
        signer = Signer.fit(sketch[known])
        codes = np.unique(data.codes[known], return_inverse=True)[1]
        signs = (
            classifier.decision_function(rows[here]),
            signer.distances(sketch[here], *signer.sign(sketch[known])),
            Appearance.fit(looks[known], codes).distances(looks[here]),
        )
        strange = left_out[here]
        if strange.any() and not strange.all():
            usual = Novelty.fit(*(sign[~strange] for sign in signs))
            areas.append(roc_auc_score(strange, usual.of(*signs)))
        env.progress.advance()
    return float(np.mean(areas)) if areas else None


def held_out_looks(
    statistics: np.ndarray, codes: np.ndarray, folds: np.ndarray, keep_images: bool
) -> np.ndarray:
    """The distance of every training image to the appearance that is learned without its fold."""
    looks = np.zeros(len(folds))
    for fold in np.unique(folds):
        others, here = folds != fold, folds == fold
        known = np.unique(codes[others], return_inverse=True)[1]
        appearance = Appearance.fit(statistics[others], known, keep_images)
        looks[here] = appearance.distances(statistics[here])
    return looks


def _evenly(sums: np.ndarray, trust: np.ndarray | None) -> np.ndarray:
    """Sorted values between which lie equal shares of images, by what each counts.

    There are as many as images that counted the same would say as much, and at most `MOST_KNOWN`.
    """
    order = np.argsort(sums)
    weight = np.ones(len(order)) if trust is None else trust[order]
    total = weight.sum()
    n = min(MOST_KNOWN, max(1, round(float(total**2 / (weight**2).sum()))))
    shares = (weight.cumsum() - weight / 2) / total
    return np.interp((np.arange(n) + 0.5) / n, shares, sums[order])


def _signs(
    scores: np.ndarray, distances: np.ndarray | None, looks: np.ndarray | None
) -> np.ndarray:
    """The three scores of every image, (n, 3), higher for stranger ones; NaN if unknown."""
    top = both_classes(scores).max(axis=1)
    unknown = np.full(len(top), np.nan)
    others = (unknown if one is None else one for one in (distances, looks))
    return np.stack([-top, *others], axis=1)


def _sums(signs: np.ndarray, medians: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    """The weighted sum of the scores that the model knows."""
    unit = (signs - medians) / spreads
    beyond = np.where(np.isinf(USUAL), unit, np.maximum(unit - USUAL, 0))
    return np.where(np.isnan(beyond), 0.0, beyond) @ WEIGHTS
