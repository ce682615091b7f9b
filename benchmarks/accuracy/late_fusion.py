"""Whether recipes together decide better than the best of them: late fusion, on training folds.

    python -m benchmarks.accuracy.late_fusion tasks/blood/table.csv tasks/tiles/table.csv corel1000

Every recipe gives held-out scores of the same folds. Those of one fold are calibrated on the
others; recipes are fused by adding the logarithms of their probabilities. Test images are never
read. Prints mean accuracies per class of single recipes and of the best pairs and triples, and
their lead over the best single recipe with the standard error of paired predictions.
"""

import argparse
from itertools import combinations

import numpy as np

from benchmarks.accuracy.recipe_folds import training_part
from benchmarks.data import KEPT
from visualwords import ImageClassifier
from visualwords.apps.pipeline.copies import find_copies, keep_together
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.decision import class_weights
from visualwords.apps.pipeline.recipes import RECIPES
from visualwords.apps.pipeline.search.costs import Images
from visualwords.apps.pipeline.search.noise import paired_lead
from visualwords.apps.pipeline.search.variations import sized_for
from visualwords.apps.pipeline.trained import Trained
from visualwords.apps.pipeline.training import FOLDS, Training
from visualwords.classifiers.calibration import SoftmaxCalibration

USUAL = ("tiny", "words", "photo", "vivid", "scene", "combined", "object")
LEAST_CHANCE = 1e-6
SHOWN = 3  # fusions of as many recipes


def log_probabilities(trained: Trained, data: Dataset, folds: np.ndarray) -> np.ndarray:
    """Return those of all images, each calibrated on the other folds."""
    weights = class_weights(data.classes, data.labels, None, False)
    found = np.empty((len(data), len(data.classes)))
    for fold in np.unique(folds):
        inside = folds == fold
        calibration = SoftmaxCalibration.fit(
            trained.held_out[~inside], data.codes[~inside], weights, folds[~inside]
        )
        chances = calibration.probabilities(trained.held_out[inside])
        found[inside] = np.log(np.maximum(chances, LEAST_CHANCE))
    return found


def compare(name: str, recipes: list[str], seed: int, jobs: int, cache: str) -> None:
    """Print what recipes and their fusions reach on folds of one set."""
    env = ImageClassifier(n_jobs=jobs, cache_dir=cache).environment()
    data = Dataset.of(training_part(name, seed))
    if (copies := find_copies(data, env)).sets:
        data = data.grouped(keep_together(data, copies))
    training, sizes = Training(data, 0, env), Images.of(data, env.max_pixels)
    folds = data.folds_of_all_classes(FOLDS, 0)
    classes = dict(enumerate(data.codes.tolist()))
    means = np.array(
        [(data.codes == code) / (data.codes == code).sum() for code in set(data.codes)]
    )
    logs, right = {}, {}
    for recipe in recipes:
        trained = training.try_recipe(sized_for(RECIPES[recipe], sizes))
        logs[recipe] = log_probabilities(trained, data, folds)
        right[recipe] = logs[recipe].argmax(axis=1) == data.codes
        print(f"{name:24s} {(means @ right[recipe]).mean():6.1%}  {recipe}", flush=True)
    best = max(recipes, key=lambda recipe: (means @ right[recipe]).mean())
    for size in (2, 3):
        fused = []
        for names in combinations(recipes, size):
            hits = sum(logs[one] for one in names).argmax(axis=1) == data.codes
            fused.append(((means @ hits).mean(), names, hits))
        for figure, names, hits in sorted(fused, key=lambda one: -one[0])[:SHOWN]:
            gains = (dict(enumerate(one.astype(float))) for one in (hits, right[best]))
            lead, error = paired_lead(*gains, classes)
            ahead = f"{100 * lead:+.1f} ± {100 * error:.1f} beside {best}"
            print(f"{name:24s} {figure:6.1%}  {' + '.join(names)}: {ahead}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--recipes", nargs="+", default=USUAL, choices=RECIPES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", default=str(KEPT / "cache"))
    options = parser.parse_args()
    for name in options.data:
        compare(name, list(options.recipes), options.seed, options.jobs, options.cache)


if __name__ == "__main__":
    main()
