"""Channels that the user gives, such as networks, beside the best recipes of "auto".

They are tried alone after the search among all other recipes, then beside the best of those. How
much they count there is chosen on folds, too: what is gained depends on it more than on anything
else (docs/networks.md).
"""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from visualwords.apps.pipeline.recipe import Channel, Recipe
from visualwords.apps.pipeline.recipes import LINEAR, RECIPES
from visualwords.apps.pipeline.search.costs import Images, cost_of
from visualwords.apps.pipeline.search.variations import Change
from visualwords.apps.pipeline.view import MIRROR, ROTATIONS

BESIDE_FISHER = 4.0  # weight of one vector beside Fisher vectors of 8 windows: half of the kernel
FACTORS = (0.5, 2.0)  # of the weight; what helps is repeated
WEIGHTS = 3  # tries of weights that time is left for: half, twice, four times
BASES = 2  # recipes that given channels are added to
WITH_VIEWS = (  # that the best of these may have by then, and how many joins with them
    ((MIRROR, ROTATIONS), 1),
    ((MIRROR,), BASES + WEIGHTS),
    ((MIRROR,), 1),
)
FOR_VIEWS = 0.25  # of the budget, at most, is kept so that given channels can see views
FOR_JOINS = 0.5  # of the budget; more only if they take it alone and beside one recipe

WEIGHED = re.compile(r" weight×([0-9.e+-]+)")  # in the name of a recipe


def alone(channels: Sequence[Channel]) -> Recipe:
    """Return the recipe of nothing but given channels, for a linear classifier."""
    weighted = tuple(
        replace(channel, linear=True, weight=channel.weight * BESIDE_FISHER) for channel in channels
    )
    return Recipe("+".join(map(_called, channels)), "", weighted, classifier=LINEAR)


def seconds_to_join(
    tried: Sequence[Recipe],
    given: Recipe,
    images: Images,
    views: tuple[str, ...] = (),
    n: int = BASES + WEIGHTS,
) -> float:
    """Return what given channels cost: alone, and n times beside the costliest recipe with views.

    Parameters
    ----------
    tried : recipes whose channels are known
    given : the recipe of the given channels alone
    images : those that both are tried on
    views : of images, that are added to recipes which have none
    n : how many recipes are tried with given channels beside others
    """
    most = 0.0
    for recipe in tried:
        base = replace(recipe, views=recipe.views or views)
        both = join(base, given)
        first = cost_of([both], images, known=[base, given])
        most = max(most, first + (n - 1) * cost_of([both], images, known=[both]))
    return cost_of([given], images) + most


def seconds_to_keep(
    tried: Sequence[Recipe], given: Recipe, images: Images, budget: float, with_views: bool
) -> float:
    """Return the part of a budget that is kept for given channels.

    It holds what is tried with them, and a recipe with views beside them if this is not much. The
    least is the given recipe alone and beside one other.
    """
    all_joins = seconds_to_join(tried, given, images)
    for views, n in WITH_VIEWS if with_views else ():
        seconds = max(all_joins, seconds_to_join(tried, given, images, views, n))
        if seconds <= FOR_VIEWS * budget:
            return seconds
    return max(
        seconds_to_join(tried, given, images, n=1),
        min(FOR_JOINS * budget, all_joins),
    )


def join(recipe: Recipe, given: Recipe) -> Recipe:
    """Return a recipe with given channels, in the form that its classifier takes."""
    linear = recipe.classifier == LINEAR
    factor = 1.0 if recipe.representation in ("fisher", "second-order") else 1 / BESIDE_FISHER
    more = tuple(
        replace(channel, linear=linear, weight=channel.weight * factor)
        for channel in given.channels
    )
    return replace(
        recipe,
        name=f"{recipe.name}+{given.name}",
        summary=f"{recipe.summary}; {given.name}",
        channels=recipe.channels + more,
    )


def changes_of_given(given: Recipe) -> list[Change]:
    """Return what is tried with given channels when a recipe was changed: adding and weighing."""
    return [partial(_joined, given=given), *weighings(given)]


def weighings(given: Recipe) -> list[Change]:
    """Return changes of a recipe in which given channels count less and more beside others."""
    return [partial(_weighed, given=given, factor=factor) for factor in FACTORS]


def _joined(recipe: Recipe, given: Recipe) -> Recipe | None:
    """Return a recipe with given channels, unless it has some of them."""
    known = list(map(_bare, given.channels))
    return None if any(_bare(c) in known for c in recipe.channels) else join(recipe, given)


def _weighed(recipe: Recipe, given: Recipe, factor: float) -> Recipe | None:
    """Return a recipe whose given channels, beside others, count more or less."""
    known = list(map(_bare, given.channels))
    is_given = [_bare(channel) in known for channel in recipe.channels]
    if all(is_given) or not any(is_given):
        return None
    channels = tuple(
        replace(channel, weight=channel.weight * factor) if it else channel
        for channel, it in zip(recipe.channels, is_given)
    )
    for before in WEIGHED.findall(recipe.name):
        factor *= float(before)
    name = WEIGHED.sub("", recipe.name) + ("" if factor == 1 else f" weight×{factor:g}")
    return replace(recipe, name=name, channels=channels)


def _bare(channel: Channel) -> Channel:
    """Return a channel whatever its weight and form."""
    return replace(channel, linear=False, weight=1.0)


def _called(channel: Channel) -> str:
    """Return the name of an extractor, or of a network's file, which is not that of a recipe."""
    path = channel.params.get("path")
    if path is None:
        return channel.extractor
    file = os.path.basename(path)
    name = os.path.splitext(file)[0]
    return file if name in RECIPES else name
