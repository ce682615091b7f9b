"""Choosing a recipe: channels of a library, weighed on folds; then one change at a time.

A budget buys a fixed plan of work: recorded costs (`visualwords.apps.pipeline.costs`), times the
number of images and their size. The search does not look at the clock, so that the same images and
budget give the same choice on any machine, busy or idle. A deadline is the limit by the clock.

1. Channels are taken from the library while a part of the budget holds them (`make_plan`). All are
   encoded in one pass; of many images, a sample is.
2. Their weights are chosen on folds (`mixing`); a channel may get none.
3. The best recipe is changed, one thing at a time: an SVM instead of ridge regression, C, class
   weights, views of training images, a channel more. What is ahead by more than noise is kept,
   until the budget is used or nothing helps.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from visualwords.apps.pipeline.channel import Channel
from visualwords.apps.pipeline.costs import (
    Images,
    check_looking,
    cost_of,
    cost_of_encoding,
    cost_of_products,
    cost_of_solving,
)
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.metric import METRICS, Metric, Result
from visualwords.apps.pipeline.mixing import Held, mix
from visualwords.apps.pipeline.near_duplicates import look_steps, looked_at
from visualwords.apps.pipeline.networks import pin_networks
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import LIBRARY, LINEAR
from visualwords.apps.pipeline.row_store import RowStore
from visualwords.apps.pipeline.stages import (
    Encoded,
    Environment,
    chosen_images,
)
from visualwords.apps.pipeline.training import divisions_of, n_divisions
from visualwords.apps.pipeline.view import VIEWS

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
USUAL_C, FACTORS = 10.0, (0.1, 10.0)
BESIDE_PATCHES = 4.0  # weight of a given vector beside Fisher vectors, to begin with
MOST_ROWS = 3000  # originals and views, for whose products there is memory


Change = Callable[[Recipe], Recipe]


@dataclass(frozen=True)
class Wanted:
    """What is asked of a search.

    Attributes
    ----------
    budget : float
        Seconds of the reference machine.
    deadline : float or None
        Seconds of the clock.
    metric : function of a Dataset → Metric
    seed : int
    class_weight : dict, "balanced" or None
    with_views : bool
        Whether views of training images may be trained on.
    change : function of a recipe → recipe
        Applies the settings that the user gave.
    """

    budget: float
    deadline: float | None
    metric: Callable[[Dataset], Metric]
    seed: int
    class_weight: Any
    with_views: bool
    change: Change


@dataclass
class Choice:
    """The best recipe, and what each that was tried reached.

    Attributes
    ----------
    recipe : Recipe
    figures : dict of a recipe or change → what the metric gives for the folds
    seconds : dict of the same → seconds of the clock
    cut_off : list of str
        What the deadline left no time for.
    encoded : all images; None where the search saw a sample of them
    """

    recipe: Recipe
    figures: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    cut_off: list[str] = field(default_factory=list)
    encoded: Encoded | None = None


class _Clock:
    """The seconds of the plan that are spent, and those of the clock that they took."""

    def __init__(self, wanted: Wanted, env: Environment):
        self.wanted, self.env = wanted, env
        self.start, self.spent = perf_counter(), 0.0

    def allows(self, seconds: float) -> bool:
        """Whether the budget holds so many more seconds."""
        return self.spent + seconds <= self.wanted.budget

    def is_late(self, seconds: float) -> bool:
        """Whether so many more seconds of the plan would end after the deadline."""
        passed = perf_counter() - self.start
        slowness = passed / self.spent if self.spent else 1.0
        deadline = self.wanted.deadline
        return deadline is not None and passed + slowness * seconds > deadline

    def show(self, line: str) -> None:
        """Show what is tried, and the time that is left."""
        passed = perf_counter() - self.start
        slowness = passed / self.spent if self.spent else 1.0
        left = slowness * max(self.wanted.budget - self.spent, 0)
        self.env.progress.status(f"{line} · about {left:.0f} s left")


def find_mixture(
    channels: Sequence[Channel], data: Dataset, wanted: Wanted, env: Environment, folder: Path
) -> Choice:
    """Combine channels of the library for a linear classifier, as the budget allows.

    Parameters
    ----------
    channels : more of them, such as networks, which are tried whatever they cost
    data : Dataset
    wanted : Wanted
    env : Environment
    folder : Path
        For the rows, which training needs too.
    """
    check_looking(data)
    own = pin_networks(Recipe(channels=tuple(channels), classifier=LINEAR)).channels
    own = tuple(replace(channel, weight=channel.weight * BESIDE_PATCHES) for channel in own)
    library, given = [*own, *LIBRARY], len(own)
    images = Images.of(data, env.max_pixels)
    if images.grey:
        library = [channel for channel in library if not sees_colors(channel)]
    plan = make_plan(library, images, wanted.budget, wanted.change, given)
    env.progress.note(plan.describe(images, wanted.budget, METRICS[wanted.metric(data).name]))
    whole = plan.n_images == images.n
    part = data if whole else data.part(some_images(data, plan.n_images, wanted.seed))
    search = _Search(RowStore(part, folder, env, wanted.seed), wanted, env)
    looked = search.begin(plan, images.some(plan.n_images), given)
    search.improve(library)
    choice = search.choice
    if whole:
        choice.encoded = search.store.encoded(choice.recipe, looked)
    return choice


class _Search:
    """The search among mixtures of encoded channels, and the best recipe."""

    def __init__(self, store: RowStore, wanted: Wanted, env: Environment):
        self.store, self.wanted, self.env = store, wanted, env
        self.clock, self.choice = _Clock(wanted, env), Choice(Recipe(NAME))
        self.best: Result | None = None  # None where nothing can be compared

    @property
    def recipe(self) -> Recipe:
        """The best recipe so far."""
        return self.choice.recipe

    def begin(self, plan: "Plan", images: Images, given: int) -> Encoded:
        """Encode the channels of a plan, and take the mixture that folds prefer."""
        begun = perf_counter()
        self.clock.show(f"channels to weigh: {len(plan.recipe.channels)}")
        view, *others = plan.recipe.image_views()
        looked = self.store.encode(plan.recipe.channels, view, look_steps())
        for other in others:
            self.store.encode(plan.recipe.channels, other)
        self.data, _ = looked_at(self.store.data, looked)
        self.images, self.metric = images, self.wanted.metric(self.data)
        n = n_divisions(len(self.data))
        self.divisions = divisions_of(self.data, self.wanted.seed, n)
        self.clock.spent += plan.seconds
        self.choice.recipe = plan.recipe
        if self.divisions:  # else nothing can be compared, and all channels are taken
            recipe = self.mixed(plan.recipe, given=given)
            self.take("channels", recipe, self.result(recipe), begun)
        return looked

    def mixed(self, recipe: Recipe, given: int = 0, new: int = 0) -> Recipe:
        """The recipe with the weights that folds prefer; the last ``new`` channels begin with 0.

        The heaviest of its channels of patches keeps its weight. Views have no part in it.
        """
        channels, data = recipe.channels, self.data
        some = np.arange(len(data))
        if len(data) > MIXED_IMAGES:
            some = chosen_images(data.codes, self.wanted.seed, MIXED_IMAGES)
        part = data.part(some)
        divisions = divisions_of(part, self.wanted.seed, n_divisions(len(part)))
        if not divisions:
            return recipe
        inside = np.ix_(some, some)
        kernels = [self.store.products(c, [recipe.view])[inside].astype(float) for c in channels]
        means = np.array([max(float(np.diagonal(one).mean()), 1e-9) for one in kernels])
        shares = np.array([channel.weight**2 for channel in channels]) * means
        shares[len(channels) - new :] = 0
        starts = [shares / shares.sum()] + [np.eye(len(channels))[g] for g in range(given)]
        held = Held(part.codes, divisions, part.weights)
        shares = mix([one / mean for one, mean in zip(kernels, means)], starts, held)
        weights = np.sqrt(shares / means)
        heaviest = max(np.flatnonzero(shares), key=lambda k: (channels[k].learns, shares[k]))
        weights *= channels[heaviest].weight / weights[heaviest]
        kept = tuple(
            replace(channel, weight=round(float(weight), 4))
            for channel, weight in zip(channels, weights)
            if round(float(weight), 4) > 0
        )
        summary = "; ".join(channel.described() for channel in kept)
        return replace(recipe, channels=kept, summary=summary)

    def result(self, recipe: Recipe) -> Result:
        """What a recipe whose channels are encoded reaches on folds."""
        views, n = recipe.image_views(), len(self.data)
        total = np.zeros((n * len(views),) * 2)
        for channel in recipe.channels:
            total += channel.weight**2 * self.store.products(channel, views)
        labels = np.tile(self.data.labels, len(views))
        weights, scores = self.data.weights, []
        how = {} if weights is None else {"sample_weight": np.tile(weights, len(views))}
        self.env.progress.start("comparing on folds", len(self.divisions))
        for folds in self.divisions:
            classifier = recipe.build_classifier(
                self.wanted.seed, self.env.n_jobs, self.wanted.class_weight
            )
            every = np.tile(folds, len(views))
            scores.append(classifier.fit_on_products(total, labels, every, **how)[0][:n])
            self.env.progress.advance()
        return Result.of(self.metric, scores, self.data.codes)

    def take(self, name: str, recipe: Recipe, result: Result, begun: float) -> bool:
        """Note a result; the recipe becomes the best if it is ahead by more than noise."""
        choice, seconds = self.choice, perf_counter() - begun
        choice.figures[name], choice.seconds[name] = result.figure, seconds
        shown = self.metric.shown(result.figure)
        self.env.progress.note(f"{name}: {shown} by cross-validation, {seconds:.1f} s")
        if self.best is not None and not result.leads(self.best):
            return False
        self.best, self.choice.recipe = result, recipe
        return True

    def improve(self, library: Sequence[Channel]) -> None:
        """Change the best recipe, one thing at a time, until the budget is used."""
        tried: set[str] = set()
        improved = self.best is not None
        while improved:
            improved = False
            for name, recipe in self.changes(library):
                if self.best is not None and self.best.figure == (self.metric.name != "cost"):
                    return  # nothing can be better
                if recipe == self.recipe or repr((name, recipe)) in tried:
                    continue
                new = len(recipe.channels) - len(self.recipe.channels)
                seconds = self.cost(recipe, new)
                is_large = self.images.n * len(recipe.image_views()) > MOST_ROWS
                if is_large or not self.clock.allows(seconds):
                    continue
                if self.clock.is_late(seconds):
                    self.choice.cut_off.append(name)
                    continue
                tried.add(repr((name, recipe)))
                improved |= self.try_change(name, recipe, new, seconds)

    def try_change(self, name: str, recipe: Recipe, new: int, seconds: float) -> bool:
        """Try one change; whether it is taken."""
        begun, best = perf_counter(), self.best
        assert best is not None
        self.clock.show(f"{name} · best so far {self.metric.shown(best.figure)}")
        for view in recipe.image_views():
            self.store.encode(recipe.channels, view)
        self.clock.spent += seconds
        if new:
            channels = recipe.channels[:-new]
            recipe = self.mixed(replace(recipe, views=()), new=new)
            recipe = replace(recipe, views=self.recipe.views)
            if recipe.channels[-1].unweighted in [c.unweighted for c in channels]:
                return False  # its weight stays 0
        return self.take(name, recipe, self.result(recipe), begun)

    def changes(self, library: Sequence[Channel]) -> Iterator[tuple[str, Recipe]]:
        """The names of changes, and what each makes of the best recipe at that moment."""
        yield "svm", self.recipe.with_classifier(loss="squared_hinge")
        for kind in VIEWS if self.wanted.with_views else ():
            yield kind, replace(self.recipe, views=(*self.recipe.views, kind))
        yield "balanced", self.recipe.with_classifier(class_weight="balanced")
        for factor in FACTORS:
            if self.recipe.classifier.C is None:
                cost = USUAL_C * factor
                yield f"C={cost:g}", self.recipe.with_classifier(C=cost)
        for channel in library:
            if channel.unweighted not in [known.unweighted for known in self.recipe.channels]:
                more = (*self.recipe.channels, channel)
                yield f"+{channel.short_name}", replace(self.recipe, channels=more)

    def cost(self, recipe: Recipe, new: int) -> float:
        """Seconds of the plan that a recipe takes, beside what is encoded already."""
        seconds, views = 0.0, recipe.image_views()
        for view in views:
            channels = [c for c in recipe.channels if not self.store.has(c, view)]
            if channels:
                learned = bool(view.turn)
                seconds += cost_of_encoding(channels, self.images, view, learned)
                seconds += cost_of_products(channels, self.images.n)
        n_rows = self.images.n * len(views)
        if len(views) > 1:
            seconds += cost_of_products(recipe.channels, n_rows)
        seconds += cost_of_mixing(len(recipe.channels), self.images.n) * 0.25 * bool(new)
        return seconds + cost_of_solving(n_rows, self.images)


# The first pass


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
