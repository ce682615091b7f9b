"""What a choice among recipes optimises: the figure of their held-out predictions."""

from dataclasses import dataclass

import numpy as np

from visualwords.apps.pipeline.decision import Decision
from visualwords.classifiers.calibration import SoftmaxCalibration

__all__ = ["METRICS", "Metric"]

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
