"""Running the search of "auto" on training images; test images are never seen.

A budget buys a fixed plan of work: recorded costs, times the number of images and their size. The
search does not look at the clock, so that the same images and budget give the same choice on any
machine, busy or idle. A deadline is the limit by the clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from time import perf_counter

from visualwords.apps.pipeline.metric import METRICS, Metric
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.search.costs import Images
from visualwords.apps.pipeline.search.mixing import mixed
from visualwords.apps.pipeline.search.noise import Result
from visualwords.apps.pipeline.search.planning import Plan, plan_with
from visualwords.apps.pipeline.search.sample import some_images
from visualwords.apps.pipeline.search.steps import Try, search
from visualwords.apps.pipeline.trained import Trained
from visualwords.apps.pipeline.training import Training
from visualwords.errors import FolderError


@dataclass(frozen=True)
class Choice:
    """The best recipe, and what each that was tried reached.

    Attributes
    ----------
    recipe : Recipe
    figures : dict of recipe name → what the metric gives for the folds, of the last try
    seconds : dict of recipe name → seconds of the clock that it took
    cut_off : names of recipes that the deadline left no time for
    repeated_by : float or None
        The budget that tries the same recipes without a deadline, where there is one.
    """

    recipe: Recipe
    figures: dict[str, float]
    seconds: dict[str, float]
    cut_off: list[str]
    repeated_by: float | None


def choose_recipe(
    candidates: Sequence[Recipe],
    training: Training,
    budget: float,
    deadline: float | None,
    metric: Metric,
    with_views: bool = True,
    given: Recipe | None = None,
    grey: bool = False,
) -> Choice:
    """Search for the best recipe by a metric (`visualwords.apps.pipeline.search.steps`).

    Words are learned from all images of a try, independently of their labels; classifiers are
    tried on folds, which are the same for all recipes and keep groups together. With a class of
    fewer than two images nothing can be compared, and the last recipe of the plan, the richest, is
    taken. A recipe that was trained on all images is left in ``training.chosen``.

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
    with_views : bool
        Whether to try views of training images.
    given : Recipe, optional
        One of the candidates, whose channels are tried after the others, and beside their best.
    grey : bool
        Whether no image has colours.
    """
    images = replace(Images.of(training.data, training.env.max_pixels), grey=grey)
    planned = plan_with(given, candidates, images, budget, with_views)
    training.env.progress.note(
        f"{planned.describe(images, budget)}; chosen by {METRICS[metric.name]} (--metric)"
    )
    trials = _Trials(training, metric, planned)
    steps, late = search(planned, images, budget, with_views), None
    result: Result | None = None
    best: Recipe | None = None
    while late is None:
        try:
            step = steps.send(result)
        except StopIteration as end:
            best = end.value
            break
        if deadline is not None and step.best is not None and trials.end_of(step) > deadline:
            late, best = step, step.best
        else:
            result = trials.run(step)
    if best is None:
        raise trials.failure
    chosen = trials.of_all_images.get(best.name)
    if chosen is not None:
        training.chosen = training.finish(chosen)
        training.skipped = chosen.skipped
    return Choice(
        best,
        trials.figures,
        trials.seconds,
        [] if late is None else [recipe.name for recipe in (late.recipe, *late.waiting)],
        None if late is None else _repeating(candidates, images, trials, with_views, given),
    )


class _Trials:
    """Recipes that were trained, and how long that took."""

    def __init__(self, training: Training, metric: Metric, planned: Plan):
        self.training, self.metric, self.planned = training, metric, planned
        self.start = perf_counter()
        self.done = 0.0  # seconds of the reference machine
        self.results: dict[tuple[str, int], Result | None] = {}
        self.figures: dict[str, float] = {}
        self.seconds: dict[str, float] = {}
        self.of_all_images: dict[str, Trained] = {}
        self.failure = FolderError("no recipe could be trained")
        self._parts = {len(training.data): training}

    def end_of(self, step: Try) -> float:
        """Return the seconds of the clock when a try would end, by the speed of those before."""
        return self._clock_at(step.until)

    def _clock_at(self, seconds: float) -> float:
        """Return the seconds of the clock when those of the reference machine will have passed."""
        passed = perf_counter() - self.start
        slowness = passed / self.done if self.done else 1.0
        return passed + slowness * (seconds - self.done)

    def run(self, step: Try) -> Result | None:
        """Train a recipe; return what it reached, None where the images are not for it."""
        recipe, begun, progress = step.recipe, perf_counter(), self.training.env.progress
        progress.status(self._status(step))
        if step.n_images == len(self.training.data):  # models may be large
            self.of_all_images = {
                name: one
                for name, one in self.of_all_images.items()
                if step.best is not None and name == step.best.name
            }
        result = None
        try:
            part = self._part(step.n_images)
            found = mixed(recipe, step.others, part) if step.mixes else recipe
            if found is not None:  # else nothing is gained by other channels or weights
                trained = part.try_recipe(found)
                result = Result.of(trained, self.metric)
                self._note(trained, result, step.n_images, perf_counter() - begun)
        except FolderError as problem:  # the images may be too small for its patches
            self.failure = problem
        self.results[recipe.name, step.n_images], self.done = result, step.until
        return result

    def _note(self, trained: Trained, result: Result, n_images: int, seconds: float) -> None:
        name = trained.recipe.name
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        if n_images == len(self.training.data):
            self.of_all_images[name] = trained
        if result.figure is None:
            return
        self.figures[name] = result.figure
        some = f" on {n_images:,} images" if n_images < len(self.training.data) else ""
        self.training.env.progress.note(
            f"recipe {name}: {self.metric.shown(result.figure)} by cross-validation{some}, "
            f"{seconds:.1f} s"
        )

    def _part(self, n_images: int) -> Training:
        """Return the training of so many of the images."""
        if n_images not in self._parts:
            some = some_images(self.training.data, n_images, self.training.seed)
            self._parts[n_images] = self.training.part(some)
        return self._parts[n_images]

    def _status(self, step: Try) -> str:
        number, n_planned = len(self.results) + 1, len(self.planned.recipes)
        of_all = f" of {n_planned}" if number <= n_planned else ""
        line = f"recipe {number}{of_all}: {step.recipe.name}"
        if step.best is not None and step.best.name in self.figures:
            best = self.metric.shown(self.figures[step.best.name])
            line += f" · best so far {step.best.name} {best}"
        end = max(step.until, self.planned.seconds[-1])
        left = self._clock_at(end) - (perf_counter() - self.start)
        return f"{line} · about {left:.0f} s left"


def _repeating(
    candidates: Sequence[Recipe],
    images: Images,
    trials: _Trials,
    with_views: bool,
    given: Recipe | None,
) -> float | None:
    """Return the budget whose search ends where the deadline did; None if there is none."""
    budget = ceil(trials.done * 1e4) / 1e4  # leaves no time for anything else
    planned = plan_with(given, candidates, images, budget, with_views)
    steps, result = search(planned, images, budget, with_views), None
    tried: list[tuple[str, int]] = []
    while True:
        try:
            step = steps.send(result)
        except StopIteration:
            return budget if tried == list(trials.results) else None
        tried.append((step.recipe.name, step.n_images))
        if tried[-1] not in trials.results:
            return None
        result = trials.results[tried[-1]]
