"""What "auto", or a recipe, reaches on real data; every choice is made on the training images.

    python -m benchmarks.accuracy.image_classifier scene15                       the standard split
    python -m benchmarks.accuracy.image_classifier caltech101 --recipe object    15 images a class
    python -m benchmarks.accuracy.image_classifier corel1000 --seeds 5           random halves

Mean accuracy per class on test images that no choice was made on, used once; without
BACKGROUND_Google, which is not a class. Prints the recipes tried and seconds of CPU.
"""

import argparse
from time import process_time

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from benchmarks.data import KEPT, image_folder
from visualwords import ImageClassifier
from visualwords.folders import ImageFolder


def splits(name: str, seeds: int) -> list[tuple[ImageFolder, ImageFolder]]:
    """Pairs of what to learn from and what to be tried on."""
    folder = image_folder(name)
    if "train" in folder.splits:
        return [(folder.part("train"), folder.part("test"))]
    return [folder.split(0.5, seed) for seed in range(seeds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--recipe", default="auto")
    parser.add_argument("--views", help="of training images, such as mirror")
    parser.add_argument("--budget", type=float, default=600.0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", default=str(KEPT / "cache"))
    options = parser.parse_args()
    accuracies = []
    for train, test in splits(options.data, options.seeds):
        start = process_time()
        model = ImageClassifier(
            options.recipe,
            n_jobs=options.jobs,
            cache_dir=options.cache,
            budget=options.budget,
            views=options.views,
        ).fit(train)
        guesses = model.predict(test)
        accuracies.append(balanced_accuracy_score(test.labels, guesses))
        tried = ", ".join(f"{name} {value:.1%}" for name, value in model.tried_.items())
        print(
            f"{options.data}: recipe {model.recipe_.name}, {accuracies[-1]:.2%} mean per class; "
            f"folds {model.cross_validated_:.2%} ({tried}); {process_time() - start:.0f} s of CPU",
            flush=True,
        )
    spread = f" ± {np.std(accuracies):.2%} of {len(accuracies)}" if len(accuracies) > 1 else ""
    print(f"{options.data}, {options.recipe}: {np.mean(accuracies):.2%}{spread}")


if __name__ == "__main__":
    main()
