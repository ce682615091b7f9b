"""Do models as ONNX files answer as the models do, how large are they, and how fast?

    python -m benchmarks.accuracy.exported_models [DATA …] [--recipe NAME …] [--train N] [--test N]

Trains every recipe on N images of every set, at least two of a class ("auto" for --budget seconds),
and predicts N other images by the model (files) and by onnxruntime with one thread (decoded
images). One row a set and recipe; a figure beyond its bar is **bold**:

- same: share of equal labels, bar 99.5 %; accuracy: points by which they differ, 0.3;
- mean: of the differences of probability, 0.005; golden: largest of the golden images, 0.02;
- kB: of the ONNX file and of the zipped .vw without what it keeps of training images;
  ratio: (ONNX − 300 kB) / .vw, 1.3;
- ms: CPU of onnxruntime for a decoded image; times: that by the model's, 4 for tiny and words and
  6 for fisher, none for others;
- MB and start: peak memory of a process with NumPy, Pillow and onnxruntime that predicts one JPEG,
  120, and CPU seconds until it has loaded the model, 0.6.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import cv2
import numpy as np
import onnxruntime

from benchmarks.accuracy.image_classifier import splits
from visualwords import ImageClassifier
from visualwords.apps.export.exporting import exported
from visualwords.folders import ImageFolder
from visualwords.images import read_image

DATA = ["blood", "tiles", "traffic", "corel1000", "scene15"]
RECIPES = ["tiny", "fast", "words", "fisher", "moments", "auto", "rich-fisher", "rich-words"]
BARS = {"accuracy": 0.3, "mean": 0.005, "golden": 0.02, "ratio": 1.3, "MB": 120, "start": 0.6}
TIMES = {"tiny": 4, "words": 4, "fisher": 6}  # the CPU of the model
OF_TRAINING = ("gallery/", "novelty/", "training/")  # members of a model file
PROCESS = """
import json, re, sys, time
import numpy, onnxruntime
from PIL import Image
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
start = time.process_time()
session.run(["label"], {"image": numpy.asarray(Image.open(sys.argv[2]).convert("RGB"))[None]})
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1e3
print(json.dumps({"MB": peak, "start": start}))
"""


def some(folder: ImageFolder, n: int) -> ImageFolder:
    """About n images, at least two of every class."""
    labels = np.array(folder.labels)
    order = np.random.default_rng(0).permutation(len(labels))
    first = [i for name in folder.classes for i in order[labels[order] == name][:2]]
    rest = order[~np.isin(order, first)]
    return folder.select(sorted([*first, *rest[: max(0, n - len(first))]]))


def milliseconds(predict: Callable[[np.ndarray], object], images: list[np.ndarray]) -> float:
    """CPU time of an image."""
    predict(images[0])
    start = time.process_time()
    for image in images:
        predict(image)
    return (time.process_time() - start) / len(images) * 1e3


def alone(path: Path, image: str) -> dict[str, float]:
    """What a process of its own needs."""
    command = [sys.executable, "-c", PROCESS, str(path), image]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def measure(
    model: ImageClassifier, train: ImageFolder, test: ImageFolder, n_timed: int
) -> dict[str, float]:
    """Train a model and compare it with its ONNX file."""
    model.fit(train.paths, train.labels, warn=False)
    found = exported(model)
    data = found.model.SerializeToString()
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "model")
        model.save(path)
        members = zipfile.ZipFile(path).infolist()
        path.write_bytes(data)
        process = alone(path, test.paths[0])
    kept = sum(m.compress_size for m in members if not m.filename.startswith(OF_TRAINING))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    images, truth = [read_image(path) for path in test.paths], np.array(test.labels)
    answers = [session.run(["label", "probabilities"], {"image": i[None]}) for i in images]
    labels = np.array([label[0] for label, _ in answers])
    chances = model.predict_proba(test.paths)
    known = model.classes_[chances.argmax(axis=1)]
    shares = [float(np.mean(guesses == truth)) for guesses in (known, labels)]
    run = milliseconds(lambda i: session.run(None, {"image": i[None]}), images[:n_timed])
    ours = milliseconds(model.predict_one, images[:n_timed])
    return {
        "images": len(train),
        "same": 100 * float(np.mean(labels == known)),
        "accuracy": 100 * abs(shares[0] - shares[1]),
        "mean": float(np.abs(np.concatenate([p for _, p in answers]) - chances).mean()),
        "golden": found.largest_difference,
        "kB": len(data) / 1e3,
        "kB of .vw": kept / 1e3,
        "ratio": (len(data) - 300e3) / kept,
        "ms": run,
        "times": run / ours,
    } | process


def row(recipe: str, name: str, figures: Mapping[str, float]) -> str:
    """A row of a table, with bold figures where they miss a bar."""
    bars = BARS | ({"times": TIMES[recipe]} if recipe in TIMES else {})
    cells = [
        f"**{value:.3g}**"
        if value > bars.get(key, np.inf) or (key == "same" and value < 99.5)
        else f"{value:.5g}"
        if key.startswith("kB")
        else f"{value:.3g}"
        for key, value in figures.items()
    ]
    return " | ".join(["", recipe, name, *cells, ""]).strip()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="*", default=DATA)
    parser.add_argument("--recipe", nargs="+", default=RECIPES)
    parser.add_argument("--train", type=int, default=200)
    parser.add_argument("--test", type=int, default=200)
    parser.add_argument("--timed", type=int, default=20, help="images")
    parser.add_argument("--budget", type=float, default=20.0, help="of auto")
    args = parser.parse_args()
    cv2.setNumThreads(1)
    headed = False
    for recipe in args.recipe:
        for name in args.data:
            train, test = splits(name, 1)[0]
            model = ImageClassifier(recipe, n_jobs=1, keep_training=False, budget=args.budget)
            figures = measure(model, some(train, args.train), some(test, args.test), args.timed)
            if not headed:
                titles = ["recipe", "set", *figures]
                print("|", " | ".join(titles), "|\n|" + "---|" * len(titles), flush=True)
                headed = True
            print(row(recipe, name, figures), flush=True)


if __name__ == "__main__":
    main()
