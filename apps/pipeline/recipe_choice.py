"""Choosing a recipe by cross-validation on the training images; test images are never seen.

A budget buys a fixed plan of work: recorded costs, times the number of images and their size. The
plan does not look at the clock, so that the same images and budget give the same choice on any
machine, busy or idle. A deadline is the limit by the clock.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from visualwords._decoding import size_in_header
from visualwords.apps.pipeline.contents import Content
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.metric import METRICS, Metric
from visualwords.apps.pipeline.recipe import Channel, Recipe
from visualwords.apps.pipeline.sampling import IMAGES, PATCHES
from visualwords.apps.pipeline.trained import Trained
from visualwords.apps.pipeline.training import Training
from visualwords.errors import FolderError, ImageError

CORES = 2  # of the reference machine, in whose seconds plans are made
SECONDS_TO_LEARN = 8.0  # words or Gaussians of one channel from a full sample, by one core
COSTS_ARE_FOR = 0.075  # megapixels: a channel's cost is that of an image of 300×250
PATCHES_OF_A_MEGAPIXEL = 62_500  # one every four pixels, or at four scales every eight
MS_TO_DECODE = 10.0  # a megapixel of an image file
LOOKED_AT = 32  # images whose headers are read


@dataclass(frozen=True)
class Images:
    """What the cost of a recipe depends on.

    Attributes
    ----------
    n : int
    sizes_wh : sizes of some of them
    """

    n: int
    sizes_wh: tuple[tuple[int, int], ...] = ((300, 250),)

    @classmethod
    def of(cls, data: Dataset, max_pixels: int) -> "Images":
        """Read the headers of some images, the same ones every time."""
        some = np.linspace(0, len(data) - 1, min(LOOKED_AT, len(data))).astype(int)
        sizes = [_size_of(data.contents[i], max_pixels) for i in some]
        return cls(len(data), tuple(size for size in sizes if size is not None) or cls.sizes_wh)

    def megapixels(self, max_side: int | None = None) -> float:
        """Return the mean size, in megapixels, after images were shrunk to a longer side."""
        sizes = np.array(self.sizes_wh, float)
        longer = sizes.max(axis=1)
        scale = np.ones(len(sizes)) if max_side is None else np.minimum(1, max_side / longer)
        return float((sizes.prod(axis=1) * scale**2).mean() / 1e6)


def _size_of(content: Content, max_pixels: int) -> tuple[int, int] | None:
    if isinstance(content.source, np.ndarray):
        return content.source.shape[1], content.source.shape[0]
    try:
        return size_in_header(content.read(), max_pixels)
    except ImageError:
        return None


@dataclass(frozen=True)
class Plan:
    """The recipes to try, cheapest first.

    Attributes
    ----------
    recipes : list of Recipe
    seconds : list of float
        Estimated seconds of the reference machine until each of them is done.
    left_out : list of Recipe
        Those that the budget has no room for.
    """

    recipes: list[Recipe]
    seconds: list[float]
    left_out: list[Recipe]

    def __str__(self) -> str:
        names = ", ".join(recipe.name for recipe in self.recipes)
        line = f"auto tries {names}: about {self.seconds[-1]:.0f} s on two idle cores"
        if self.left_out:
            line += f"; too long for the budget: {', '.join(r.name for r in self.left_out)}"
        return line


@dataclass(frozen=True)
class Choice:
    """The best recipe, trained, and what each that was tried reached.

    Attributes
    ----------
    best : Trained
    figures : dict of recipe name → what the metric gives for the folds
    seconds : dict of recipe name → seconds of the clock that it took
    cut_off : names of recipes that the deadline left no time for
    repeated_by : float or None
        The budget that tries the same recipes without a deadline, where there is one.
    """

    best: Trained
    figures: dict[str, float]
    seconds: dict[str, float]
    cut_off: list[str]
    repeated_by: float | None


def estimate(channels: Iterable[tuple[Channel, int | None]], images: Images) -> float:
    """Return the seconds that the reference machine needs for channels, by what was recorded.

    Parameters
    ----------
    channels : pairs of a channel and the longer side that images are shrunk to
    images : Images
    """
    return sum(_of_channel(channel, side, images) for channel, side in channels) / CORES


def _of_channel(channel: Channel, max_side: int | None, images: Images) -> float:
    """Return the seconds of one core: images of the sample are read twice."""
    size = images.megapixels(max_side)
    each = (channel.cost * size / COSTS_ARE_FOR + MS_TO_DECODE * images.megapixels()) / 1000
    if not channel.learns:
        return images.n * each
    share = min(1.0, images.n * size * PATCHES_OF_A_MEGAPIXEL / PATCHES)
    return (images.n + min(images.n, IMAGES)) * each + SECONDS_TO_LEARN * share


def plan(candidates: Sequence[Recipe], images: Images, budget: float) -> Plan:
    """Return the recipes to try, cheapest first: as many as the budget holds, at least one.

    A channel that several recipes share counts once. The plan depends on the number of images and
    their sizes, not on the machine, its load, the number of jobs or what is cached.
    """
    ordered = sorted(candidates, key=lambda recipe: estimate(_channels([recipe]), images))
    chosen: list[Recipe] = []
    seconds: list[float] = []
    left_out: list[Recipe] = []
    for recipe in ordered:
        total = estimate(_channels([*chosen, recipe]), images)
        if chosen and total > budget:
            left_out.append(recipe)
            continue
        chosen.append(recipe)
        seconds.append(total)
    return Plan(chosen, seconds, left_out)


def _channels(recipes: Iterable[Recipe]) -> list[tuple[Channel, int | None]]:
    """Return the different channels of recipes."""
    pairs = [(channel, recipe.max_side) for recipe in recipes for channel in recipe.channels]
    return list({repr(pair): pair for pair in pairs}.values())


def choose_recipe(
    candidates: Sequence[Recipe],
    training: Training,
    budget: float,
    deadline: float | None,
    metric: Metric,
) -> Choice:
    """Train the recipes of the `plan` on the images, and return the best by a metric.

    Words are learned from all training images, independently of their labels; classifiers are
    tried on folds, which are the same for all recipes and keep groups together. A tie goes to the
    cheaper recipe. With a class of fewer than two images nothing can be compared, and the last
    recipe of the plan, the richest, is taken.

    Parameters
    ----------
    candidates : recipes to try
    training : Training
    budget : float
        Seconds of the reference machine.
    deadline : float, optional
        Seconds of the clock. No recipe is begun that would last longer, by the speed of those
        before it; the first always is.
    metric : Metric
    """
    images = Images.of(training.data, training.env.max_pixels)
    planned, progress = plan(candidates, images, budget), training.env.progress
    progress.note(f"{planned}; chosen by {METRICS[metric.name]} (--metric)")
    start = perf_counter()
    best: Trained | None = None
    highest = float("-inf")
    figures: dict[str, float] = {}
    seconds: dict[str, float] = {}
    cut_off: list[str] = []
    done = 0.0  # seconds of the reference machine
    for number, (recipe, until) in enumerate(zip(planned.recipes, planned.seconds), start=1):
        before = perf_counter()
        slowness = (before - start) / done if done else 1.0
        end = before - start + slowness * (until - done)
        if best is not None and deadline is not None and end > deadline:
            cut_off = [late.name for late in planned.recipes[number - 1 :]]
            break
        left = slowness * (planned.seconds[-1] - done)
        progress.status(_status(number, planned, best, figures, metric, left))
        try:
            trained = training.train(recipe)
        except FolderError as problem:  # the images may be too small for its patches
            failure = problem
            continue
        seconds[recipe.name], done = perf_counter() - before, until
        figure = metric.of(trained)
        if figure is not None:
            figures[recipe.name] = figure
            progress.note(
                f"recipe {recipe.name}: {metric.shown(figure)} by cross-validation, "
                f"{seconds[recipe.name]:.1f} s"
            )
        # Where nothing can be compared, the costliest recipe, which is the richest, is taken.
        merit = recipe.cost if figure is None else metric.merit(figure)
        if merit > highest:
            best, highest = trained, merit
    if best is None:
        raise failure
    training.chosen, training.skipped = best, best.skipped
    repeated_by = _repeating(candidates, images, planned, len(cut_off)) if cut_off else None
    return Choice(best, figures, seconds, cut_off, repeated_by)


def _status(
    number: int,
    planned: Plan,
    best: Trained | None,
    figures: dict[str, float],
    metric: Metric,
    left: float,
) -> str:
    line = f"recipe {number} of {len(planned.recipes)}: {planned.recipes[number - 1].name}"
    if best is not None and best.recipe.name in figures:
        line += f" · best so far {best.recipe.name} {metric.shown(figures[best.recipe.name])}"
    return f"{line} · about {left:.0f} s left"


def _repeating(
    candidates: Sequence[Recipe], images: Images, planned: Plan, n_cut_off: int
) -> float | None:
    """Return the budget whose plan ends where the deadline did; None if there is none.

    There is none where a cheaper recipe than the first that was cut off comes after it.
    """
    done, following = planned.seconds[-n_cut_off - 1], planned.seconds[-n_cut_off]
    budget = round((done + following) / 2, 4)
    same = plan(candidates, images, budget).recipes == planned.recipes[:-n_cut_off]
    return budget if same else None
