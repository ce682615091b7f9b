"""Does the evidence add up? On every test image of scene15, for every class.

    python -m benchmarks.accuracy.evidence_sums [--recipe words] [--every 1] [--cache FOLDER]

Trains a recipe on the training part, explains every test image (or every nth), and compares the
decision values of `decision_function` with what the explanation adds up to: over patches, over
words, and over the pixels of the heat map. Prints the largest difference of each. Recipes of Fisher
vectors and of sets leave a part of the score to no place (``offsets``), which shows here.
"""

import argparse

import numpy as np

from benchmarks.data import DATA
from visualwords import ImageClassifier
from visualwords.folders import ImageFolder
from visualwords.parallel import map_on_workers


def differences(model: ImageClassifier, path: str) -> list[float]:
    """The distance of patches, words and heat maps from one image's decision values."""
    scores = model.decision_function([path])[0]
    found = model.explain(path)
    patches = sum(channel.evidence.sum(0, float) for channel in found.channels)
    words = sum(channel.values.sum(0, float) for channel in found.channels)
    maps = [found.heat_map(label).sum(dtype=float) for label in found.classes]
    return [float(np.abs(total - scores).max()) for total in (patches, words, maps)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="words")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache")
    options = parser.parse_args()
    folder = ImageFolder(DATA / "scene15")
    model = ImageClassifier(options.recipe, n_jobs=options.jobs, cache_dir=options.cache)
    model.fit(folder.part("train")).set_params(n_jobs=1)
    paths = folder.part("test").paths[:: options.every]
    pieces = ((path,) for path in paths)
    found = list(map_on_workers(differences, pieces, shared=[model], n_jobs=options.jobs))
    for name, largest in zip(("patches", "words", "heat maps"), np.max(found, axis=0)):
        print(f"{options.recipe}, {len(paths)} images: {name} differ by at most {largest:.1e}")


if __name__ == "__main__":
    main()
