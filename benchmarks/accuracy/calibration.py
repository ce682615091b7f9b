"""Whether labels and probabilities agree with each other and with the truth, and what costs do.

    python -m benchmarks.accuracy.calibration [--data NAME …] [--recipe NAME …] [--seeds N …]

For every set and recipe: labels that are not the most probable class; accuracy and mean per class
of labels by score and by probability; the mean confidence less the accuracy; the expected
calibration error (15 bins) beside the one that perfect calibration would show by chance, also where
images of a group are right and wrong together; the share of test images that ``unknown=0.05``
rejects. For tiles also the mean cost, with a missed defect ten times a false alarm, of the
default's labels and of those with costs.
"""

import argparse
import json
from collections.abc import Sequence

import numpy as np

from benchmarks.data import KEPT
from benchmarks.divisions import (
    RECIPES,
    SETS,
    Division,
    divisions,
)
from visualwords import ImageClassifier
from visualwords.apps.pipeline.decision import Decision
from visualwords.classifiers.one_vs_rest import both_classes

UNKNOWN = 0.05
MISS = 10.0  # times the cost of a false alarm
GOOD = "Free"  # the class of tiles without a defect


def figures(division: Division, recipe: str, jobs: int, cache: str) -> dict:
    """Train, and return the figures of the test images."""
    model = ImageClassifier(recipe, n_jobs=jobs, cache_dir=cache).fit(division.train, warn=False)
    found = model.score_images(division.test)
    truth = division.test.labels[found.kept]
    codes = np.searchsorted(model.classes_, truth)
    scores, (labels, chances, novelty, _) = both_classes(found.values), model.decide(found)
    by_score, by_chance = scores.argmax(axis=1), chances.argmax(axis=1)
    row = {
        "data": division.name,
        "recipe": recipe,
        "seed": division.seed,
        "test_images": len(codes),
        "not_the_most_probable": int((labels != model.classes_[by_chance]).sum()),
        "accuracy_by_score": float((by_score == codes).mean()),
        "accuracy": float((by_chance == codes).mean()),
        "mean_per_class_by_score": _mean_per_class(by_score, codes),
        "mean_per_class": _mean_per_class(by_chance, codes),
        "confidence_less_accuracy": float(chances.max(axis=1).mean() - (by_chance == codes).mean()),
        "calibration_error": expected_calibration_error(chances, codes),
        "calibration_error_by_chance": error_of_perfect_calibration(chances),
        "calibration_error_by_chance_of_groups": error_of_perfect_calibration(
            chances, division.test.part(found.kept).groups
        ),
        "rejected": float((novelty > 1 - UNKNOWN).mean()),
    }
    if division.name == "tiles":
        row |= _costs(division, recipe, jobs, cache, chances, codes, model.classes_)
    return row


def expected_calibration_error(chances: np.ndarray, codes: np.ndarray, n_bins: int = 15) -> float:
    """The mean distance of confidence and accuracy, in bins of equal width."""
    sure = chances.max(axis=1)
    right = chances.argmax(axis=1) == codes
    bins = np.minimum((sure * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(bins, sure - right, n_bins)
    return float(np.abs(gaps).sum() / len(codes))


def error_of_perfect_calibration(
    chances: np.ndarray, groups: Sequence | None = None, n_draws: int = 30
) -> float:
    """The error that chance alone gives: labels are right as often as they promise.

    Images of a group, if given, are right and wrong together, as far as their probabilities allow:
    more than those of any set are.
    """
    random = np.random.default_rng(0)
    members = np.arange(len(chances))
    if groups is not None:
        names = [f"image {i}" if g is None else f"group {g}" for i, g in enumerate(groups)]
        members = np.unique(names, return_inverse=True)[1]
    labels = chances.argmax(axis=1)
    draws = []
    for _ in range(n_draws):
        right = random.random(len(chances))[members] < chances.max(axis=1)
        draws.append(expected_calibration_error(chances, np.where(right, labels, -1)))
    return float(np.mean(draws))


def _costs(division, recipe, jobs, cache, chances, codes, classes) -> dict:
    """The mean cost of the default's labels, and of a model that knows the costs."""
    prices = {(name, GOOD): MISS for name in classes if name != GOOD}
    rule = Decision.of(classes, prices)
    model = ImageClassifier(recipe, n_jobs=jobs, cache_dir=cache, costs=prices)
    found = model.fit(division.train, warn=False).score_images(division.test)
    informed = model.decision_.codes(model.probabilities(found.values))
    return {
        "cost_of_the_default": float(rule.expected_costs(chances.argmax(axis=1), codes).mean()),
        "cost_with_costs": float(rule.expected_costs(informed, codes).mean()),
    }


def _mean_per_class(codes: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean([(codes[truth == c] == c).mean() for c in np.unique(truth)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--recipe", nargs="+", default=RECIPES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[2, 3])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", default=str(KEPT / "cache"))
    options = parser.parse_args()
    for name in options.data:
        for division in divisions(name, options.seeds):
            for recipe in options.recipe:
                print(
                    json.dumps(figures(division, recipe, options.jobs, options.cache)), flush=True
                )


if __name__ == "__main__":
    main()
