"""Choosing a recipe by cross-validation on the training images; test images are never seen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter

from visualwords.apps.pipeline.recipe import Channel, Recipe
from visualwords.apps.pipeline.sampling import IMAGES
from visualwords.apps.pipeline.trained import Trained
from visualwords.apps.pipeline.training import Training
from visualwords.errors import FolderError

CORES = 2  # of the machine whose seconds a plan is made of
SECONDS_TO_LEARN = 8.0  # words or Gaussians of one channel from a full sample, by one core


@dataclass(frozen=True)
class Choice:
    """The best recipe, trained, and what each that was tried reached.

    Attributes
    ----------
    best : Trained
    accuracies : dict of recipe name → mean accuracy per class in the folds
    seconds : dict of recipe name → seconds of the clock that it took
    """

    best: Trained
    accuracies: dict[str, float]
    seconds: dict[str, float]


def estimate(channels: Iterable[Channel], n_images: int) -> float:
    """Return the seconds that two cores need for channels, by what was recorded."""
    share = min(1.0, n_images / IMAGES)  # of the largest sample of patches to learn from
    seconds = [
        n_images * channel.cost / 1000 + SECONDS_TO_LEARN * share * channel.learns
        for channel in channels
    ]
    return sum(seconds) / CORES


def plan(candidates: Sequence[Recipe], n_images: int, budget: float) -> list[Recipe]:
    """Return the recipes to try, cheapest first: as many as the budget holds, at least one.

    A channel that several recipes share counts once. The plan depends on the number of images
    alone, not on the machine, its load, the number of jobs or what is cached: the same images give
    the same choice, unless the clock ends it.
    """
    ordered = sorted(candidates, key=lambda recipe: estimate(recipe.channels, n_images))
    chosen = ordered[:1]
    for recipe in ordered[1:]:
        channels = {repr(channel): channel for r in [*chosen, recipe] for channel in r.channels}
        if estimate(channels.values(), n_images) <= budget:
            chosen.append(recipe)
    return chosen


def choose_recipe(candidates: Sequence[Recipe], training: Training, budget: float) -> Choice:
    """Train the recipes of the `plan` on the images, and return the most accurate.

    Words are learned from all training images, independently of their labels; classifiers are
    tried on folds, which are the same for all recipes and keep groups together. A tie goes to the
    cheaper recipe. No recipe is begun once the clock has passed the budget. With a class of fewer
    than two images nothing can be compared, and the last recipe of the plan, the richest, is taken.

    Parameters
    ----------
    candidates : recipes to try
    training : Training
    budget : float
        Seconds.
    """
    start = perf_counter()
    best: Trained | None = None
    accuracies: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for recipe in plan(candidates, len(training.data), budget):
        before = perf_counter()
        if best is not None and before - start > budget:
            break
        try:
            trained = training.train(recipe)
        except FolderError as problem:  # the images may be too small for its patches
            failure = problem
            continue
        seconds[recipe.name] = perf_counter() - before
        if trained.accuracy is not None:
            accuracies[recipe.name] = trained.accuracy
        if best is None or _rank(trained) > _rank(best):
            best = trained
    if best is None:
        raise failure
    training.chosen, training.skipped = best, best.skipped
    return Choice(best, accuracies, seconds)


def _rank(trained: Trained) -> float:
    """Return the accuracy; where nothing could be compared, what it costs stands for it."""
    return trained.recipe.cost if trained.accuracy is None else trained.accuracy
