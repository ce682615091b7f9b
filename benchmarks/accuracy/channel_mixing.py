"""Whether mixing channels, and which rule of choice, helps on images that no choice was made on.

    python -m benchmarks.accuracy.channel_mixing tasks/blood/table.csv corel1000
    python -m benchmarks.accuracy.channel_mixing caltech101 --classes 40 --max-side 225

Training images alone are read. They are divided into random halves, groups in one of them: recipes
and mixtures of channels are chosen on folds of one half, as `auto` does, and tried on the other,
all by kernel ridge regression. Prints the mean accuracy per class of the recipe that is best on
folds by two rules, of all channels with equal shares, of mixtures that begin with the best recipe,
and of the recipe that was best afterwards.
"""

import argparse
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from benchmarks.accuracy.recipe_folds import training_part
from benchmarks.accuracy.row_choices import some_classes
from benchmarks.data import KEPT
from visualwords import ImageClassifier
from visualwords.apps.pipeline.channel import Channel
from visualwords.apps.pipeline.costs import Images
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.duplicates import find_copies, keep_together
from visualwords.apps.pipeline.mixing import Held, held_out_scores, log_chances, mix
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import LINEAR, MORE_LINEAR, RECIPES
from visualwords.apps.pipeline.search.noise import paired_lead
from visualwords.apps.pipeline.search.variations import (
    for_grey_images,
    sized_for,
    with_color_moments,
)
from visualwords.apps.pipeline.training import Training, divisions_of, n_divisions
from visualwords.folders import ImageFolder
from visualwords.parallel import with_one_library_thread

NAMES = ("photo", "scene", "vivid", "pattern", "combined", "chromatic", "moments")
RULES = {"half an error, two": (0.5, 2.0), "an error, half": (1.0, 0.5)}  # of labels, likelihoods
RIDGE = 0.05


class Kernels:
    """The kernels of all channels, of the same images, and the recipes that are made of them."""

    def __init__(self, data: Dataset, recipes: list[Recipe], training: Training):
        channels: dict[str, Channel] = {}
        for recipe in recipes:
            channels |= {repr(channel.unweighted): channel for channel in recipe.channels}
        every = replace(recipes[0], channels=tuple(channels.values()))
        training.channels.encode(every, training.channels.learn(every))
        kept = np.array(training.channels.kept(every), np.intp)
        self.data, self.names, self.kernels, self.shares = data.part(kept), list(channels), [], []
        means = {}
        for name, channel in channels.items():
            products = training.channels.products_of(channel, [every.view], kept)
            means[name] = np.diagonal(products).mean() / channel.weight**2
            self.kernels.append(products / np.diagonal(products).mean())
        for recipe in recipes:
            used = {repr(c.unweighted): c.weight**2 for c in recipe.channels}
            self.shares.append(np.array([used.get(n, 0) * means[n] for n in self.names]))

    def of(self, shares: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the kernel between two parts of the images."""
        part = np.ix_(one, other)
        return sum(s * k[part] for s, k in zip(shares / shares.sum(), self.kernels) if s)


def weights_of(codes: np.ndarray) -> np.ndarray:
    """Weights of images that make classes count alike."""
    return (len(codes) / len(np.unique(codes)) / np.bincount(codes))[codes]


def tried(kernels: Kernels, shares: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    """Return the accuracy on one part of what was learned from another."""
    codes = np.unique(kernels.data.codes, return_inverse=True)[1]
    targets = np.where(codes[train][:, None] == np.arange(codes.max() + 1), 1.0, -1.0)
    ridge = np.diag(RIDGE / weights_of(codes[train]))
    found = np.linalg.solve(kernels.of(shares, train, train) + ridge, targets)
    guesses = (kernels.of(shares, test, train) @ found).argmax(axis=1)
    return balanced_accuracy_score(codes[test], guesses)


def chosen(results: list[tuple[np.ndarray, np.ndarray]], codes: np.ndarray, rule) -> int:
    """Return the best of recipes, cheapest first, by what they reach on folds."""
    by_class, best = dict(enumerate(codes)), 0
    for number in range(1, len(results)):
        for values, other, errors in zip(results[number], results[best], rule):
            pair = dict(enumerate(values)), dict(enumerate(other))
            lead, error = paired_lead(*pair, by_class)
            if values is results[number][1] or abs(lead) > errors * error:
                best = number if lead > errors * error else best
                break
    return best


@with_one_library_thread
def compare(images: ImageFolder, options: argparse.Namespace) -> None:
    """Print what the ways of choosing reach on the halves of images that they did not see."""
    env = ImageClassifier(n_jobs=options.jobs, cache_dir=options.cache).environment()
    data = Dataset.of(images)
    copies = find_copies(data, env)
    data = data.grouped(keep_together(data, copies)) if copies.sets else data
    sizes = Images.of(data, env.max_pixels)
    recipes = [RECIPES[name] for name in NAMES]
    recipes += [Recipe(c.extractor, "", (c,), classifier=LINEAR) for c in MORE_LINEAR if c.learns]
    recipes.append(with_color_moments(RECIPES["moments"]))
    if options.grey:
        recipes = for_grey_images(recipes)
    sides = {} if options.max_side is None else {"max_side": options.max_side}
    recipes = [replace(sized_for(recipe, sizes), **sides) for recipe in recipes]
    kernels = Kernels(data, recipes, Training(data, 0, env))
    figures: dict[str, list[float]] = {}
    for seed in range(options.halves):
        part, other = _halves(kernels.data, seed)
        for title, figure in _of_half(kernels, part, other).items():
            figures.setdefault(title, []).append(figure)
    for title, values in figures.items():
        error = np.std(values) / np.sqrt(len(values))
        print(f"{np.mean(values):7.1%} ± {100 * error:.1f}  {title}", flush=True)


def _halves(data: Dataset, seed: int) -> tuple[np.ndarray, np.ndarray]:
    folds = data.folds_of_all_classes(2, seed)
    return np.flatnonzero(folds == 0), np.flatnonzero(folds == 1)


def _of_half(kernels: Kernels, part: np.ndarray, other: np.ndarray) -> dict[str, float]:
    """Choose on folds of one half of the images, and return accuracies on the other."""
    data = kernels.data.part(part)
    held = Held(data.codes, divisions_of(data, 0, n_divisions(len(data))))
    weights = weights_of(data.codes)
    results = []
    for shares in kernels.shares:
        found = held_out_scores(kernels.of(shares, part, part), held, RIDGE / weights)
        right = [(scores.argmax(axis=1) == data.codes).astype(float) for scores in found]
        chances = [log_chances(scores, data.codes, weights) for scores in found]
        results.append((np.mean(right, axis=0), np.mean(chances, axis=0)))
    reach = partial(tried, kernels, train=part, test=other)
    figures = {}
    for rule, errors in RULES.items():
        best = kernels.shares[chosen(results, data.codes, errors)]
        figures[f"best recipe ({rule})"] = reach(best)
    inside = np.stack([k[np.ix_(part, part)] for k in kernels.kernels])
    figures["all channels alike"] = reach(np.ones(len(inside)))
    figures["mixed"] = reach(mix(inside, best, held))
    figures["best of recipes, afterwards"] = max(map(reach, kernels.shares))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--classes", type=int)
    parser.add_argument("--max-side", type=int)
    parser.add_argument("--grey", action="store_true", help="leave colours of patches out")
    parser.add_argument("--halves", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", default=str(KEPT / "cache"))
    options = parser.parse_args()
    for name in options.data:
        images = training_part(name, 0)
        if options.classes is not None and options.classes < len(images.classes):
            images = some_classes(images, options.classes)
        print(f"{name}, {len(images)} images")
        compare(images, options)


if __name__ == "__main__":
    main()
