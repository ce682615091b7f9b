"""What a choice among recipes optimises: the figure of their held-out predictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from visualwords.apps.pipeline.decision import Decision
from visualwords.classifiers.calibration import SoftmaxCalibration

__all__ = ["METRICS", "Metric", "Result", "paired_lead"]

LEAST_LEAD = 1.0  # standard errors: what a costlier recipe must be ahead
LEAST_LIKELIHOOD_LEAD = 0.5  # standard errors of log-likelihoods, where labels differ by chance
LEAST_CHANCE = 1e-3  # smaller probabilities of the true class count as this
METRICS = {
    "mean-per-class": "mean accuracy per class",
    "accuracy": "accuracy",
    "cost": "mean cost",
}


@dataclass(frozen=True)
class Metric:
    """A figure of what a recipe would predict for images that it did not learn from.

    Labels are those of the model's own rule: probabilities, calibrated on the same held-out
    scores, with the costs and thresholds of the decision.

    Attributes
    ----------
    name : one of `METRICS`
    decision : Decision
    weights : (n_classes,) or None
        What an image of each class counts for the probabilities.
    """

    name: str
    decision: Decision
    weights: np.ndarray | None

    def __post_init__(self) -> None:
        if self.name not in METRICS:
            raise ValueError(f"metric={self.name!r}; choose from {', '.join(METRICS)}")
        if self.name == "cost" and self.decision.costs is None:
            raise ValueError(
                "the metric 'cost' needs costs, such as costs={('defect', 'ok'): 10} "
                "(--cost defect:ok=10)"
            )

    def probabilities(self, scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Held-out probabilities, (n, n_classes), of held-out scores."""
        return SoftmaxCalibration.fit(scores, truth, self.weights).probabilities(scores)

    def gains(self, probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """What each image adds to the merit, (n,): 1 if it is right, or minus its cost."""
        codes = self.decision.codes(probabilities)
        if self.name == "cost":
            return -self.decision.expected_costs(codes, truth)
        return (codes == truth).astype(float)

    def strata(self, truth: np.ndarray) -> np.ndarray:
        """The numbers of groups of images whose mean gains count alike: classes, or all images."""
        return truth if self.name == "mean-per-class" else np.zeros_like(truth)

    def figure(self, gains: np.ndarray, truth: np.ndarray) -> float:
        """The figure of images, from what each adds to it."""
        strata = self.strata(truth)
        means = np.bincount(strata, gains) / np.maximum(np.bincount(strata), 1)
        mean = float(means[np.unique(strata)].mean())
        return abs(mean) if self.name == "cost" else mean

    def shown(self, figure: float) -> str:
        """A figure with its name."""
        if self.name == "cost":
            return f"mean cost {figure:.3f}"
        return f"{figure:.1%} {'mean per class' if self.name == 'mean-per-class' else 'right'}"


class Result(NamedTuple):
    """What a recipe reached on folds, in the mean over several divisions of few images.

    Attributes
    ----------
    figure : float
        Of the metric.
    gains : (n,) what the prediction of each image adds to the merit
    likelihoods : (n,) logarithms of the probability of its class
    strata : (n,) images whose means count alike
    """

    figure: float
    gains: np.ndarray
    likelihoods: np.ndarray
    strata: np.ndarray

    @classmethod
    def of(cls, metric: Metric, scores: Sequence[np.ndarray], truth: np.ndarray) -> "Result":
        """The result of held-out scores, of one or several divisions into folds."""
        chances = [metric.probabilities(one, truth) for one in scores]
        gains = np.mean([metric.gains(one, truth) for one in chances], axis=0)
        of_truth = [np.maximum(one[np.arange(len(truth)), truth], LEAST_CHANCE) for one in chances]
        likelihoods = np.log(of_truth).mean(axis=0)
        return cls(metric.figure(gains, truth), gains, likelihoods, metric.strata(truth))

    def leads(self, cheaper: "Result") -> bool:
        """Whether this costlier recipe is ahead of a cheaper one by more than noise.

        Predictions are paired by image. Labels of few images are too noisy to decide: where the
        lead is inside their noise, the probabilities of the true classes decide, which differ for
        every image. Otherwise the cheaper recipe stays.
        """
        lead, error = paired_lead(self.gains, cheaper.gains, self.strata)
        if abs(lead) > LEAST_LEAD * error:
            return lead > 0
        lead, error = paired_lead(self.likelihoods, cheaper.likelihoods, self.strata)
        return lead > LEAST_LIKELIHOOD_LEAD * error


def paired_lead(one: np.ndarray, other: np.ndarray, strata: np.ndarray) -> tuple[float, float]:
    """The mean over strata of the means of paired differences, and its standard error."""
    codes = np.unique(strata, return_inverse=True)[1]
    counts, differences = np.bincount(codes), one - other
    means = np.bincount(codes, differences) / counts
    squares = np.bincount(codes, (differences - means[codes]) ** 2) / counts
    return float(means.mean()), float(np.sqrt((squares / counts).sum()) / len(counts))
