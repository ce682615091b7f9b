"""Choosing a recipe: channels of a library, weighed on folds; then one change at a time.

A budget buys a fixed plan of work: recorded costs (`visualwords.apps.pipeline.costs`), times the
number of images and their size. The search does not look at the clock, so that the same images and
budget give the same choice on any machine, busy or idle. A deadline is the limit by the clock.

1. Channels are taken from the library while half of the budget holds them. All are encoded in one
   pass, of many images on a sample.
2. Their weights are chosen on folds (`mixing`); a channel may get none.
3. The best recipe is changed, one thing at a time: an SVM instead of ridge regression, C, class
   weights, views of training images, a channel more, another size. What is ahead by more than
   noise is kept, until the budget is used or nothing helps.

Recipes whose kernels can't be added up (words, pyramid match) are tried one after the other.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

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
from visualwords.apps.pipeline.duplicates import look_steps, looked_at
from visualwords.apps.pipeline.encoder import ChannelEncoder, weigh_side_by_side
from visualwords.apps.pipeline.metric import METRICS, Metric
from visualwords.apps.pipeline.mixing import Held, mix
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import LINEAR
from visualwords.apps.pipeline.stages import (
    Encoded,
    Environment,
    chosen_images,
    encode,
    encode_each,
    learn,
)
from visualwords.apps.pipeline.training import divisions_of, n_divisions, train
from visualwords.apps.pipeline.view import MIRROR, ROTATIONS, View
from visualwords.classifiers.row_file import RowFile
from visualwords.classifiers.solvers.byte_rows import products_of
from visualwords.errors import FolderError, Skipped

NAME = "auto mix"  # of the recipe that is found
FOR_CHANNELS = 0.5  # of the budget, for the channels of the first pass
SAMPLES = (2000, 1000, 500)  # images that are searched on, if there are more
FEWEST = 20  # images of a class of a sample, if it has so many
LATER = 3.0  # budgets that the training on all images may take after a search on a sample
SIDES = (640, 480, 320, 240)  # pixels that images are shrunk to, the first that leaves time
SMALL, ENLARGED = 64, 96  # images up to the one are enlarged to the other
ENLARGEABLE = 160  # images whose longer side is shorter may gain by twice the size
SMALLER = 0.75  # of the size; patches see more of the image, and it costs less
USUAL_C, FACTORS = 10.0, (0.1, 10.0)
MIXED_IMAGES = 600  # whose channels are mixed, at most
MIXED_A_SECOND = 1.4e9  # cubes of images whose channels are mixed, times channels
MOST_ROWS = 4000  # originals and views, for whose products there is memory
LEAST_LEAD = 1.0  # standard errors: what a costlier recipe must be ahead
LEAST_LIKELIHOOD_LEAD = 0.5  # standard errors of log-likelihoods, where labels differ by chance
LEAST_CHANCE = 1e-3  # smaller probabilities of the true class count as this
BUFFER = 64  # images whose rows are written at once


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
    change: Callable[[Recipe], Recipe]


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
    encoders, encoded : of all images; None where the search saw a sample of them
    """

    recipe: Recipe
    figures: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    cut_off: list[str] = field(default_factory=list)
    encoders: list[ChannelEncoder] | None = None
    encoded: Encoded | None = None


class Result(NamedTuple):
    """What a recipe reached on folds, in the mean over several divisions of few images.

    Attributes
    ----------
    figure : float
        Of the metric.
    gains : (n,) what the prediction of each image adds to the merit
    likelihoods : (n,) logarithms of the probability of its class
    strata : (n,) images whose means count alike
    """

    figure: float
    gains: np.ndarray
    likelihoods: np.ndarray
    strata: np.ndarray

    @classmethod
    def of(cls, metric: Metric, scores: Sequence[np.ndarray], truth: np.ndarray) -> "Result":
        """The result of held-out scores, of one or several divisions into folds."""
        chances = [metric.probabilities(one, truth) for one in scores]
        gains = np.mean([metric.gains(one, truth) for one in chances], axis=0)
        of_truth = [np.maximum(one[np.arange(len(truth)), truth], LEAST_CHANCE) for one in chances]
        likelihoods = np.log(of_truth).mean(axis=0)
        return cls(metric.figure(gains, truth), gains, likelihoods, metric.strata(truth))

    def leads(self, cheaper: "Result") -> bool:
        """Whether this costlier recipe is ahead of a cheaper one by more than noise.

        Predictions are paired by image. Labels of few images are too noisy to decide: where the
        lead is inside their noise, the probabilities of the true classes decide, which differ for
        every image. Otherwise the cheaper recipe stays.
        """
        lead, error = paired_lead(self.gains, cheaper.gains, self.strata)
        if abs(lead) > LEAST_LEAD * error:
            return lead > 0
        lead, error = paired_lead(self.likelihoods, cheaper.likelihoods, self.strata)
        return lead > LEAST_LIKELIHOOD_LEAD * error


def paired_lead(one: np.ndarray, other: np.ndarray, strata: np.ndarray) -> tuple[float, float]:
    """The mean over strata of the means of paired differences, and its standard error."""
    codes = np.unique(strata, return_inverse=True)[1]
    counts, differences = np.bincount(codes), one - other
    means = np.bincount(codes, differences) / counts
    squares = np.bincount(codes, (differences - means[codes]) ** 2) / counts
    return float(means.mean()), float(np.sqrt((squares / counts).sum()) / len(counts))


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


def try_recipes(
    candidates: Sequence[Recipe], data: Dataset, wanted: Wanted, env: Environment
) -> Choice:
    """Try recipes one after the other, the cheapest first, as many as the budget holds."""
    images, clock = Images.of(data, env.max_pixels), _Clock(wanted, env)
    ordered = sorted(map(wanted.change, candidates), key=lambda recipe: cost_of(recipe, images))
    choice: Choice | None = None
    best: Result | None = None
    failure = FolderError("no recipe could be trained")
    for recipe in ordered:
        seconds, begun = cost_of(recipe, images), perf_counter()
        if choice is not None and not clock.allows(seconds):
            break
        if choice is not None and clock.is_late(seconds):
            choice.cut_off.append(recipe.name)
            continue
        clock.show(f"recipe {recipe.name}")
        try:
            encoders = learn(recipe.channels, data, recipe.view, env, wanted.seed)
            encoded = encode(recipe, encoders, data, env, look_steps())
            part, _ = looked_at(data, encoded)
            folds = divisions_of(part, wanted.seed, 1)
            how = {"seed": wanted.seed, "class_weight": wanted.class_weight}
            _, scores = train(
                recipe, encoded.rows, part, env, folds=folds[0] if folds else None, **how
            )
        except FolderError as problem:  # the images may be too small for its patches
            failure = problem
            continue
        clock.spent += seconds
        metric = wanted.metric(part)
        result = None if scores is None else Result.of(metric, [scores], part.codes)
        if choice is None or result is None or best is None or result.leads(best):
            known = choice or Choice(recipe)
            choice = replace(known, recipe=recipe, encoders=encoders, encoded=encoded)
            best = result
        if result is not None:
            _note(choice, metric, f"recipe {recipe.name}", recipe.name, result, begun, env)
    if choice is None:
        raise failure
    return choice


def _note(
    choice: Choice,
    metric: Metric,
    title: str,
    name: str,
    result: Result,
    begun: float,
    env: Environment,
) -> None:
    seconds = perf_counter() - begun
    choice.figures[name], choice.seconds[name] = result.figure, seconds
    shown = metric.shown(result.figure)
    env.progress.note(f"{title}: {shown} by cross-validation, {seconds:.1f} s")


def find_mixture(
    library: Sequence[Channel], data: Dataset, wanted: Wanted, env: Environment, given: int = 0
) -> Choice:
    """Combine channels of a library for a linear classifier, as the budget allows.

    Parameters
    ----------
    library : channels, in the order in which they are added
    data : Dataset
    wanted : Wanted
    env : Environment
    given : int
        How many channels, the first ones, are to be tried whatever they cost.
    """
    images = Images.of(data, env.max_pixels)
    if images.grey:
        library = [channel for channel in library if not sees_colors(channel)]
    plan = make_plan(library, images, wanted, given)
    env.progress.note(plan.describe(images, wanted.budget, METRICS[wanted.metric(data).name]))
    whole = plan.n_images == images.n
    part = data if whole else data.part(some_images(data, plan.n_images, wanted.seed))
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="visualwords-"))
        search = _Search(part, images.some(plan.n_images), wanted, env, Path(folder))
        search.begin(plan, given)
        if search.best is not None:
            search.improve(library)
        choice = search.choice
        if whole:
            choice.encoders, choice.encoded = search.chosen()
    return choice


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


def make_plan(library: Sequence[Channel], images: Images, wanted: Wanted, given: int) -> Plan:
    """The channels that a part of the budget holds, the size of images, and how many are seen.

    The largest images and the largest sample are taken that leave room for most channels.
    """
    sizes = [n for n in SAMPLES if n < images.n] or [images.n]
    if images.n <= SAMPLES[0]:
        sizes = [images.n]
    best: Plan | None = None
    for n in sizes:
        for side in SIDES:
            size = {"max_side": side}
            if images.longer_side <= SMALL:
                size["min_side"] = ENLARGED
            plan = _fill(library, images, n, wanted, given, size)
            if best is None or len(plan.recipe.channels) > len(best.recipe.channels):
                best = plan
    assert best is not None
    return best


def _fill(
    library: Sequence[Channel],
    images: Images,
    n: int,
    wanted: Wanted,
    given: int,
    size: dict[str, int],
) -> Plan:
    """The plan of as many channels as fit, the first of them always."""
    some, chosen, seconds = images.some(n), list(library[: max(given, 1)]), 0.0
    for channel in [None, *library[len(chosen) :]]:
        more = [*chosen, channel] if channel is not None else chosen
        recipe = wanted.change(_mixture(more, size))
        cost = cost_of_encoding(recipe.channels, some, recipe.view)
        cost += cost_of_products(recipe.channels, n) + _cost_of_mixing(len(more), n)
        cost += cost_of_solving(n, some)
        later = n == images.n or cost_of(recipe, images) <= LATER * wanted.budget
        if channel is None or (cost <= FOR_CHANNELS * wanted.budget and later):
            chosen, seconds = more, cost
    return Plan(wanted.change(_mixture(chosen, size)), n, seconds)


def _mixture(channels: Sequence[Channel], size: dict[str, int]) -> Recipe:
    ridge = replace(LINEAR, params={"loss": "squared_error"})
    return Recipe(NAME, "", tuple(channels), classifier=ridge, **size)


def _cost_of_mixing(n_channels: int, n_images: int) -> float:
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


class _Search:
    """The search among mixtures: encoded channels, and the best recipe.

    Rows of channels are in files, their products in memory.
    """

    def __init__(
        self, data: Dataset, images: Images, wanted: Wanted, env: Environment, folder: Path
    ):
        self.data, self.images, self.wanted = data, images, wanted
        self.env, self.folder, self.clock = env, folder, _Clock(wanted, env)
        self.encoders: dict[str, ChannelEncoder] = {}
        self.rows: dict[str, RowFile] = {}
        self.products: dict[str, np.ndarray] = {}
        self.skipped: list[Skipped] = []
        self.looks: list[list[np.ndarray]] = []
        self.kept = np.arange(len(data))
        self.divisions: list[np.ndarray] = []
        self.choice = Choice(Recipe(NAME))
        self.best: Result | None = None

    def begin(self, plan: Plan, given: int) -> None:
        """Encode the channels of a plan, and take the mixture that folds prefer."""
        begun = perf_counter()
        self.clock.show(f"{len(plan.recipe.channels)} channels")
        every = self.data
        self.encode(plan.recipe.channels, plan.recipe.view, first=True)
        self.data, _ = looked_at(every, Encoded(None, self.kept, self.skipped, self.looks))
        self.metric = self.wanted.metric(self.data)
        n = n_divisions(len(self.data))
        self.divisions = divisions_of(self.data, self.wanted.seed, n)
        self.clock.spent += plan.seconds
        self.choice.recipe = plan.recipe
        if self.divisions:  # else nothing can be compared, and all channels are taken
            recipe = self.mixed(plan.recipe, given=given)
            self.take("channels", recipe, self.result(recipe), begun)

    def encode(self, channels: Sequence[Channel], view: View, first: bool = False) -> None:
        """Encode the images in a view by those channels that have not been, in one pass."""
        upright = replace(view, turn=0)
        new = {_key(c, view): c for c in channels if _key(c, view) not in self.rows}
        learning = [c for c in new.values() if _key(c, upright) not in self.encoders]
        for encoder in learn(learning, self.data, upright, self.env, self.wanted.seed):
            self.encoders[_key(encoder.channel, upright)] = encoder
        encoders = [self.encoders[_key(c, upright)] for c in new.values()]
        files = [RowFile(self.folder / f"rows{len(self.rows) + i}") for i in range(len(new))]
        self.rows |= dict(zip(new, files))
        kept, waiting = [], []
        stream = encode_each(encoders, self.data, view, self.env, look_steps() if first else ())
        for position, made in enumerate(stream):
            if not isinstance(made, Skipped):
                kept.append(position)
                waiting.append(made)
            elif first:
                self.skipped.append(made)
            else:  # it could be read before
                raise made.error()
            if len(waiting) == BUFFER:
                self.write(files, waiting)
        self.write(files, waiting)
        if first:
            self.kept = np.array(kept, np.intp)
        if not view.turn:
            for key in new:
                self.products[key] = self.product(key).astype(np.float32)

    def write(self, files: Sequence[RowFile], waiting: list[list[np.ndarray]]) -> None:
        """Write the rows of some images, and keep what else was made of them."""
        for arrays in waiting:
            for number, array in enumerate(arrays[len(files) :]):
                if number == len(self.looks):
                    self.looks.append([])
                self.looks[number].append(array)
        for number, file in enumerate(files if waiting else ()):
            rows = [arrays[number] for arrays in waiting]
            if len({len(row) for row in rows} | {file.shape[1] or len(rows[0])}) > 1:
                raise FolderError("an extractor gives rows of different lengths; resize the images")
            file.append(np.stack(rows))
        waiting.clear()

    def product(self, *keys: str) -> np.ndarray:
        """The products of all rows of a channel, in one or several views."""
        files = [self.rows[key] for key in keys]
        if not files[0].shape[1]:
            return np.zeros((sum(map(len, files)),) * 2)
        return products_of(np.concatenate([file[:] for file in files]), self.env.n_jobs)

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
        kernels = [self.products[_key(c, recipe.view)][inside].astype(float) for c in channels]
        means = np.array([max(float(np.diagonal(one).mean()), 1e-9) for one in kernels])
        shares = np.array([channel.weight**2 for channel in channels]) * means
        shares[len(channels) - new :] = 0
        starts = [shares / shares.sum()] + [np.eye(len(channels))[g] for g in range(given)]
        held = Held(part.codes, divisions)
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
            keys = [_key(channel, view) for view in views]
            product = self.products[keys[0]] if len(views) == 1 else self.product(*keys)
            total += channel.weight**2 * product
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
        _note(self.choice, self.metric, name, name, result, begun, self.env)
        if self.best is not None and not result.leads(self.best):
            return False
        self.best, self.choice.recipe = result, recipe
        return True

    def improve(self, library: Sequence[Channel]) -> None:
        """Change the best recipe, one thing at a time, until the budget is used."""
        tried: set[str] = set()
        improved = True
        while improved:
            improved = False
            for name, change in self.changes(library):
                if self.best is not None and self.best.figure == (self.metric.name != "cost"):
                    return  # nothing can be better
                recipe = change(self.choice.recipe)
                if recipe is None or repr((name, recipe)) in tried:
                    continue
                new = len(recipe.channels) - len(self.choice.recipe.channels)
                seconds = self.cost(recipe, new)
                if not self.clock.allows(seconds) or not self.fits(recipe):
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
            self.encode(recipe.channels, view)
        self.clock.spent += seconds
        if new:
            channels = recipe.channels[:-new]
            recipe = self.mixed(replace(recipe, views=()), new=new)
            recipe = replace(recipe, views=self.choice.recipe.views)
            if recipe.channels[-1].unweighted in [c.unweighted for c in channels]:
                return False  # its weight stays 0
        return self.take(name, recipe, self.result(recipe), begun)

    def changes(self, library: Sequence[Channel]) -> Iterator[tuple[str, Any]]:
        """The names of changes, and functions of a recipe; None where there is nothing to change."""
        yield "svm", lambda r: _with_loss(r, "squared_hinge")
        yield "balanced", _balanced
        for factor in FACTORS:
            yield f"C={USUAL_C * factor:g}", lambda r, f=factor: _with_cost(r, USUAL_C * f)
        if self.wanted.with_views:
            yield MIRROR, lambda r: _with_view(r, MIRROR)
        for channel in library:
            yield f"+{channel.short_name}", lambda r, c=channel: _with_channel(r, c)
        if self.wanted.with_views:
            yield ROTATIONS, lambda r: _with_view(r, ROTATIONS)
        yield "larger images", lambda r: _larger(r, self.images)
        yield "smaller images", lambda r: _smaller(r, self.images)

    def cost(self, recipe: Recipe, new: int) -> float:
        """Seconds of the plan that a recipe takes, beside what is encoded already."""
        seconds, views = 0.0, recipe.image_views()
        for view in views:
            channels = [c for c in recipe.channels if _key(c, view) not in self.rows]
            if channels:
                learned = bool(view.turn)
                seconds += cost_of_encoding(channels, self.images, view, learned)
                seconds += cost_of_products(channels, self.images.n)
        n_rows = self.images.n * len(views)
        if len(views) > 1:
            seconds += cost_of_products(recipe.channels, n_rows)
        seconds += _cost_of_mixing(len(recipe.channels), self.images.n) * 0.25 * bool(new)
        return seconds + cost_of_solving(n_rows, self.images)

    def fits(self, recipe: Recipe) -> bool:
        """Whether there is memory for its products, and time to train it on all images."""
        return self.images.n * len(recipe.image_views()) <= MOST_ROWS

    def chosen(self) -> tuple[list[ChannelEncoder], Encoded]:
        """The encoders of the chosen recipe, and its rows, from their files."""
        recipe = self.choice.recipe
        upright = recipe.view
        encoders = [self.encoders[_key(c, upright)].of(c) for c in recipe.channels]
        n, views = len(self.kept), recipe.image_views()
        widths = [self.rows[_key(c, upright)].shape[1] for c in recipe.channels]
        rows = np.empty((n * len(views), sum(widths)), np.int8)
        for number, view in enumerate(views):
            start = 0
            for channel, width in zip(recipe.channels, widths):
                place = slice(number * n, (number + 1) * n), slice(start, start + width)
                rows[place] = self.rows[_key(channel, view)][:]
                start += width
        weigh_side_by_side(rows, encoders, widths)
        return encoders, Encoded(rows, self.kept, self.skipped, self.looks)


def _key(channel: Channel, view: View) -> str:
    """What distinguishes the channels of all recipes, and what they make of views."""
    return repr((channel.unweighted, view))


# Changes of a recipe


def _with_loss(recipe: Recipe, loss: str) -> Recipe | None:
    known = recipe.classifier.params.get("loss") == loss
    return None if known else recipe.with_classifier(loss=loss)


def _balanced(recipe: Recipe) -> Recipe | None:
    if "class_weight" in recipe.classifier.params:
        return None
    return recipe.with_classifier(class_weight="balanced")


def _with_cost(recipe: Recipe, cost: float) -> Recipe | None:
    return None if recipe.classifier.C is not None else recipe.with_classifier(C=cost)


def _with_view(recipe: Recipe, kind: str) -> Recipe | None:
    return None if kind in recipe.views else replace(recipe, views=(*recipe.views, kind))


def _with_channel(recipe: Recipe, channel: Channel) -> Recipe | None:
    if channel.unweighted in [known.unweighted for known in recipe.channels]:
        return None
    return replace(recipe, channels=(*recipe.channels, channel))


def _larger(recipe: Recipe, images: Images) -> Recipe | None:
    """Large images less shrunk, or small ones in twice their size."""
    longer, most = images.longer_side, recipe.max_side
    if most is not None and most < min(longer, SIDES[0]):
        return replace(recipe, max_side=min(2 * most, SIDES[0]))
    if recipe.min_side is not None or longer >= ENLARGEABLE:
        return None
    side = round(2 * longer)
    return replace(recipe, min_side=side, max_side=None if most is None else max(side, most))


def _smaller(recipe: Recipe, images: Images) -> Recipe | None:
    """Images shrunk, or shrunk further, if they are not small then."""
    side = round(SMALLER * min(images.longer_side, recipe.max_side or SIDES[0]))
    if recipe.min_side is not None or side < ENLARGEABLE:
        return None
    return replace(recipe, max_side=side)
