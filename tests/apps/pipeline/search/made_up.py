"""Searches in which recipes reach what a test says."""

from dataclasses import replace

from visualwords.apps.pipeline.search.noise import Result
from visualwords.apps.pipeline.search.planning import plan_with
from visualwords.apps.pipeline.search.steps import search


def result(merit, n=100, recipe=None):
    right = {i: float(i < merit * n) for i in range(n)}
    return Result(recipe, merit, merit, right, right, dict.fromkeys(right, 0))


def searched(merits, images, budget, candidates, given=None):
    """Run a search in which recipes reach what `merits` says by parts of their names."""
    planned = plan_with(given, candidates, images, budget)
    tries, tried, sent = search(planned, images, budget), [], None
    while True:
        try:
            step = tries.send(sent)
        except StopIteration as end:
            return end.value, tried
        tried.append(step)
        is_refused = step.mixes and "+" not in step.recipe.name and " mixed" not in merits
        sent = None if is_refused else result_of(merits, step.recipe, step.others)


def result_of(merits, recipe, others=()):
    """Return what a recipe reaches, with all channels that are mixed with its own."""
    gains = [gain for part, gain in merits.items() if part in recipe.name]
    mixed = replace(recipe, channels=(*recipe.channels, *others))
    return result(0.5 + sum(gains), recipe=mixed)
