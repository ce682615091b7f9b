"""Searches in which recipes reach what a test says."""

from visualwords.apps.pipeline.search.noise import Result
from visualwords.apps.pipeline.search.planning import plan_with
from visualwords.apps.pipeline.search.steps import search


def result(merit, n=100):
    right = {i: float(i < merit * n) for i in range(n)}
    return Result(merit, merit, right, right, dict.fromkeys(right, 0))


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
        sent = result_of(merits, step.recipe)


def result_of(merits, recipe):
    return result(0.5 + sum(gain for part, gain in merits.items() if part in recipe.name))
