"""What folds of the training images say about a recipe's settings; test images are never read.

    python -m benchmarks.accuracy.recipe_folds scene15 --recipe scene --set channels.1.weight=0.5,1
    python -m benchmarks.accuracy.recipe_folds corel1000 --recipe color --set channels.0.weight=1,2

A setting is a path into the recipe as `Recipe.to_json` writes it, and the values to try; several
are combined. Of a folder without splits (corel1000) half is taken, with ``--seed``. Prints the mean
accuracy per class on five folds, and its standard error as if images were drawn independently.
"""

import argparse
import itertools
import json
from typing import Any

from benchmarks.data import KEPT, image_folder
from visualwords import ImageClassifier
from visualwords.apps.pipeline.recipes import RECIPES, Recipe
from visualwords.folders import ImageFolder


def training_part(name: str, seed: int) -> ImageFolder:
    """Return the images that choices may be made on."""
    folder = image_folder(name)
    return folder.part("train") if "train" in folder.splits else folder.split(0.5, seed)[0]


def changed(recipe: Recipe, settings: dict[str, Any]) -> Recipe:
    """Return a recipe with other values at some paths."""
    values = json.loads(json.dumps(recipe.to_json()))
    for path, value in settings.items():
        *way, last = path.split(".")
        place = values
        for step in way:
            place = place[int(step) if isinstance(place, list) else step]
        place[last] = value
    return Recipe.from_json(values)


def choices(text: str) -> list[tuple[str, Any]]:
    """Return the settings that ``path=1,2,3`` stands for."""
    path, values = text.split("=")
    return [(path, json.loads(value)) for value in values.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--recipe", required=True, choices=RECIPES)
    parser.add_argument("--set", nargs="*", default=[], type=choices, metavar="PATH=VALUES")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", default=str(KEPT / "cache"))
    options = parser.parse_args()
    images = training_part(options.data, options.seed)
    for settings in map(dict, itertools.product(*options.set)):
        recipe = changed(RECIPES[options.recipe], settings)
        model = ImageClassifier(recipe, n_jobs=options.jobs, cache_dir=options.cache).fit(images)
        accuracy = model.cross_validated_
        error = (accuracy * (1 - accuracy) / len(images)) ** 0.5
        print(f"{settings or 'as it is'}: {accuracy:.2%} ± {error:.2%}", flush=True)


if __name__ == "__main__":
    main()
