"""Whether the lead of one recipe over another is more than chance, on the same held-out images."""

from dataclasses import dataclass, replace

import numpy as np

from visualwords.apps.pipeline.metric import Metric
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.trained import Trained

LEAST_LEAD = 1.0  # standard errors: what a costlier recipe must be ahead
LEAST_LIKELIHOOD_LEAD = 0.5  # standard errors of log-likelihoods, where labels differ by chance
LEAST_CHANCE = 1e-3  # smaller probabilities of the true class count as this


@dataclass(frozen=True)
class Result:
    """What a recipe reached on folds: of few images, in the mean over several divisions into folds.

    Attributes
    ----------
    recipe : Recipe
        What was trained.
    figure : float or None
        Of the metric; None where a class is too small for folds.
    merit : float
        What is higher for the better of two.
    gains : dict of image position → what its prediction adds to the merit
    likelihoods : dict of image position → logarithm of the probability of its class
    classes : dict of image position → class
    perfect : bool
        Whether nothing can be better.
    """

    recipe: Recipe
    figure: float | None
    merit: float
    gains: dict[int, float]
    likelihoods: dict[int, float]
    classes: dict[int, int]
    perfect: bool = False

    @classmethod
    def of(cls, trained: Trained, metric: Metric) -> "Result":
        """Return what a trained recipe reached."""
        first = metric.of(trained)
        if first is None:  # nothing can be compared: the costliest recipe is the richest
            return cls(trained.recipe, None, trained.recipe.cost, {}, {}, {})
        others = [replace(trained, held_out=scores) for scores in trained.held_out_again]
        figure = float(np.mean([first, *map(metric.of, others)]))
        of_images = [metric.gains(one) for one in (trained, *others)]
        gains = np.mean([one[0] for one in of_images], axis=0)
        chances = np.maximum([one[1] for one in of_images], LEAST_CHANCE)
        likelihoods, truth = np.log(chances).mean(axis=0), of_images[0][2]
        positions = trained.kept.tolist()
        return cls(
            trained.recipe,
            figure,
            metric.merit(figure),
            dict(zip(positions, gains.tolist())),
            dict(zip(positions, likelihoods.tolist())),
            dict(zip(positions, truth.tolist())),
            figure == (0.0 if metric.name == "cost" else 1.0),
        )


def leads(costlier: Result, cheaper: Result) -> bool:
    """Return whether a costlier recipe is ahead of a cheaper one by more than noise.

    Predictions are paired by image. Labels of few images say little: where the lead is inside
    their noise, the probabilities of the true classes decide, which differ for every image.
    Otherwise the cheaper recipe stays.
    """
    if costlier.figure is None or cheaper.figure is None:
        return costlier.merit > cheaper.merit
    lead = costlier.merit - cheaper.merit
    if abs(lead) > LEAST_LEAD * paired_lead(costlier.gains, cheaper.gains, costlier.classes)[1]:
        return lead > 0
    more, error = paired_lead(costlier.likelihoods, cheaper.likelihoods, costlier.classes)
    return more > LEAST_LIKELIHOOD_LEAD * error


def paired_lead(
    one: dict[int, float], other: dict[int, float], classes: dict[int, int]
) -> tuple[float, float]:
    """Return the mean of class means of paired differences, and its standard error."""
    both = sorted(one.keys() & other.keys())
    differences = np.array([one[i] - other[i] for i in both])
    codes = np.unique([classes[i] for i in both], return_inverse=True)[1]
    counts = np.bincount(codes)
    means = np.bincount(codes, differences) / counts
    squares = np.bincount(codes, (differences - means[codes]) ** 2) / counts
    return float(means.mean()), float(np.sqrt((squares / counts).sum()) / len(counts))
