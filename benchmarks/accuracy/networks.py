"""Built-in channels, a network, and both, by `auto`; and the network against LogisticRegression.

    python -m benchmarks.accuracy.networks [SET …] [--alone | --auto] [--budget SECONDS]

Sets: blood, tiles, traffic, corel1000, caltech101 [default: all].

The network is MobileNetV2 (`networks/mobilenet_v2_features.onnx` of the data folder). Settings are
chosen on folds of the training images; test images are used once. Figures are mean accuracies per
class. Alone, the embedding goes into HIK of split signs (ICD) and NGMM, with the recipes' default
costs; ``--alone`` leaves out what `auto` chooses, ``--auto`` has nothing else. `auto` has the same
budget for built-in channels and for both. The peer runs onnxruntime on the same pixels, then
LogisticRegression with C chosen by folds; its CPU and that of the ICD recipe include reading images
and running the network, but not what a process does once, such as imports and the loading of
compiled loops, which is printed before.
What `auto` makes of images is cached, which
changes no result.
"""

import argparse
import time
from typing import NamedTuple

from benchmarks import timing  # noqa: F401  one thread

import cv2  # isort: skip - after the number of threads is set
import numpy as np
import onnxruntime
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from benchmarks.data import DATA, KEPT, image_folder
from visualwords import ImageClassifier
from visualwords.apps.pipeline.composing import compose
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.folders import ImageFolder
from visualwords.images import read_image

NETWORK = DATA / "networks" / "mobilenet_v2_features.onnx"
FEATURE = f"onnx:{NETWORK}(mean=0.5, std=0.5)"
SETS = ("blood", "tiles", "traffic", "corel1000", "caltech101")


def parts(name: str) -> tuple[ImageFolder, ImageFolder]:
    """The training and test images of a set; of corel1000, halves."""
    if name == "corel1000":
        return image_folder(name).split(test_size=0.5, seed=0)
    if name == "caltech101":
        folder = image_folder(name)
        return folder.part("train"), folder.part("test")
    folder = ImageFolder(DATA / "tasks" / name / "table.csv")
    return folder.part("train"), folder.part("test")


class Trial(NamedTuple):
    """Mean accuracy per class on test images and on folds of training images, CPU, the recipe."""

    accuracy: float
    folds: float
    seconds: float
    recipe: str


def ours(train: ImageFolder, test: ImageFolder, **settings) -> Trial:
    """Train and test, from image files on."""
    begun = time.process_time()
    model = ImageClassifier(n_jobs=1, **settings).fit(train, warn=False)
    guesses = model.predict(test)
    spent = time.process_time() - begun
    accuracy = 100 * balanced_accuracy_score(test.labels, guesses)
    return Trial(accuracy, model.cross_validated_, spent, model.recipe_.name)


def peer(train: ImageFolder, test: ImageFolder) -> tuple[float, float]:
    """The same of onnxruntime and LogisticRegression."""
    begun = time.process_time()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(NETWORK), options)

    def embed(folder: ImageFolder) -> np.ndarray:
        rows = []
        for path in folder.paths:
            pixels = cv2.resize(read_image(path), (224, 224), interpolation=cv2.INTER_AREA)
            batch = (pixels.transpose(2, 0, 1)[None] / np.float32(127.5) - 1).astype(np.float32)
            rows.append(session.run(["embedding"], {"pixel_values": batch})[0][0])
        return np.array(rows)

    smallest = min(np.unique(train.labels, return_counts=True)[1])
    model = GridSearchCV(
        make_pipeline(Normalizer(), LogisticRegression(max_iter=1000)),
        {"logisticregression__C": [1.0, 10.0, 100.0]},
        cv=int(min(5, max(2, smallest))),
    ).fit(embed(train), train.labels)
    guesses = model.predict(embed(test))
    return 100 * balanced_accuracy_score(test.labels, guesses), time.process_time() - begun


def recipes() -> tuple[Recipe, Recipe]:
    """Those of the network alone: HIK and NGMM."""
    return compose(features=[FEATURE]), compose(features=[FEATURE], changes=[("kernel", "ngmm")])


def warm_up() -> None:
    """Train and test on a few images, twice; print what the first time took more."""
    few, _ = parts("blood")[0].split(test_size=0.8, seed=0)
    spent = [(ours(few, few, recipe=recipes()[0]).seconds, peer(few, few)[1]) for _ in range(2)]
    once = np.subtract(*spent)
    print(f"once in a process: {once[0]:.1f} s, LogisticRegression {once[1]:.1f} s")


def alone(names: list[str]) -> None:
    """Test the network alone against the peer."""
    vector, min_max = recipes()
    rows = []
    warm_up()
    print(f"{'set':11s} {'ICD':>6s} {'NGMM':>6s} {'LogisticRegression':>19s} {'CPU of ICD':>11s}")
    for name in names:
        train, test = parts(name)
        logistic, theirs = peer(train, test)
        icd, ngmm = ours(train, test, recipe=vector), ours(train, test, recipe=min_max)
        rows.append((icd.accuracy, ngmm.accuracy, logistic, icd.seconds / theirs))
        print("{:11s} {:6.1f} {:6.1f} {:19.1f} {:10.2f}x".format(name, *rows[-1]), flush=True)
    print("{:11s} {:6.1f} {:6.1f} {:19.1f} {:10.2f}x".format("mean", *np.mean(rows, axis=0)))


def with_others(names: list[str], budget: float, cache: str) -> None:
    """Let auto choose built-in channels, and both; alone, the better kernel by folds."""
    channels = compose(features=[FEATURE]).channels
    gains = []
    print(f"{'set':11s} {'built-in':>9s} {'network':>8s} {'both':>6s}  folds, recipes")
    for name in names:
        train, test = parts(name)
        built = ours(train, test, budget=budget, cache_dir=cache)
        both = ours(train, test, budget=budget, cache_dir=cache, channels=channels)
        kernels = [ours(train, test, recipe=recipe, cache_dir=cache) for recipe in recipes()]
        network = max(kernels, key=lambda trial: trial.folds)
        found = (built.accuracy, network.accuracy, both.accuracy)
        gains.append(both.accuracy - max(found[:2]))
        folds = ", ".join(
            f"{100 * trial.folds:.1f} {trial.recipe}" for trial in (built, network, both)
        )
        print("{:11s} {:9.1f} {:8.1f} {:6.1f}  {}".format(name, *found, folds), flush=True)
    print(f"both - the better of the two: mean {np.mean(gains):+.1f} (bar +2), "
          f"least {min(gains):+.1f} (bar -0.5)")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--auto", action="store_true")
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--cache", default=str(KEPT / "cache"))
    options = parser.parse_args()
    names = options.sets or list(SETS)
    if not options.auto:
        alone(names)
    if not options.alone:
        with_others(names, options.budget, options.cache)


if __name__ == "__main__":
    main()
