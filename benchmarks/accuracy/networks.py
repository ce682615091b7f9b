"""Built-in channels, a network, and both, by `auto`; and the network against LogisticRegression.

    python -m benchmarks.accuracy.networks [SET …]

Sets: blood, tiles, traffic, corel1000, caltech101 [default: all].

The network is MobileNetV2 (`networks/mobilenet_v2_features.onnx` of the data folder). Settings are
chosen on folds of the training images; test images are used once. Figures are mean accuracies per
class. *alone* is the embedding with HIK of split signs (ICD) and with NGMM, with the recipes'
default costs. The peer runs onnxruntime on the same pixels, then LogisticRegression with C chosen
by folds; its CPU and that of the ICD recipe include reading images and running the network.
"""

import sys
import time

from benchmarks import timing  # noqa: F401  one thread

import cv2  # isort: skip - after the number of threads is set
import numpy as np
import onnxruntime
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from benchmarks.data import DATA, image_folder
from visualwords import ImageClassifier
from visualwords.apps.pipeline.composing import compose
from visualwords.folders import ImageFolder
from visualwords.images import read_image

NETWORK = DATA / "networks" / "mobilenet_v2_features.onnx"
FEATURE = f"onnx:{NETWORK}(mean=0.5, std=0.5)"
SETS = ("blood", "tiles", "traffic", "corel1000", "caltech101")
BUDGET = 60.0


def parts(name: str) -> tuple[ImageFolder, ImageFolder]:
    """Return the training and test images of a set; of corel1000, halves."""
    if name == "corel1000":
        return image_folder(name).split(test_size=0.5, seed=0)
    if name == "caltech101":
        folder = image_folder(name)
        return folder.part("train"), folder.part("test")
    folder = ImageFolder(DATA / "tasks" / name / "table.csv")
    return folder.part("train"), folder.part("test")


def ours(train: ImageFolder, test: ImageFolder, **settings) -> tuple[float, float, str]:
    """Return mean accuracy per class, CPU seconds of the whole path, and the recipe."""
    begun = time.process_time()
    model = ImageClassifier(n_jobs=1, **settings).fit(train, warn=False)
    guesses = model.predict(test)
    spent = time.process_time() - begun
    return 100 * balanced_accuracy_score(test.labels, guesses), spent, model.recipe_.name


def peer(train: ImageFolder, test: ImageFolder) -> tuple[float, float]:
    """Return the same of onnxruntime and LogisticRegression."""
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


def main(names: list[str]) -> None:
    vector = compose(features=[FEATURE])
    min_max = compose(features=[FEATURE], changes=[("kernel", "ngmm")])
    rows = []
    print(f"{'set':11s} {'built-in':>9s} {'network':>8s} {'both':>6s} {'ICD':>6s} {'NGMM':>6s} "
          f"{'peer':>6s} {'CPU':>6s}  recipes")  # fmt: skip
    for name in names:
        train, test = parts(name)
        logistic, theirs = peer(train, test)
        icd, spent, _ = ours(train, test, recipe=vector)
        ngmm, _, _ = ours(train, test, recipe=min_max)
        built, _, first = ours(train, test, recipe="auto", budget=BUDGET)
        both, _, second = ours(
            train, test, recipe="auto", budget=2 * BUDGET, channels=vector.channels
        )
        network = max(icd, ngmm)
        rows.append((built, network, both, icd, ngmm, logistic, spent / theirs))
        figures = " ".join(f"{v:6.1f}" for v in rows[-1][2:6])
        print(f"{name:11s} {built:9.1f} {network:8.1f} {figures} {spent / theirs:5.2f}×  {first}, "
              f"{second}", flush=True)  # fmt: skip
    mean = np.mean(rows, axis=0)
    better = np.mean([max(row[:2]) for row in rows])
    print(f"both - better of the two: {mean[2] - better:+.1f} on average (bar +2), least "
          f"{min(row[2] - max(row[:2]) for row in rows):+.1f} (bar -0.5)")  # fmt: skip
    print(f"ICD {mean[3]:.1f}, NGMM {mean[4]:.1f}, LogisticRegression {mean[5]:.1f}; CPU of the "
          f"whole path {mean[6]:.2f}x (bar 1.1)")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:] or list(SETS))
