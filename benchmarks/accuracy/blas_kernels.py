"""Which parts of models differ where BLAS has other kernels (of another processor)?

    python -m benchmarks.accuracy.blas_kernels [--recipe NAME …] [--kernels Prescott Haswell Zen]

Trains every recipe on the demo's tiles once for each set of OpenBLAS kernels, each in a process
of its own, and compares the arrays of the model files with those of the first one: their largest
difference, relative to the largest value. Also compared are the labels and scores of the golden
images and of the demo's test tiles.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from visualwords.apps.classify_images.demo_images import texture_tiles
from visualwords.apps.pipeline.recipes import RECIPES
from visualwords.model_file import read_model


def learn(recipe: str, path: str) -> None:
    """Train a recipe in this process; write its model and what it predicts."""
    from visualwords import ImageClassifier

    model = ImageClassifier(recipe, n_jobs=1).fit(*texture_tiles("train"))
    model.save(path)
    tiles = texture_tiles("test")[0]
    np.savez(f"{path}.npz", scores=model.decision_function(tiles), labels=model.predict(tiles))


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference, relative to the largest value; 1 where shapes differ."""
    if a.shape == b.shape and a.tobytes() == b.tobytes():
        return 0.0
    if a.shape != b.shape or a.dtype.kind not in "biuf":
        return 1.0
    scale = float(np.abs(a.astype(float)).max()) or 1.0
    return float(np.abs(a.astype(float) - b.astype(float)).max()) / scale


def compare(recipe: str, kernels: str, first: str, path: str) -> None:
    """Print what differs between two models."""
    (_, old), (_, new) = read_model(first), read_model(path)
    parts = {name: difference(old[name], new[name]) for name in old}
    parts = {name: value for name, value in sorted(parts.items()) if value}
    wrong = np.argmax(old["golden/decisions"], 1) != np.argmax(new["golden/decisions"], 1)
    a, b = np.load(f"{first}.npz"), np.load(f"{path}.npz")
    other = int((a["labels"] != b["labels"]).sum())
    print(
        f"{recipe:14} {kernels:10} scores of tiles {difference(a['scores'], b['scores']):.1e}, "
        f"labels changed {other} of {len(a['labels'])}, of golden images {int(wrong.sum())}; "
        + (", ".join(f"{name} {value:.1e}" for name, value in parts.items()) or "same bytes"),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", nargs="+", default=list(RECIPES))
    parser.add_argument("--kernels", nargs="+", default=["Prescott", "Haswell", "Zen"])
    parser.add_argument("--learn", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.learn:
        (recipe,) = options.recipe
        learn(recipe, str(Path(options.learn) / f"{recipe}.vw"))
        return
    first, *others = options.kernels
    command = [sys.executable, "-m", "benchmarks.accuracy.blas_kernels", "--learn"]
    with tempfile.TemporaryDirectory() as folder:
        for recipe in options.recipe:
            for kernels in options.kernels:
                os.makedirs(f"{folder}/{kernels}", exist_ok=True)
                subprocess.run(
                    [*command, f"{folder}/{kernels}", "--recipe", recipe],
                    env=os.environ | {"OPENBLAS_CORETYPE": kernels},
                    check=True,
                )
            for kernels in others:
                paths = (f"{folder}/{name}/{recipe}.vw" for name in (first, kernels))
                compare(recipe, kernels, *paths)


if __name__ == "__main__":
    main()
