"""What a choice among recipes optimises: the figure of their held-out predictions."""

from dataclasses import dataclass

import numpy as np

from visualwords.apps.pipeline.decision import Decision
from visualwords.apps.pipeline.trained import Trained
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

    def of(self, trained: Trained) -> float | None:
        """Return the figure of a recipe; None if a class was too small for held-out scores."""
        codes, truth = self.predicted(trained)
        if codes is None:
            return None
        if self.name == "cost":
            return float(self.decision.expected_costs(codes, truth).mean())
        if self.name == "accuracy":
            return float((codes == truth).mean())
        return _mean_per_class(codes, truth)

    def gains(self, trained: Trained) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what each image adds to the merit, the probability of its class, and that class.

        Where the figure is not one of classes, the class is 0 for all.
        """
        chances, truth = self._probabilities(trained)
        if chances is None:
            raise ValueError("a class was too small for held-out scores")
        codes = self.decision.codes(chances)
        of_truth = chances[np.arange(len(truth)), truth]
        if self.name == "cost":
            return -self.decision.expected_costs(codes, truth), of_truth, np.zeros_like(truth)
        strata = truth if self.name == "mean-per-class" else np.zeros_like(truth)
        return (codes == truth).astype(float), of_truth, strata

    def mean_per_class(self, trained: Trained) -> float | None:
        """Return the mean accuracy per class of the same labels, whatever the metric is."""
        codes, truth = self.predicted(trained)
        return None if codes is None else _mean_per_class(codes, truth)

    def merit(self, figure: float) -> float:
        """Return what is higher for the better of two figures."""
        return -figure if self.name == "cost" else figure

    def shown(self, figure: float) -> str:
        """Return a figure with its name."""
        if self.name == "cost":
            return f"mean cost {figure:.3f}"
        return f"{figure:.1%} {'mean per class' if self.name == 'mean-per-class' else 'right'}"

    def predicted(self, trained: Trained) -> tuple[np.ndarray | None, np.ndarray]:
        """Return the columns of held-out labels and of the true ones."""
        chances, truth = self._probabilities(trained)
        return None if chances is None else self.decision.codes(chances), truth

    def _probabilities(self, trained: Trained) -> tuple[np.ndarray | None, np.ndarray]:
        """Return held-out probabilities, (n, n_classes), and the columns of the true labels."""
        classes, truth = np.unique(trained.held_out_labels, return_inverse=True)
        if trained.held_out is None:
            return None, truth
        known = np.searchsorted(self.decision.classes, classes)
        weights = None if self.weights is None else self.weights[known]
        chances = np.zeros((len(truth), len(self.decision.classes)))
        found = SoftmaxCalibration.fit(trained.held_out, truth, weights)
        chances[:, known] = found.probabilities(trained.held_out)
        return chances, known[truth]


def _mean_per_class(codes: np.ndarray, truth: np.ndarray) -> float:
    from sklearn.metrics import recall_score

    return float(recall_score(truth, codes, labels=np.unique(truth), average="macro"))
