"""How steady confidence and the rejected share are from one part of a training set to another.

    python -m benchmarks.accuracy.decision_folds [--pairs SET:RECIPE …] [--seeds N …]

Training images alone: five times, a model of four fifths, groups undivided, is asked about the
fifth. Printed for each fifth and in all: the mean confidence less the accuracy, and the share of
images that ``unknown=0.05`` rejects. What differs between the fifths is what a test set of that
size can differ by.
"""

import argparse

import numpy as np

from benchmarks.data import KEPT
from benchmarks.divisions import Division, divisions
from visualwords import ImageClassifier

FOLDS = 5
UNKNOWN = 0.05
PAIRS = ["blood:photo", "blood:tiny", "eth80:tiny"]


def one_fold(
    division: Division, fold: np.ndarray, recipe: str, jobs: int, cache: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return how sure the labels of a fold are less whether they are right; which are rejected."""
    data = division.train
    learned, unseen = (data.part(np.flatnonzero(part)) for part in (~fold, fold))
    model = ImageClassifier(recipe, n_jobs=jobs, cache_dir=cache).fit(learned, warn=False)
    found = model.score_images(unseen)
    _, chances, novelty = model.decide(found)
    right = model.classes_[chances.argmax(axis=1)] == unseen.labels[found.kept]
    return chances.max(axis=1) - right, novelty > 1 - UNKNOWN


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", nargs="+", metavar="SET:RECIPE", default=PAIRS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[2, 3])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", default=str(KEPT / "cache"))
    options = parser.parse_args()
    for pair in options.pairs:
        name, recipe = pair.split(":")
        for division in divisions(name, options.seeds):
            numbers = division.train.folds(FOLDS, 0)
            parts = [
                one_fold(division, numbers == k, recipe, options.jobs, options.cache)
                for k in range(FOLDS)
            ]
            parts.append(tuple(np.concatenate(values) for values in zip(*parts)))
            gaps = [f"{100 * gap.mean():+.1f}" for gap, _ in parts]
            shares = [f"{100 * rejected.mean():.1f}" for _, rejected in parts]
            print(f"{pair}, seed {division.seed}: the fifths, and in all")
            print(f"  confidence less accuracy, points: {' '.join(gaps[:-1])}, {gaps[-1]}")
            print(f"  rejected, %: {' '.join(shares[:-1])}, {shares[-1]}", flush=True)


if __name__ == "__main__":
    main()
