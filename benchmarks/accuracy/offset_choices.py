"""How much rare classes count for the offsets of probabilities, on folds of training images.

    python -m benchmarks.accuracy.offset_choices [--pairs SET:RECIPE …]

Images are held out in five folds, five times. Offsets are fitted on the held-out scores of four
folds and decide the labels of the fifth. Printed for each variant: points of accuracy and of mean
accuracy per class against labels by the highest score. An image of a class of n counts n^(B − 1),
and what is multiplied with the rarity of classes is shrunk towards 0 as S images would.
A name with ``~`` is a set whose classes are cut, evenly on a logarithmic scale, to a tenth.
"""

import argparse
from itertools import product

import numpy as np

from benchmarks.data import KEPT
from benchmarks.divisions import divisions
from visualwords import ImageClassifier
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipes import find_recipe
from visualwords.apps.pipeline.training import FOLDS, Training, train_classifier
from visualwords.classifiers.calibration import SoftmaxCalibration
from visualwords.classifiers.one_vs_rest import both_classes

SEEDS = range(5)
BALANCES = (0.5, 0.6, 0.7, 0.8, 1.0)
SHRINKAGES = (1.0, 4.0, 8.0, 16.0)
FEWEST = 6  # images of a class that is cut
VARIANTS = list(product(BALANCES, SHRINKAGES))
PAIRS = [
    f"{name}:{recipe}"
    for name in ("blood", "tiles", "corel1000~", "scene15~")
    for recipe in ("tiny", "fast")
]
PAIRS += [f"blood:{recipe}" for recipe in ("words", "scene", "photo", "object")]


def training_images(name: str) -> Dataset:
    """Return the training images of a set, cut to uneven classes where the name has a ``~``."""
    data = next(divisions(name.rstrip("~"), [2])).train
    if not name.endswith("~"):
        return data
    kept: list[int] = []
    for code, share in enumerate(np.logspace(0, -1, len(data.classes))):
        members = np.flatnonzero(data.codes == code)
        kept += members[: max(FEWEST, int(share * len(members)))].tolist()
    return data.part(sorted(kept))


def held_out(data: Dataset, name: str, jobs: int, cache: str):
    """Yield the codes, folds and held-out scores of the images, for each seed of the folds."""
    recipe, env = find_recipe(name), ImageClassifier(n_jobs=jobs, cache_dir=cache).environment()
    training = Training(data, 0, env)
    rows = training.channels.rows(recipe, training.channels.learn(recipe))
    known = data.part(training.channels.kept(recipe))
    for seed in SEEDS:
        folds = known.folds_of_all_classes(FOLDS, seed)
        classifier = training.build_classifier(recipe)
        scores = train_classifier(classifier, recipe, rows, known, folds, env)
        yield known.codes, folds, both_classes(scores)


def gains(codes: np.ndarray, folds: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the points that each variant gains on images its offsets were not fitted to."""
    labels = np.zeros((len(VARIANTS), len(codes)), int)
    for fold in np.unique(folds):
        here, others = folds == fold, folds != fold
        counts = np.maximum(np.bincount(codes[others], minlength=scores.shape[1]), 1)
        known = scores[others], codes[others]
        for number, (balance, shrinkage) in enumerate(VARIANTS):
            weights = counts ** (balance - 1.0)
            found = SoftmaxCalibration.fit(*known, weights, shrinkage=shrinkage)
            labels[number, here] = found.probabilities(scores[here]).argmax(axis=1)
    by_score = _figures(scores.argmax(axis=1), codes)
    return 100 * np.array([_figures(row, codes) - by_score for row in labels])


def _figures(labels: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the accuracy and the mean accuracy per class."""
    right = labels == codes
    return np.array([right.mean(), np.mean([right[codes == c].mean() for c in np.unique(codes)])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", nargs="+", metavar="SET:RECIPE", default=PAIRS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", default=str(KEPT / "cache"))
    options = parser.parse_args()
    rows = []
    for pair in options.pairs:
        name, recipe = pair.split(":")
        runs = held_out(training_images(name), recipe, options.jobs, options.cache)
        rows.append(np.mean([gains(*run) for run in runs], axis=0))
        shown = " ".join(f"{a:+.1f}/{m:+.1f}" for a, m in rows[-1])
        print(f"{pair}: {shown}", flush=True)
    for number, (balance, shrinkage) in enumerate(VARIANTS):
        accuracy, mean = np.array([row[number] for row in rows]).T
        print(
            f"B = {balance}, S = {shrinkage:g}: accuracy {accuracy.mean():+.2f}, "
            f"at worst {accuracy.min():+.1f}; mean per class {mean.mean():+.2f}"
        )


if __name__ == "__main__":
    main()
