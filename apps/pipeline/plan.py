"""What a budget is spent on first by "auto": which channels, at which size, on how many images."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from visualwords.apps.pipeline.channel import Channel
from visualwords.apps.pipeline.costs import (
    Images,
    cost_of,
    cost_of_encoding,
    cost_of_products,
    cost_of_solving,
)
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import LINEAR

NAME = "auto mix"  # of the recipe that is found
ESSENTIAL = 5  # channels, the first of the library, for which images are shrunk
FOR_CHANNELS = 0.6  # of the budget, for the channels of the first pass
SAMPLES = (2000, 1000, 500)  # images that are searched on, if there are more
FEWEST = 20  # images of a class of a sample, if it has so many
LATER = 3.0  # budgets that the training on all images may take after a search on a sample
SIDES = (640, 480, 320, 240)  # pixels that images are shrunk to, the first that leaves time
SMALL, ENLARGED = 64, 96  # images up to the one are enlarged to the other
MIXED_IMAGES = 600  # whose channels are mixed, at most
MIXED_A_SECOND = 1.4e9  # cubes of images whose channels are mixed, times channels

Change = Callable[[Recipe], Recipe]


class Plan(NamedTuple):
    """The first pass of a search: a recipe of all its channels, and on how many images."""

    recipe: Recipe
    n_images: int
    seconds: float

    def describe(self, images: Images, budget: float, metric: str) -> str:
        """What will be done, in a sentence."""
        names = ", ".join(channel.short_name for channel in self.recipe.channels)
        some = f" on {self.n_images:,} of the images" if self.n_images < images.n else ""
        line = f"auto weighs {names}{some}: about {max(1, self.seconds):.0f} s on two idle cores"
        line += f", then tries changes until {budget:.0f} s"
        if self.n_images < images.n:
            line += f", then trains on all {images.n:,}: up to {cost_of(self.recipe, images):.0f} s"
        return f"{line}; chosen by {metric} (--metric)"


def make_plan(
    library: Sequence[Channel], images: Images, budget: float, change: Change, given: int
) -> Plan:
    """The channels that a part of the budget holds, the size of images, and how many are seen.

    The largest images, and then the largest sample, are taken that leave room for the first
    `ESSENTIAL` channels.

    Parameters
    ----------
    library : channels, in the order in which they are added
    images : Images
    budget : float
        Seconds of the reference machine.
    change : function of a recipe → recipe
        Applies the settings that the user gave.
    given : int
        How many channels, the first ones, are taken whatever they cost.
    """
    sizes = [n for n in SAMPLES if n < images.n] if images.n > SAMPLES[0] else [images.n]
    plans = []
    for side in SIDES:
        for n in sizes:
            plans.append(_fill(library, images, n, budget, change, given, side))
            if len(plans[-1].recipe.channels) >= min(ESSENTIAL + given, len(library)):
                return plans[-1]
    return max(plans, key=lambda plan: len(plan.recipe.channels))


def _fill(
    library: Sequence[Channel],
    images: Images,
    n: int,
    budget: float,
    change: Change,
    given: int,
    side: int,
) -> Plan:
    """The plan of as many channels as fit, the first of them always."""
    some, chosen = images.some(n), list(library[: max(given, 1)])
    for channel in [None, *library[len(chosen) :]]:
        more = [*chosen, channel] if channel is not None else chosen
        recipe = change(mixture_of(more, side))
        if images.longer_side <= SMALL and recipe.min_side is None:
            recipe = replace(recipe, min_side=min(ENLARGED, recipe.max_side or ENLARGED))
        view, *others = recipe.image_views()
        cost = cost_of_encoding(recipe.channels, some, view)
        cost += sum(cost_of_encoding(recipe.channels, some, it, learned=True) for it in others)
        cost += cost_of_products(recipe.channels, n) + cost_of_mixing(len(more), n)
        cost += cost_of_solving(n, some)
        later = n == images.n or cost_of(recipe, images) <= LATER * budget
        if channel is None or (cost <= FOR_CHANNELS * budget and later):
            chosen, plan = more, Plan(recipe, n, cost)
    return plan


def mixture_of(channels: Sequence[Channel], side: int) -> Recipe:
    """The recipe of channels with their own weights, and ridge regression."""
    ridge = replace(LINEAR, params={"loss": "squared_error"})
    return Recipe(NAME, "", tuple(channels), side, classifier=ridge)


def cost_of_mixing(n_channels: int, n_images: int) -> float:
    """Seconds of choosing the weights of channels on folds."""
    return n_channels * min(n_images, MIXED_IMAGES) ** 3 / MIXED_A_SECOND


def sees_colors(channel: Channel) -> bool:
    """Whether a channel describes colours, of which grey images have none."""
    is_color = channel.extractor in ("ColorHistogram", "ColorStatistics")
    return is_color or channel.params.get("color") is not None


def some_images(data: Dataset, n: int, seed: int) -> np.ndarray:
    """Positions of about n images, ascending: classes in proportion, groups whole.

    A class gets at least `FEWEST` images, so that its figure means something.
    """
    codes, order = data.codes, np.random.default_rng(seed).permutation(len(data))
    counts = np.bincount(codes)
    shares = np.maximum(np.ceil(counts * n / len(codes)), np.minimum(FEWEST, counts))
    chosen: list[int] = []
    for c, share in enumerate(shares):
        members: dict[str, list[int]] = {}
        for i in order[codes[order] == c].tolist():
            members.setdefault(data.group_names[i], []).append(i)
        taken: list[int] = []
        for group in members.values():
            if len(taken) < share:
                taken += group
        chosen += taken
    return np.sort(np.array(chosen, np.intp))
