"""What composing costs: a comparison against its stages, and one prediction of a kernel recipe.

    python -m benchmarks.speed.composing                     both
    python -m benchmarks.speed.composing compare [N]         N images of each class [20]
    python -m benchmarks.speed.composing predict [KERNEL …]

``compare``: 3 codebooks × 4 kernels on images of scene15's training part, two folds. The stages
that differ are one pass over the images that extracts patches once and encodes them by all
codebooks, learning these, and, on rows in memory, training, calibrating and scoring every
classifier and learning what its novelty and similar images need. ``predict``: recipes trained on
all 1,500 images; a prediction reads the file, extracts, encodes, scores and calibrates.
"""

import os
import sys
import tempfile
import time

from benchmarks.timing import Table, best_cpu_seconds

import numpy as np  # isort: skip - after the number of threads is set

from benchmarks.data import DATA, KEPT
from visualwords import ImageClassifier, load
from visualwords.apps.classify_images.recipe_flags import varied_recipes
from visualwords.apps.evaluation import comparing
from visualwords.apps.pipeline.channel_encoder import rows_of
from visualwords.apps.pipeline.composing import compose
from visualwords.apps.pipeline.encoding import encode
from visualwords.apps.pipeline.novelty import held_out_distances
from visualwords.apps.pipeline.similarity import Signer, sketch_rows
from visualwords.apps.pipeline.stage import Environment
from visualwords.apps.pipeline.training import FOLDS, Training, fit_and_hold_out
from visualwords.cache import open_cache
from visualwords.classifiers.calibration import SoftmaxCalibration
from visualwords.folders import ImageFolder
from visualwords.progress import Silent

FEATURE = ("DenseSIFT(step=8)",)
VARY = ("codebook=kmeans,kmeans-root,hik", "kernel=hik,chi2,gcs,ngmm")
KERNELS = ("ngmm", "gcs", "chi2", "laplace", "intersection")


def cpu(work):
    """Return the CPU seconds of a call, and its result."""
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


def bench_compare(per_class: int = 20) -> list[str]:
    """All of a comparison against its stages."""
    folder = ImageFolder(DATA / "scene15").part("train")
    chosen = [
        i for i in range(len(folder.paths)) if folder.labels[:i].count(folder.labels[i]) < per_class
    ]
    images = folder.select(chosen)
    recipes = varied_recipes((), FEATURE, ("words.n_words=200",), VARY)
    comparing.compare(
        folder.select(chosen[:: per_class // 4]), recipes, folds=2, n_jobs=1
    )  # compiles
    whole, _ = cpu(lambda: comparing.compare(images, recipes, folds=2, n_jobs=1))
    with tempfile.TemporaryDirectory() as place:
        env = Environment(open_cache(place), 1, Silent())
        divisions = comparing._divisions(images, 2, 1, 0, env)
        once, _ = cpu(lambda: comparing._encode_all(recipes, divisions, env))
        each = sum(classifier_seconds(r, d, env) for r in recipes for d in divisions)
    print(f"{len(chosen)} images: encoding {once:.1f} s, classifiers {each:.1f} s")
    print(f"comparison {whole:.1f} s")
    table = Table("comparison of 12 recipes")
    table.check("CPU against that of the stages that differ", whole / (once + each), 1.3, False)
    return table.missed


def classifier_seconds(recipe, division, env) -> float:
    """CPU seconds to train, calibrate and score one recipe whose rows are in memory."""
    training = Training(division.training, division.seed, env)
    encoders = training.channels.learn(recipe)
    rows = training.channels.rows(recipe, encoders)
    test = encode(encoders, division.testing, recipe.view, env)
    others = rows_of(encoders, [list(arrays) for arrays in zip(*test.channels)])
    data = division.training.part(training.channels.kept(recipe))
    folds = data.folds_of_all_classes(FOLDS, division.seed)

    def work() -> None:
        classifier = training.build_classifier(recipe)
        held_out = fit_and_hold_out(classifier, rows, data.labels, folds)
        SoftmaxCalibration.fit(held_out, data.codes)
        sketch = sketch_rows(rows)
        signer = Signer().fit(sketch)
        signatures = signer.sign(sketch)
        held_out_distances(sketch, data.codes, folds)
        classifier.decision_function(others)
        sketch = sketch_rows(others)
        signer.distances(sketch, signer.components(sketch), *signatures)

    return cpu(work)[0]


def bench_predict(*kernels: str) -> list[str]:
    """One image by models of 1,500 training images, and the size of their files."""
    table = Table("words of 1,500 images, then a kernel: milliseconds of one image, megabytes")
    images = ImageFolder(DATA / "scene15")
    training, path = images.part("train"), images.part("test").paths[0]
    for kernel in kernels or KERNELS:
        recipe = compose(changes=[("kernel", kernel), ("solver", "kernel")])
        model = ImageClassifier(recipe, n_jobs=1, cache_dir=KEPT / "cache").fit(
            training, warn=False
        )
        with tempfile.TemporaryDirectory() as place:
            file = os.path.join(place, "m.vw")
            model.save(file)
            size = os.path.getsize(file) / 1e6
            loaded = load(file)
        once = best_cpu_seconds(lambda: loaded.predict_proba([path]), repeats=5)  # noqa: B023
        rows = loaded.classifier_.support_vectors_
        full = np.count_nonzero(rows) / rows.size
        table.check(f"{kernel}, {len(rows)} vectors, {full:.0%} full, ms", 1e3 * once, 30, False)
        table.check(f"{kernel}, MB", size, 20, False)
    return table.missed


if __name__ == "__main__":
    part, *rest = sys.argv[1:] or ["all"]
    missed = []
    if part in ("compare", "all"):
        missed += bench_compare(*map(int, rest))
    if part in ("predict", "all"):
        missed += bench_predict(*rest)
    sys.exit(f"missed: {', '.join(missed)}" if missed else 0)
