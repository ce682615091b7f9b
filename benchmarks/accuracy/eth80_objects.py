"""ETH-80 from five views of each object, one object of every class left out at a time.

    python -m benchmarks.accuracy.eth80_objects [--recipe NAME] [--budget SECONDS] [--folds N]

The views are those of [Grauman06]: four sides and the top. Ten times, all views of eight objects,
one of each class, are predicted by a model of the other 72; `auto` chooses on folds of those,
which keep objects together. Mean accuracy per class, with its standard deviation over the ten.
"""

import argparse
from collections.abc import Iterator
from itertools import islice
from time import process_time

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from benchmarks.data import KEPT, image_folder
from benchmarks.divisions import Division
from benchmarks.papers.datasets import VIEWS
from visualwords import ImageClassifier
from visualwords.apps.pipeline.dataset import Dataset

OBJECTS = 10  # of each class


def objects_left_out() -> Iterator[Division]:
    """Yield divisions into the five views of one object of each class, and of all others."""
    folder, found = image_folder("eth80"), []
    for path, label in zip(folder.paths, folder.labels):
        name, _, view = str(path).rpartition("/")[2].removesuffix(".jpg").partition("-")
        if view in VIEWS:
            found.append((path, label, name))
    paths, labels, objects = zip(*found)
    data = Dataset.of(list(paths), labels, objects)
    ranks = {}  # numbers of objects have gaps in some classes
    for label in set(labels):
        own = {int(name.removeprefix(label)) for _, known, name in found if known == label}
        ranks |= {f"{label}{number}": rank for rank, number in enumerate(sorted(own))}
    numbers = np.array([ranks[name] for _, _, name in found])
    for number in np.unique(numbers):
        parts = (np.flatnonzero(numbers != number), np.flatnonzero(numbers == number))
        yield Division("eth80", int(number), *(data.part(part) for part in parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="auto")
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--folds", type=int, default=OBJECTS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", default=str(KEPT / "cache"))
    options = parser.parse_args()
    begun, accuracies = process_time(), []
    for division in islice(objects_left_out(), options.folds):
        model = ImageClassifier(
            options.recipe, n_jobs=options.jobs, cache_dir=options.cache, budget=options.budget
        ).fit(division.train)
        guesses = model.predict(division.test)
        accuracies.append(balanced_accuracy_score(division.test.labels, guesses))
        print(f"objects {division.seed}: {accuracies[-1]:.1%} by {model.recipe_.name}", flush=True)
    spent = process_time() - begun
    spread = f"{np.mean(accuracies):.2%} ± {np.std(accuracies):.2%}"
    print(f"eth80, {options.recipe}: {spread} of {len(accuracies)}; {spent:.0f} s of CPU")


if __name__ == "__main__":
    main()
