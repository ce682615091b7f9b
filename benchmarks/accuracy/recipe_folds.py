"""What folds of the training images say about recipes and their settings.

    python -m benchmarks.accuracy.recipe_folds scene15 --recipe scene --set channels.1.weight=0.5,1
    python -m benchmarks.accuracy.recipe_folds corel1000 --recipe color --set channels.0.weight=1,2

Test images are never read. A setting is a path into the recipe as `Recipe.to_json` writes it, and
the values to try; several are combined. Of a folder without splits (corel1000) half is taken, with
``--seed``. Prints the mean accuracy per class on five folds, as `auto` computes it, the lead over
the first recipe with the standard error of paired predictions, and seconds of CPU.
"""

import argparse
import itertools
import json
from collections.abc import Iterable
from time import process_time
from typing import Any

from benchmarks.data import KEPT, image_folder
from visualwords import ImageClassifier
from visualwords.apps.pipeline.costs import Images
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.decision import Decision, class_weights
from visualwords.apps.pipeline.duplicates import find_copies, keep_together
from visualwords.apps.pipeline.metric import Metric
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import RECIPES
from visualwords.apps.pipeline.search.noise import Result, paired_lead
from visualwords.apps.pipeline.search.variations import sized_for
from visualwords.apps.pipeline.training import Training
from visualwords.folders import ImageFolder
from visualwords.parallel import with_one_library_thread


def training_part(name: str, seed: int) -> ImageFolder:
    """Return the images that choices may be made on."""
    folder = image_folder(name)
    return folder.part("train") if "train" in folder.splits else folder.split(0.5, seed)[0]


@with_one_library_thread
def compare_on_folds(
    images: ImageFolder, recipes: Iterable[tuple[str, Recipe]], jobs: int, cache: str
) -> list[Result]:
    """Print and return what recipes reach on the same folds; channels they share are made once."""
    env = ImageClassifier(n_jobs=jobs, cache_dir=cache).environment()
    data = Dataset.of(images)
    copies = find_copies(data, env)
    if copies.sets:
        data = data.grouped(keep_together(data, copies))
    weights = class_weights(data.classes, data.labels, None, False)
    metric = Metric("mean-per-class", Decision.of(data.classes, None, None, None), weights)
    training, results, sizes = Training(data, 0, env), [], Images.of(data, env.max_pixels)
    for title, recipe in recipes:
        begun = process_time()
        trained = training.try_recipe(
            sized_for(recipe, sizes)
        )  # small images enlarged, as by `auto`
        results.append(Result.of(trained, metric))
        lead, error = paired_lead(results[-1].gains, results[0].gains, results[0].classes)
        ahead = f"{100 * lead:+5.1f} ± {100 * error:.1f}" if len(results) > 1 else " " * 11
        spent = process_time() - begun
        print(f"{results[-1].figure:7.1%} {ahead} {spent:6.1f} s  {title}", flush=True)
    return results


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
    """Return the settings that ``path=1,2,[3,4]`` stands for."""
    path, values = text.split("=")
    return [(path, value) for value in json.loads(f"[{values}]")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--recipe", required=True, choices=RECIPES)
    parser.add_argument("--set", nargs="*", default=[], type=choices, metavar="PATH=VALUES")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", default=str(KEPT / "cache"))
    options = parser.parse_args()
    tried = [
        (str(settings or "as it is"), changed(RECIPES[options.recipe], settings))
        for settings in map(dict, itertools.product(*options.set))
    ]
    compare_on_folds(training_part(options.data, options.seed), tried, options.jobs, options.cache)


if __name__ == "__main__":
    main()
