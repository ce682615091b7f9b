"""Whether the lead of one recipe over another is more than chance, on the same held-out images."""

from dataclasses import dataclass

import numpy as np

from visualwords.apps.pipeline.metric import Metric
from visualwords.apps.pipeline.trained import Trained

LEAST_LEAD = 0.5  # standard errors: what a costlier recipe must be ahead


@dataclass(frozen=True)
class Result:
    """What a recipe reached on folds.

    Attributes
    ----------
    figure : float or None
        Of the metric; None where a class is too small for folds.
    merit : float
        What is higher for the better of two.
    gains : dict of image position → what its prediction adds to the merit
    classes : dict of image position → class
    perfect : bool
        Whether nothing can be better.
    """

    figure: float | None
    merit: float
    gains: dict[int, float]
    classes: dict[int, int]
    perfect: bool = False

    @classmethod
    def of(cls, trained: Trained, metric: Metric) -> "Result":
        """Return what a trained recipe reached."""
        figure = metric.of(trained)
        if figure is None:  # nothing can be compared: the costliest recipe is the richest
            return cls(None, trained.recipe.cost, {}, {})
        gains, truth = metric.gains(trained)
        positions = trained.kept.tolist()
        return cls(
            figure,
            metric.merit(figure),
            dict(zip(positions, gains.tolist())),
            dict(zip(positions, truth.tolist())),
            figure == (0.0 if metric.name == "cost" else 1.0),
        )


def leads(costlier: Result, cheaper: Result) -> bool:
    """Return whether a costlier recipe is ahead of a cheaper one by more than noise.

    Predictions are paired by image; the standard error is that of a mean of class means. It is a
    weak test: a lead inside of it is worth no more work, and says little.
    """
    lead = costlier.merit - cheaper.merit
    if lead <= 0 or costlier.figure is None:
        return lead > 0
    return lead > LEAST_LEAD * _standard_error(costlier, cheaper)


def _standard_error(one: Result, other: Result) -> float:
    both = sorted(one.gains.keys() & other.gains.keys())
    differences = np.array([one.gains[i] - other.gains[i] for i in both])
    codes = np.unique([one.classes[i] for i in both], return_inverse=True)[1]
    counts = np.bincount(codes)
    means = np.bincount(codes, differences) / counts
    squares = np.bincount(codes, (differences - means[codes]) ** 2) / counts
    return float(np.sqrt((squares / counts).sum()) / len(counts))
