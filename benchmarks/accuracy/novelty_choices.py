"""Which signs of strange images count how much, on training images alone.

    python -m benchmarks.accuracy.novelty_choices [--data NAME …] [--recipe NAME …] [--photographs]

A third of the training images is held back, groups undivided, and every fifth class is left out; a
model of the others is asked which of the images it did not see are of the left-out classes. Three
rounds, in each of which other images and classes are held back. For each set and recipe the mean
area under the ROC curve (AUROC) of each variant of the weights, and the share of known images that
``unknown=0.05`` rejects. ``--photographs``: also against images of other sets' test parts, as
`benchmarks.accuracy.novelty` takes them.
"""

import argparse
from dataclasses import replace

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.accuracy.novelty import OTHERS
from benchmarks.data import KEPT
from benchmarks.divisions import SETS, divisions
from visualwords import ImageClassifier
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.novelty import WEIGHTS
from visualwords.apps.pipeline.predictions import Scores

ROUNDS = 3
EVERY = 5  # of the classes, one is left out
N_STRANGE = 60  # photographs of each other set
VARIANTS = {  # score, nearest image, appearance, doubt, classes, nearest direction
    "by probability alone": [0, 0, 0, 1, 0, 0],
    "without directions": [1, 1, 4, 1, 1, 0],
    "all signs alike": [1, 1, 4, 1, 1, 1],
    "half the doubt": [1, 1, 4, 0.5, 1, 1],
    "chosen": WEIGHTS.tolist(),
    "without the nearest image": [2, 0, 4, 0.5, 1, 1],
    "without classes": [2, 1, 4, 0.5, 0, 1],
    "directions in place of classes": [1, 1, 4, 1, 0, 1],
    "directions twice": [2, 1, 4, 0.5, 1, 2],
    "appearance half": [2, 1, 2, 0.5, 1, 1],
    "appearance twice": [2, 1, 8, 0.5, 1, 1],
}


def one_round(
    data: Dataset, others: list[Dataset], recipe: str, number: int, jobs: int, cache: str
) -> tuple[list[list[float]], float]:
    """Return the AUROCs of each variant, and the share of known images that is rejected."""
    held_back = data.folds(3, number) == 0
    left_out = np.isin(data.labels, data.classes[number::EVERY])
    model = ImageClassifier(recipe, n_jobs=jobs, cache_dir=cache)
    model.fit(data.part(np.flatnonzero(~held_back & ~left_out)), warn=False)
    unseen = data.part(np.flatnonzero(held_back | left_out))
    found = model.score_images(unseen)
    labels = unseen.labels[found.kept]
    strange = ~np.isin(labels, model.classes_)
    rejected = float((model.decide(found).novelty[~strange] > 0.95).mean())
    photographs = [model.score_images(images) for images in others]
    areas = []
    for weights in VARIANTS.values():
        values = _strangeness(model, found, weights)
        row = [roc_auc_score(strange, values)]
        for found_there in photographs:
            both = values[~strange], _strangeness(model, found_there, weights)
            truth = np.repeat([0, 1], [len(part) for part in both])
            row.append(roc_auc_score(truth, np.concatenate(both)))
        areas.append(row)
    return areas, rejected


def _strangeness(model: ImageClassifier, found: Scores, weights: list[float]) -> np.ndarray:
    doubts = 1 - model.probabilities(found.values).max(axis=1)
    novelty = replace(model.novelty_, weights=np.array(weights, float))
    return novelty.strangeness(found.values, found.distances, found.looks, doubts)


def other_photographs(name: str) -> list[Dataset]:
    """Return some images of each other set."""
    random = np.random.default_rng(20)
    found = []
    for other in OTHERS.get(name, ("corel1000", "scene15")):
        images = next(divisions(other, [0])).test
        found.append(images.part(random.choice(len(images), N_STRANGE, replace=False)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--recipe", nargs="+", default=["tiny"])
    parser.add_argument("--photographs", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", default=str(KEPT / "cache"))
    options = parser.parse_args()
    for name in options.data:
        data = next(divisions(name, [2])).train
        others = other_photographs(name) if options.photographs else []
        for recipe in options.recipe:
            rounds = [
                one_round(data, others, recipe, number, options.jobs, options.cache)
                for number in range(ROUNDS)
            ]
            rejected = np.mean([share for _, share in rounds])
            print(f"{name} {recipe}: {rejected:.1%} of known images rejected", flush=True)
            for variant, row in zip(VARIANTS, np.mean([areas for areas, _ in rounds], axis=0)):
                print(f"  {variant:32}", *(f"{area:.3f}" for area in row), flush=True)


if __name__ == "__main__":
    main()
