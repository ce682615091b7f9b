"""What "auto" changes in the best of the recipes: the size of images, channels, copies, C."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from visualwords.apps.pipeline.recipe import Channel, Recipe
from visualwords.apps.pipeline.recipes import LINEAR, MORE_HISTOGRAMS, MORE_LINEAR
from visualwords.apps.pipeline.search.costs import Images
from visualwords.apps.pipeline.view import MIRROR, ROTATIONS

SMALL = 64  # pixels: images whose longer side is shorter have few patches
ENLARGED = 96
USUAL_C = {LINEAR: 10.0, "ICDClassifier": 1e-3}
FACTORS = (0.1, 10.0)  # of C

Change = Callable[[Recipe], Recipe | None]  # None: there is nothing to change


def sized_for(recipe: Recipe, images: Images) -> Recipe:
    """Return a recipe that enlarges small images, unless it says what to do with them."""
    is_given = recipe.min_side is not None or (recipe.max_side or ENLARGED) < ENLARGED
    if is_given or images.longer_side >= SMALL:
        return recipe
    return replace(recipe, min_side=ENLARGED)


def changes(candidates: Sequence[Recipe], with_copies: bool = True) -> list[Change]:
    """Return what is tried on the best of the candidates, each once, in this order.

    Channels are only of kinds that the candidates have, so that a search among words stays one.
    Copies are left out where they were asked for, or can't be trained on.
    """
    kinds = {channel.representation for recipe in candidates for channel in recipe.channels}
    found: list[Change] = [
        partial(_with_channel, linear=linear, vector=vector)
        for linear, vector in zip(MORE_LINEAR, MORE_HISTOGRAMS)
        if linear.representation in kinds
    ]
    if with_copies and not any(recipe.copies for recipe in candidates):
        found += [partial(_with_copies, kind=kind) for kind in (MIRROR, ROTATIONS)]
    return [*found, _balanced, *(partial(_with_cost, factor=factor) for factor in FACTORS)]


def _with_channel(recipe: Recipe, linear: Channel, vector: Channel | None) -> Recipe | None:
    """Return a recipe with one channel more, in the form that its classifier takes."""
    channel = linear if recipe.classifier == LINEAR else vector
    if channel is None or any(_kind(channel) == _kind(known) for known in recipe.channels):
        return None
    return replace(
        recipe,
        name=f"{recipe.name}+{'-'.join(part for part in _kind(channel) if part)}",
        summary=f"{recipe.summary}; {channel.described()}",
        channels=(*recipe.channels, channel),
    )


def _kind(channel: Channel) -> tuple[str | None, ...]:
    return channel.extractor, channel.representation, channel.params.get("color")


def _with_copies(recipe: Recipe, kind: str) -> Recipe:
    return replace(recipe, name=f"{recipe.name} {kind}", copies=(*recipe.copies, kind))


def _balanced(recipe: Recipe) -> Recipe | None:
    """Return a recipe whose classifier counts all classes alike."""
    if recipe.classifier not in USUAL_C or "class_weight" in recipe.classifier_params:
        return None
    params = {**recipe.classifier_params, "class_weight": "balanced"}
    return replace(recipe, name=f"{recipe.name} balanced", classifier_params=params)


def _with_cost(recipe: Recipe, factor: float) -> Recipe | None:
    usual = USUAL_C.get(recipe.classifier)
    if usual is None or "C" in recipe.classifier_params:
        return None
    cost = usual * factor
    params = {**recipe.classifier_params, "C": cost}
    return replace(recipe, name=f"{recipe.name} C={cost:g}", classifier_params=params)
