"""Every recipe on every set at hand: mean accuracy per class, and how far it may be off.

    python -m benchmarks.accuracy.recipe_spreads [--data SET …] [--recipe NAME …] [--halves N]

scene15, caltech101 and the tasks have one division; the number after ± is the standard error of
their test images, whole groups resampled. corel1000 is divided into random halves, and of eth80's
five views one object of every class is left out, ten times; there it is the standard deviation over
the divisions. What recipes make of images is cached, which changes no result.
"""

import argparse
from collections.abc import Iterator
from time import process_time

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from benchmarks.accuracy.eth80_objects import objects_left_out
from benchmarks.data import KEPT
from benchmarks.divisions import SETS, Division, divisions
from visualwords import ImageClassifier
from visualwords.apps.evaluation.figures import group_codes
from visualwords.apps.pipeline.recipes import RECIPES

RESAMPLES = 1000


def divided(name: str, halves: int) -> Iterator[Division]:
    """Yield the divisions of a set."""
    return objects_left_out() if name == "eth80" else divisions(name, list(range(halves)))


def standard_error(truth: np.ndarray, guesses: np.ndarray, groups: list[str | None]) -> float:
    """The spread of the mean accuracy per class over resampled groups of images."""
    member = group_codes(groups)
    n = member.max() + 1
    drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), RESAMPLES)
    weights, recalls = drawn[:, member], []
    for label in np.unique(truth):
        of_class = truth == label
        images = weights[:, of_class].sum(axis=1)
        hits = weights[:, of_class & (guesses == truth)].sum(axis=1)
        recalls.append(np.where(images, hits / np.maximum(images, 1), np.nan))
    return float(np.nanmean(recalls, axis=0).std())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--recipe", nargs="+", default=list(RECIPES))
    parser.add_argument("--halves", type=int, default=3, help="of corel1000")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", default=str(KEPT / "cache"))
    options = parser.parse_args()
    for name in options.data:
        for recipe in options.recipe:
            begun, figures, spread = process_time(), [], 0.0
            for division in divided(name, options.halves):
                model = ImageClassifier(recipe, n_jobs=options.jobs, cache_dir=options.cache)
                guesses = model.fit(division.train, warn=False).predict(division.test)
                truth = division.test.labels
                figures.append(balanced_accuracy_score(truth, guesses))
                spread = standard_error(truth, guesses, division.test.groups)
            spread = float(np.std(figures)) if len(figures) > 1 else spread
            print(
                f"{name:11s} {recipe:14s} {100 * np.mean(figures):5.1f} ± {100 * spread:.1f} "
                f"of {len(figures)}; {process_time() - begun:.0f} s of CPU",
                flush=True,
            )


if __name__ == "__main__":
    main()
