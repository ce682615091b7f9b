"""What "auto" changes in the best of the recipes: loss, channels, views, C, Gaussians, sizes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from visualwords.apps.pipeline.recipe import Channel, Recipe, SecondOrder
from visualwords.apps.pipeline.recipes import (
    FILTER_MAGNITUDES,
    LINEAR,
    MORE_HISTOGRAMS,
    MORE_LINEAR,
    PATCH_COLORS,
)
from visualwords.apps.pipeline.search.costs import Images, ms_of_logarithms
from visualwords.apps.pipeline.view import MIRROR, ROTATIONS

SMALL = 64  # pixels: images whose longer side is shorter have few patches
ENLARGED = 96
USUAL_SIDE = 640  # pixels: the `max_side` of recipes that do not say another
ENLARGEABLE = 160  # pixels: images whose longer side is shorter may gain by twice the size
SMALLER = 0.75  # of the size; patches see more of the image, and it costs less
MORE_GAUSSIANS = 1.3  # times the cost of a channel that has twice as many
USUAL_C = {LINEAR: 10.0, "ICDClassifier": 1e-3}
FACTORS = (0.1, 10.0)  # of C
MOST_CHANNELS = 8  # of a recipe, of which each is left out once

Change = Callable[[Recipe], Recipe | None]  # None: there is nothing to change


def sized_for(recipe: Recipe, images: Images) -> Recipe:
    """Return a recipe that enlarges small images, unless it says what to do with them."""
    is_given = recipe.min_side is not None or (recipe.max_side or ENLARGED) < ENLARGED
    if is_given or images.longer_side >= SMALL:
        return recipe
    return replace(recipe, min_side=ENLARGED)


def shrunk(recipe: Recipe, side: int | None) -> Recipe:
    """Return a recipe that shrinks images to a side, unless it has a size of its own."""
    if side is None or recipe.max_side != USUAL_SIDE:
        return recipe
    return replace(recipe, max_side=max(side, recipe.min_side or side))


def for_grey_images(recipes: Sequence[Recipe]) -> list[Recipe]:
    """Return recipes without channels that describe colours of patches, each once.

    Histograms of colours stay: they are those of brightness, and cost little.
    """
    found: dict[str, Recipe] = {}
    for recipe in recipes:
        left = tuple(channel for channel in recipe.channels if not _sees_colors(channel))
        if any(c.learns for c in recipe.channels) and not any(c.learns for c in left):
            continue  # nothing is left of its patches
        if left != recipe.channels:
            recipe = replace(recipe, name=f"{recipe.name} in grey", channels=left)
        found.setdefault(repr((left, recipe.classifier)), recipe)
    return list(found.values())


def _sees_colors(channel: Channel) -> bool:
    return channel.extractor == PATCH_COLORS.extractor or channel.params.get("color") is not None


def changes(
    candidates: Sequence[Recipe], images: Images, with_views: bool = True, in_haste: bool = False
) -> list[Change]:
    """Return what is tried on the best of the candidates, each once, in this order.

    Channels are only of kinds that the candidates have, so that a search among words stays one.
    Copies are left out where they were asked for, or can't be trained on. In haste, second moments
    of filters are the first channel: of what costs as little, they gain most on most sets.
    """
    kinds = {channel.representation for recipe in candidates for channel in recipe.channels}
    *first, color_filters, centrist, colors = [
        partial(_with_channel, linear=linear, vector=vector)
        if linear.representation in kinds and not (images.grey and _sees_colors(linear))
        else _unchanged
        for linear, vector in zip(MORE_LINEAR, MORE_HISTOGRAMS)
    ]
    moments: list[Change] = [with_filter_moments, with_second_order]
    if not images.grey:
        moments.insert(1, with_color_moments)
    found: list[Change] = [_as_regression, *first, *moments]
    if in_haste:
        found = [_as_regression, moments[0], *first, *moments[1:]]
    found += [partial(_without_channel, number=number) for number in reversed(range(MOST_CHANNELS))]
    if with_views and not any(recipe.views for recipe in candidates):
        found += [partial(_with_views, kind=kind) for kind in (MIRROR, ROTATIONS)]
    found += [_balanced, *(partial(_with_cost, factor=factor) for factor in FACTORS)]
    found += [color_filters, centrist, colors, _finer]
    return [*found, *(partial(size, images=images) for size in (_in_smaller_size, _in_larger_size))]


def _unchanged(recipe: Recipe) -> None:
    """Return None: what the candidates have nothing of is not added."""


def _with_channel(recipe: Recipe, linear: Channel, vector: Channel | None) -> Recipe | None:
    """Return a recipe with one channel more, in the form that its classifier takes."""
    channel = linear if recipe.classifier == LINEAR else vector
    if channel is None or any(kind_of(channel) == kind_of(known) for known in recipe.channels):
        return None
    return replace(
        recipe,
        name=f"{recipe.name}+{_called(channel)}",
        summary=f"{recipe.summary}; {channel.described()}",
        channels=(*recipe.channels, channel),
    )


def with_second_order(recipe: Recipe) -> Recipe | None:
    """Return a recipe with second moments of the patches that its first Fisher vectors are of."""
    beside = next((channel for channel in recipe.channels if channel.fisher is not None), None)
    return None if beside is None else _with_moments(recipe, beside, "second-order")


def with_filter_moments(recipe: Recipe) -> Recipe | None:
    """Return a recipe with second moments of responses to filters."""
    return _with_moments(recipe, FILTER_MAGNITUDES, "filter-moments")


def with_color_moments(recipe: Recipe) -> Recipe | None:
    """Return a recipe with second moments of colours in the cells of patches."""
    return _with_moments(recipe, PATCH_COLORS, "color-moments")


def _with_moments(recipe: Recipe, of: Channel, called: str) -> Recipe | None:
    """Return a recipe with second moments of the patches of a Fisher channel, in its windows."""
    parts = [channel.fisher or channel.second_order for channel in recipe.channels]
    windows = next((part for part in parts if part is not None), None)
    if windows is None or recipe.classifier != LINEAR:
        return None
    part = SecondOrder(pyramid=windows.pyramid, weights=windows.weights)
    cost = of.cost + ms_of_logarithms(part)
    channel = replace(of, fisher=None, second_order=part, cost=cost)
    if any(kind_of(channel) == kind_of(known) for known in recipe.channels):
        return None
    return replace(
        recipe,
        name=f"{recipe.name}+{called}",
        summary=f"{recipe.summary}; {channel.described()}",
        channels=(*recipe.channels, channel),
    )


def _without_channel(recipe: Recipe, number: int) -> Recipe | None:
    """Return a recipe with one channel less; where channels are mixed, that was tried already."""
    is_one = number >= len(recipe.channels) or len(recipe.channels) == 1
    if is_one or recipe.classifier == LINEAR:
        return None
    left = _called(recipe.channels[number])
    channels = (*recipe.channels[:number], *recipe.channels[number + 1 :])
    return replace(recipe, name=f"{recipe.name} without {left}", channels=channels)


def _called(channel: Channel) -> str:
    return "-".join(part for part in kind_of(channel)[:3] if part)


def kind_of(channel: Channel) -> tuple[str | None, ...]:
    """Return what distinguishes channels that a recipe may have beside each other."""
    color, network = channel.params.get("color"), channel.params.get("path")
    return channel.extractor, channel.representation, color, network


def _with_views(recipe: Recipe, kind: str) -> Recipe:
    return replace(recipe, name=f"{recipe.name} {kind}", views=(*recipe.views, kind))


def _as_regression(recipe: Recipe) -> Recipe | None:
    """Return a recipe whose linear classifier is a ridge regression, not an SVM."""
    if recipe.classifier != LINEAR or "loss" in recipe.classifier_params:
        return None
    params = {**recipe.classifier_params, "loss": "squared_error"}
    return replace(recipe, name=f"{recipe.name} ridge", classifier_params=params)


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


def _finer(recipe: Recipe) -> Recipe | None:
    """Return a recipe with twice the Gaussians or words in the first channel that has some."""
    for number, channel in enumerate(recipe.channels):
        if channel.fisher is None and channel.words is None:
            continue
        fisher, words = channel.fisher, channel.words
        if fisher is not None:
            fisher = replace(fisher, n_gaussians=2 * fisher.n_gaussians)
        if words is not None:
            words = replace(words, n_words=2 * words.n_words)
        more = replace(channel, fisher=fisher, words=words, cost=MORE_GAUSSIANS * channel.cost)
        channels = (*recipe.channels[:number], more, *recipe.channels[number + 1 :])
        return replace(recipe, name=f"{recipe.name} finer", channels=channels)
    return None


def _in_smaller_size(recipe: Recipe, images: Images) -> Recipe | None:
    """Return a recipe that shrinks images, or shrinks them further, if they are not small then."""
    side = round(SMALLER * min(images.longer_side, recipe.max_side or USUAL_SIDE))
    if recipe.min_side is not None or side < ENLARGEABLE:
        return None
    return replace(recipe, name=f"{recipe.name} {side} pixels", max_side=side)


def _in_larger_size(recipe: Recipe, images: Images) -> Recipe | None:
    """Return a recipe that sees shrunk images less shrunk, or small ones in twice their size."""
    longer = images.longer_side
    if recipe.max_side is not None and recipe.max_side < min(longer, USUAL_SIDE):
        side = 2 * recipe.max_side if 2 * recipe.max_side < longer else USUAL_SIDE
        return replace(recipe, name=f"{recipe.name} {side} pixels", max_side=side)
    if recipe.min_side is not None or longer >= ENLARGEABLE:
        return None
    side = round(2 * longer)
    most = None if recipe.max_side is None else max(side, recipe.max_side)
    return replace(recipe, name=f"{recipe.name} {side} pixels", min_side=side, max_side=most)
