"""ETH-80 from five views of each object, one object of every class left out at a time.

    python -m benchmarks.accuracy.eth80_objects [--recipe NAME] [--budget SECONDS] [--folds N]

The views are those of [Grauman06]: four sides and the top. Ten times, all views of eight objects,
one of each class, are predicted by a model of the other 72; `auto` chooses on folds of those,
which keep objects together. Mean accuracy per class, with its standard deviation over the ten.
"""

import argparse
from time import process_time

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from benchmarks.data import KEPT, image_folder
from visualwords import ImageClassifier
from visualwords.apps.reproduce_papers.datasets import VIEWS

OBJECTS = 10  # of each class


def five_views() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return paths, classes and the numbers of the objects in their classes."""
    folder, found = image_folder("eth80"), []
    for path, label in zip(folder.paths, folder.labels):
        name, _, view = str(path).rpartition("/")[2].removesuffix(".jpg").partition("-")
        if view in VIEWS:
            found.append((path, label, int(name.removeprefix(label))))
    paths, labels, numbers = zip(*found)
    return np.array(paths, object), np.array(labels), np.array(numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="auto")
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--folds", type=int, default=OBJECTS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", default=str(KEPT / "cache"))
    options = parser.parse_args()
    paths, labels, numbers = five_views()
    begun, accuracies = process_time(), []
    for number in np.unique(numbers)[: options.folds]:
        known, left_out = numbers != number, numbers == number
        model = ImageClassifier(
            options.recipe, n_jobs=options.jobs, cache_dir=options.cache, budget=options.budget
        )
        objects = [f"{label}{k}" for label, k in zip(labels[known], numbers[known])]
        model.fit(list(paths[known]), labels[known], groups=objects)
        guesses = model.predict(list(paths[left_out]))
        accuracies.append(balanced_accuracy_score(labels[left_out], guesses))
        print(f"objects {number}: {accuracies[-1]:.1%} by {model.recipe_.name}", flush=True)
    spent = process_time() - begun
    spread = f"{np.mean(accuracies):.2%} ± {np.std(accuracies):.2%}"
    print(f"eth80, {options.recipe}: {spread} of {len(accuracies)}; {spent:.0f} s of CPU")


if __name__ == "__main__":
    main()
