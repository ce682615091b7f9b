"""Do models as ONNX files answer as the models do, how large are they, and how fast?

    python -m benchmarks.accuracy.exported_models DATA … [--recipe NAME …] [--train N] [--test N]

DATA is a folder of images by class, such as ../shared/data/tasks/tiles. Trains every recipe on N
images of one half, and predicts N images of the other half by the model (files) and by onnxruntime
with one thread (decoded images). Sizes are in kB, of the ONNX file and of the zipped .vw without
what it keeps of training images; times are milliseconds of CPU for one decoded image.
"""

import argparse
import json
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import onnxruntime

from visualwords import ImageClassifier
from visualwords.apps.export.exporting import exported
from visualwords.folders import ImageFolder
from visualwords.images import read_image

TIMED = 30  # images
OF_TRAINING = ("gallery/", "novelty/", "training/")  # members of a model file


def milliseconds(predict: Callable[[np.ndarray], object], images: list[np.ndarray]) -> float:
    """CPU time of an image."""
    predict(images[0])
    start = time.process_time()
    for image in images:
        predict(image)
    return (time.process_time() - start) / len(images) * 1e3


def measure(folder: ImageFolder, recipe: str, n_train: int, n_test: int) -> dict[str, float]:
    """Compare one recipe with its ONNX file."""
    order, parts = np.random.default_rng(0), folder.split(test_size=0.5, seed=0)
    train, test = (
        [(part.paths[i], part.labels[i]) for i in order.permutation(len(part.paths))[:n]]
        for part, n in zip(parts, (n_train, n_test))
    )
    model = ImageClassifier(recipe, n_jobs=1, keep_training=False)
    model.fit(*map(list, zip(*train)), warn=False)
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "model.vw")
        model.save(path)
        members = zipfile.ZipFile(path).infolist()
    kept = sum(m.compress_size for m in members if not m.filename.startswith(OF_TRAINING))
    found = exported(model)
    data = found.model.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    paths, truth = map(list, zip(*test))
    images = [read_image(path) for path in paths]
    answers = [session.run(["label", "probabilities"], {"image": i[None]}) for i in images]
    labels, known = np.array([label[0] for label, _ in answers]), model.predict(paths)
    apart = np.abs(np.concatenate([p for _, p in answers]) - model.predict_proba(paths))
    run = milliseconds(lambda i: session.run(None, {"image": i[None]}), images[:TIMED])
    ours = milliseconds(model.predict_one, images[:TIMED])
    return {
        "golden": found.largest_difference,
        "same labels": float(np.mean(labels == known)),
        "accuracy": float(np.mean(known == truth)),
        "accuracy of ONNX": float(np.mean(labels == truth)),
        "mean difference": float(apart.mean()),
        "largest difference": float(apart.max()),
        "kB": len(data) // 1000,
        "kB of .vw": kept // 1000,
        "ms": round(run, 2),
        "times ours": round(run / ours, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--recipe", nargs="+", default=["tiny", "fast", "words"])
    parser.add_argument("--train", type=int, default=400)
    parser.add_argument("--test", type=int, default=120)
    args = parser.parse_args()
    cv2.setNumThreads(1)
    for data in args.data:
        for recipe in args.recipe:
            figures = measure(ImageFolder(data), recipe, args.train, args.test)
            print(json.dumps({"data": data, "recipe": recipe, **figures}), flush=True)


if __name__ == "__main__":
    main()
