"""The HIK SVM of many histograms: CPU and passes in blocks of rows, and on the Gram matrix.

    python -m benchmarks.speed.hik_in_blocks [--rows 1250 5000] [--solver blocks gram] [--folds]

Histograms are those of recipe ``fast``, of crops of photographs in ten classes; smaller numbers are
random parts of the largest. CPU time of one thread; with ``--folds`` the held-out scores of five
folds are computed, too, and their accuracy is printed.
"""

import argparse
import time

import numpy as np

from benchmarks import timing  # noqa: F401  sets the threads before NumPy starts
from benchmarks.data import KEPT
from benchmarks.speed.training_at_size import crops
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipes import find_recipe
from visualwords.apps.pipeline.stages import encode, learn
from visualwords.apps.pipeline.training import FOLDS
from visualwords.classifiers import ICDClassifier


def histograms(n: int) -> list[np.ndarray]:
    """Histograms, classes and folds of n training crops; they are kept."""
    kept = KEPT / f"fast-rows-{n}.npz"
    if not kept.exists():
        env, recipe = ImageClassifier(n_jobs=1).environment(None), find_recipe("fast")
        data = Dataset.of(crops(n), None, None)
        encoders = learn(recipe.channels, data, recipe.view, env, 0)
        rows = encode(recipe, encoders, data, env).rows
        np.savez(kept, np.asarray(rows), data.codes, data.folds_of_all_classes(FOLDS, 0))
    return list(np.load(kept).values())


def main() -> None:
    """Train on every size with every solver, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1250, 2500, 5000])
    parser.add_argument("--solver", nargs="+", default=["blocks", "gram"])
    parser.add_argument("--folds", action="store_true")
    options = parser.parse_args()
    X, y, folds = histograms(max(options.rows))
    ICDClassifier(solver="blocks").fit(X[::10], y[::10])  # compiles
    order = np.random.default_rng(0).permutation(len(X))
    for n in options.rows:
        some = np.sort(order[:n])
        for solver in options.solver:
            model, right = ICDClassifier(solver=solver), ""
            start = time.process_time()
            if options.folds:
                scores = model.fit_and_hold_out(X[some], y[some], folds[some])
                right = f", {np.mean(scores.argmax(axis=1) == y[some]):.1%} right when held out"
            else:
                model.fit(X[some], y[some])
            spent = time.process_time() - start
            print(f"{n:7d} {solver:7s} {spent:7.2f} s {model.n_iter_:4d} passes{right}", flush=True)


if __name__ == "__main__":
    main()
