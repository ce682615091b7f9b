"""What every recipe reaches on real data: the figures that ``classify-images recipes`` shows.

    python -m benchmarks.accuracy.all_recipes [--recipe NAME ...] [--data NAME ...]

Each recipe learns from the training part and is tried once on the test part: scene15 and
caltech101 as they are divided (without BACKGROUND_Google), corel1000 halved with seed 0. Features
are computed anew. Times are seconds of CPU, so that they hardly depend on what else the machine
does. The results are merged into apps/pipeline/recipe_results.json, each with the state of the
program, the date and the machine.
"""

import argparse
import json
import platform
import tempfile
from pathlib import Path
from time import process_time

from benchmarks.data import image_folder
from benchmarks.results import provenance
from visualwords import ImageClassifier
from visualwords.apps.evaluation.trial import run_trial
from visualwords.apps.pipeline.recipes import RECIPES, RESULTS, load_results
from visualwords.files import write_atomically
from visualwords.folders import ImageFolder


def parts(name: str) -> tuple[ImageFolder, ImageFolder]:
    """Training and test images of a data set."""
    folder = image_folder(name)
    if name == "corel1000":
        return folder.split(0.5, seed=0)
    return folder.part("train"), folder.part("test")


def measure(recipe: str, data: str) -> dict[str, float]:
    """Train and try a recipe once."""
    training, testing = parts(data)
    start = process_time()
    model = ImageClassifier(recipe, n_jobs=2).fit(training.paths, training.labels)
    trained = process_time()
    trial = run_trial(model, testing)
    tried = process_time()
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "m.vw"))
        size = Path(folder, "m.vw").stat().st_size
    return {
        "mean_per_class_accuracy": round(trial.evaluation.mean_per_class, 4),
        "training_images": len(training),
        "test_images": len(testing),
        "training_cpu_seconds": round(trained - start, 1),
        "prediction_cpu_ms": round(1000 * (tried - trained) / len(testing), 2),
        "model_bytes": size,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", nargs="*", default=list(RECIPES))
    parser.add_argument("--data", nargs="*", default=["scene15", "caltech101", "corel1000"])
    arguments = parser.parse_args()
    origin = provenance()  # before the results change a file of the checkout
    for data in arguments.data:
        for recipe in arguments.recipe:
            found = measure(recipe, data)
            print(data, recipe, found, flush=True)
            results = load_results()
            results["machine"] = f"{platform.machine()}, Python {platform.python_version()}"
            results["recipes"].setdefault(recipe, {})[data] = found | origin
            content = json.dumps(results, indent=1, sort_keys=True) + "\n"
            write_atomically(RESULTS, content.encode())


if __name__ == "__main__":
    main()
