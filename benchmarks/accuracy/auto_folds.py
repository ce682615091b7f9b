"""What each part of "auto" earns, on halves of training images.

    python -m benchmarks.accuracy.auto_folds blood tiles traffic --budget 20
    python -m benchmarks.accuracy.auto_folds corel1000 --budget 60 --without views

Test images are never read. One half of the training images learns, the other is predicted, and the
other way round. Prints the mean accuracy per class, CPU seconds and peak memory, and for each half
what the steps of the search reached on its own folds and which channels were kept. ``--without``
takes a part of the search away: "weights" (all channels have their own), "views".
"""

import argparse
import resource
import tempfile
from pathlib import Path
from time import process_time
from unittest import mock

import numpy as np

from benchmarks.ledger import halves_of, mean_per_class
from visualwords import ImageClassifier
from visualwords.apps.pipeline import auto
from visualwords.folders import ImageFolder

PARTS = {
    "weights": ("mix", lambda kernels, starts, held: np.asarray(starts[0])),
    "views": ("VIEWS", ()),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--recipe", default="auto")
    parser.add_argument("--budget", type=float, default=20.0)
    parser.add_argument("--without", choices=["weights", "views"])
    options = parser.parse_args()
    for name in options.sets:
        begun, labels, right = process_time(), [], []
        with tempfile.TemporaryDirectory() as place:
            halves = halves_of(name, Path(place))
            for half in halves:
                model = ImageClassifier(options.recipe, budget=options.budget, n_jobs=1)
                with without(options.without):
                    model.fit(ImageFolder(half.table), warn=False)
                scores = model.score_images(half.paths)
                said = dict(zip(scores.kept.tolist(), model.decide(scores).labels.tolist()))
                right += [said.get(i) == label for i, label in enumerate(half.labels)]
                labels += half.labels
                steps = ", ".join(f"{step} {x:.1%}" for step, x in model.tried_.items())
                print(f"    {steps}\n    {model.recipe_!r}")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        accuracy, seconds = mean_per_class(labels, right), process_time() - begun
        print(f"{name:12s} {accuracy:6.1%}  {seconds:5.0f} s of CPU  {peak} MB so far", flush=True)


def without(part: str | None) -> "mock._patch[object]":
    """Take a part of the search away, in a block."""
    name, value = PARTS.get(str(part), ("FACTORS", auto.FACTORS))
    return mock.patch.object(auto, name, value)


if __name__ == "__main__":
    main()
