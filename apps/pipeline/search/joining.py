"""Channels that the user gives, such as networks, beside the best recipes of "auto".

They are tried alone with all other recipes, then beside the best of those without them. How much
they count there is chosen on folds, too: what is gained depends on it more than on anything else
(docs/networks.md).
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from visualwords.apps.pipeline.recipe import Channel, Recipe
from visualwords.apps.pipeline.recipes import LINEAR, RECIPES
from visualwords.apps.pipeline.search.costs import Images, cost_of
from visualwords.apps.pipeline.search.variations import Change

BESIDE_FISHER = 4.0  # weight of one vector beside Fisher vectors of 8 windows: half of the kernel
FACTORS = (0.5, 2.0)  # of the weight
BASES = 2  # recipes that given channels are added to


def alone(channels: Sequence[Channel]) -> Recipe:
    """Return the recipe of nothing but given channels, for a linear classifier."""
    weighted = tuple(
        replace(channel, linear=True, weight=channel.weight * BESIDE_FISHER) for channel in channels
    )
    return Recipe("+".join(map(_called, channels)), "", weighted, classifier=LINEAR)


def joins(ranked: Sequence[Recipe], given: Recipe) -> list[Change]:
    """Return what is tried with given channels, in this order.

    Parameters
    ----------
    ranked : recipes that were tried, the best first
    given : the recipe of the given channels alone
    """
    others = [recipe for recipe in ranked if recipe.name != given.name]
    return [
        *(partial(_beside, base=base, given=given) for base in others[:BASES]),
        *(partial(_reweighted, given=given, factor=factor) for factor in FACTORS),
    ]


def seconds_to_join(tried: Sequence[Recipe], given: Recipe, images: Images) -> float:
    """Return what all joins cost, if they are those of the costliest recipes that were tried."""
    costs = [cost_of([join(recipe, given)], images, known=[*tried, given]) for recipe in tried]
    return (BASES + len(FACTORS)) * max(costs)


def join(recipe: Recipe, given: Recipe) -> Recipe:
    """Return a recipe with given channels, in the form that its classifier takes."""
    linear = recipe.classifier == LINEAR
    factor = 1.0 if recipe.representation == "fisher" else 1 / BESIDE_FISHER
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


def _beside(_: Recipe, base: Recipe, given: Recipe) -> Recipe:
    return join(base, given)


def _reweighted(recipe: Recipe, given: Recipe, factor: float) -> Recipe | None:
    """Return a recipe whose given channels, beside others, count more or less."""
    n = len(given.channels)
    own, more = recipe.channels[:-n], recipe.channels[-n:]
    if not own or [c.params for c in more] != [c.params for c in given.channels]:
        return None
    weighted = tuple(replace(channel, weight=channel.weight * factor) for channel in more)
    return replace(recipe, name=f"{recipe.name} weight×{factor:g}", channels=own + weighted)


def _called(channel: Channel) -> str:
    """Return the name of an extractor, or of a network's file, which is not that of a recipe."""
    path = channel.params.get("path")
    if path is None:
        return channel.extractor
    file = os.path.basename(path)
    name = os.path.splitext(file)[0]
    return file if name in RECIPES else name
