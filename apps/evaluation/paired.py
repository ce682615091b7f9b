"""Two models on the same images: both figures, what changed, and whether chance explains it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from visualwords.apps.evaluation.figures import bootstrap
from visualwords.apps.evaluation.trial import Trial

__all__ = ["Changed", "PairedTrials", "pair_trials"]


class Changed(NamedTuple):
    """An image that two models label differently.

    Attributes
    ----------
    path, label : the image and its true label
    first, second : what the models predict
    verdict : which is right: "better" if the second is, "worse" if the first is, or "both wrong"
    """

    path: str
    label: str
    first: str
    second: str
    verdict: str


@dataclass(frozen=True)
class PairedTrials:
    """The trials of two models on the images that both could read, in the same order.

    Attributes
    ----------
    first, second : Trial
    """

    first: Trial
    second: Trial

    @cached_property
    def changed(self) -> list[Changed]:
        """Images with another label: those that became worse, then better, then the others."""
        a, b = self.first, self.second
        verdicts = {-1: "worse", 1: "better", 0: "both wrong"}
        named = [verdicts[gain] for gain in self.gains.tolist()]
        images = map(Changed, a.paths, a.truth, a.guesses, b.guesses, named)
        found = [one for one in images if one.first != one.second]
        return sorted(found, key=lambda one: list(verdicts.values()).index(one.verdict))

    @property
    def n_worse(self) -> int:
        """Images that only the first model gets right."""
        return int((self.gains < 0).sum())

    @property
    def n_better(self) -> int:
        """Images that only the second model gets right."""
        return int((self.gains > 0).sum())

    @property
    def p_value(self) -> float:
        """McNemar's exact test: how often chance alone would give such unequal numbers [1]_.

        It takes images as independent; with groups, look at the interval.

        References
        ----------
        .. [1] Q. McNemar: Note on the sampling error of the difference between correlated
           proportions or percentages, Psychometrika 12, 1947.
        """
        from scipy.stats import binomtest

        n = self.n_worse + self.n_better
        return 1.0 if n == 0 else float(binomtest(self.n_better, n).pvalue)

    @property
    def difference(self) -> float:
        """Accuracy of the second model minus that of the first."""
        return self.second.evaluation.accuracy - self.first.evaluation.accuracy

    @property
    def gains(self) -> np.ndarray:
        """Of each image 1 if only the second model is right, −1 if only the first is, else 0."""
        return self.second.right.astype(int) - self.first.right

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the difference: bootstrap over images, or over groups."""
        return bootstrap(self.gains, self.first.groups)

    def __str__(self) -> str:
        low, high = self.interval
        grouped = ", over groups" if self.first.evaluation.n_groups else ""
        return (
            f"{len(self.changed)} of {len(self.first.paths)} labels changed: {self.n_better} "
            f"better, {self.n_worse} worse; accuracy {100 * self.difference:+.1f} points (95 % "
            f"interval {100 * low:+.1f} to {100 * high:+.1f}{grouped}), McNemar's exact test "
            f"p = {self.p_value:.2g}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as what JSON can hold."""
        return {
            "images": len(self.first.paths),
            "only_first_right": self.n_worse,
            "only_second_right": self.n_better,
            "accuracy_difference": self.difference,
            "accuracy_difference_interval_95": list(self.interval),
            "mcnemar_p_value": self.p_value,
            "changed": [one._asdict() for one in self.changed],
        }


def pair_trials(first: Trial, second: Trial) -> PairedTrials:
    """Return two trials of the same images, without those that one model could not read.

    Raises
    ------
    ValueError
        If no image is in both.
    """
    places = {path: i for i, path in enumerate(second.paths)}
    pairs = [(i, places[path]) for i, path in enumerate(first.paths) if path in places]
    if not pairs:
        raise ValueError("the two models could not read the same images")
    return PairedTrials(first.part([i for i, _ in pairs]), second.part([i for _, i in pairs]))
