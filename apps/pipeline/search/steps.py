"""The search of "auto": which recipe to try next, on how many images, until the budget is used.

It is a procedure of the candidates, the images and the budget alone, and of what recipes reached:
it knows no clock, and does no work itself.

1. The candidates that the budget holds are tried, cheapest first: on all images, or, of more than
   2,000, on a sample that is small enough for half of the budget. Where it does not hold those of
   `FIRST`, large images are shrunk further.
2. The best of them on a sample are tried on four times as many images.
3. The best recipe is changed, one thing at a time: channels are added, those that the user gives
   first, training images mirrored and rotated, C changed, more Gaussians or words learned, images
   seen in another size. What is ahead by more than noise is kept, and then all changes that are
   new to the recipe are tried again.
"""

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.search.costs import Images, bytes_of, cost_of
from visualwords.apps.pipeline.search.joining import joins, seconds_to_join
from visualwords.apps.pipeline.search.noise import Result, leads
from visualwords.apps.pipeline.search.variations import (
    Change,
    changes,
    for_grey_images,
    shrunk,
    sized_for,
)

SAMPLES = (2000, 1000, 500)  # images that recipes are ranked on, if there are more
GROWTH = 4  # of the sample, for the best
FIRST = ("tiny", "photo", "vivid", "scene")  # that a budget is spent on (accuracy.md)
THEN = ("combined", "rich", "object", "shape", "texture", "color", "fast", "words", "rich-words")
FOR_FIRST = 0.75  # of the budget; the rest is for changes, of which channels may gain most
FOR_RECIPES = 0.6  # of the budget, if there are more than the first
SIDES = (None, 480, 320, 240)  # pixels that images are shrunk to, the first that leaves time
FINALISTS = 3
MOST_BYTES = 1e9  # of rows, for a changed recipe
LATER = 3.0  # budgets that the training on all images may take after the search on samples


class Try(NamedTuple):
    """A recipe to train.

    Attributes
    ----------
    recipe : Recipe
    n_images : int
    until : float
        Seconds of the reference machine when it is done, from the beginning of the search.
    best : Recipe or None
        The one to take if this is not tried.
    waiting : list of Recipe
        Those of the same round that come after it.
    """

    recipe: Recipe
    n_images: int
    until: float
    best: Recipe | None
    waiting: list[Recipe]


Steps = Generator[Try, Result | None, Recipe | None]


@dataclass(frozen=True)
class Plan:
    """The first round of the search.

    Attributes
    ----------
    recipes : list of Recipe
        Those to try, cheapest first.
    seconds : list of float
        Seconds of the reference machine until each of them is done.
    left_out : list of Recipe
        Those that the budget has no room for.
    n_images : int
        That they are tried on.
    """

    recipes: list[Recipe]
    seconds: list[float]
    left_out: list[Recipe]
    n_images: int

    def describe(self, images: Images, budget: float) -> str:
        """Return what will be done, in a sentence."""
        names = ", ".join(recipe.name for recipe in self.recipes)
        some = f" on {self.n_images:,} of the images" if self.n_images < images.n else ""
        line = f"auto tries {names}{some}: about {max(1, self.seconds[-1]):.0f} s on two idle cores"
        line += f", then changes of the best until {budget:.0f} s"
        if self.n_images < images.n:
            longest = max(cost_of([recipe], images) for recipe in self.recipes)
            line += f", then trains it on all {images.n:,}: up to {longest:.0f} s more"
        if self.left_out:
            line += f"; too long for the budget: {', '.join(r.name for r in self.left_out)}"
        return line


def plan(candidates: Sequence[Recipe], images: Images, budget: float) -> Plan:
    """Return the recipes to try, cheapest first: as many as the budget holds, at least one.

    Of many images, the largest sample is taken that leaves half of the budget. The best is trained
    on all images after that; recipes for which this takes longer than `LATER` budgets are left out.
    """
    if images.grey:
        candidates = for_grey_images(candidates)
    candidates = _in_size([sized_for(recipe, images) for recipe in candidates], images, budget)
    if images.n <= SAMPLES[0] or cost_of(candidates, images) <= budget / 2:
        return _planned(candidates, images, budget)
    eligible = [recipe for recipe in candidates if cost_of([recipe], images) <= LATER * budget]
    if not eligible:
        return _planned(candidates, images, budget)
    fitting = [n for n in SAMPLES if cost_of(eligible, images.some(n)) <= budget / 2]
    planned = _planned(eligible, images.some(max(fitting, default=SAMPLES[-1])), budget / 2)
    too_long = [recipe for recipe in candidates if recipe not in eligible]
    return Plan(planned.recipes, planned.seconds, [*planned.left_out, *too_long], planned.n_images)


def _planned(candidates: Sequence[Recipe], images: Images, limit: float) -> Plan:
    """Return the recipes that a limit holds, in the order of `FIRST` and `THEN`, cheapest first."""
    ordered = _cheapest_first(candidates, images)
    chosen: list[Recipe] = []
    for recipe in sorted(ordered, key=_rank):
        more = [known for known in ordered if known in chosen or known is recipe]
        share = FOR_FIRST if _rank(recipe) < len(FIRST) else FOR_RECIPES
        if cost_of(more, images) <= share * limit:
            chosen = more
    chosen = chosen or ordered[:1]
    seconds = [cost_of(chosen[:number], images) for number in range(1, 1 + len(chosen))]
    return Plan(chosen, seconds, [recipe for recipe in ordered if recipe not in chosen], images.n)


def _cheapest_first(recipes: Sequence[Recipe], images: Images) -> list[Recipe]:
    return sorted(recipes, key=lambda recipe: cost_of([recipe], images))


def _rank(recipe: Recipe) -> int:
    """Return the place of a recipe when a budget is spent; those that are not ours come first."""
    name = re.split(r"[+ ]", recipe.name)[0]
    return (*FIRST, *THEN).index(name) if name in (*FIRST, *THEN) else -1


def _in_size(candidates: Sequence[Recipe], images: Images, budget: float) -> list[Recipe]:
    """Return recipes that see images in the largest size in which a budget holds the first ones.

    Many images are tried on a sample; then the training on all of them must be in time.
    """
    for side in SIDES:
        found = [shrunk(recipe, side) for recipe in candidates]
        first = _cheapest_first([r for r in found if _rank(r) < len(FIRST)], images)
        if images.n <= SAMPLES[0]:
            fits = cost_of(first, images) <= FOR_FIRST * budget
        else:
            fits = all(cost_of([recipe], images) <= LATER * budget for recipe in first)
        if fits:
            break
    return found


def plan_with(
    given: Recipe | None, candidates: Sequence[Recipe], images: Images, budget: float
) -> Plan:
    """Return a plan that leaves time to add the channels of a given recipe to the best."""
    planned = plan(candidates, images, budget)
    if given is None:
        return planned
    left = budget - seconds_to_join(planned.recipes, given, images.some(planned.n_images))
    return plan(candidates, images, max(left, budget / 2))


def search(
    planned: Plan,
    images: Images,
    budget: float,
    with_copies: bool = True,
    given: Recipe | None = None,
) -> Steps:
    """Yield recipes to try, take what each reached (None: it failed), and return the best.

    Parameters
    ----------
    planned : Plan
    images : Images
        All of them.
    budget : float
        Seconds of the reference machine.
    with_copies : bool
        Whether to try copies of training images.
    given : Recipe, optional
        One of the plan, whose channels are added to the best of the others.
    """
    round_ = _Round(images.some(planned.n_images))
    for number, (recipe, until) in enumerate(zip(planned.recipes, planned.seconds), start=1):
        result = yield Try(recipe, planned.n_images, until, round_.best, planned.recipes[number:])
        round_.add(recipe, result, until)
    if planned.n_images < images.n:
        round_ = yield from _finals(round_, images, budget)
    possible = changes(planned.recipes, images, with_copies)
    if given is not None:
        possible = [*joins(round_.ranked(), given), *possible]
    return (yield from _changed(round_, images, budget, possible))


@dataclass
class _Round:
    """Recipes that were tried on the same images, and the best of them."""

    images: Images
    spent: float = 0.0
    results: dict[str, tuple[Recipe, Result]] = field(default_factory=dict)
    best: Recipe | None = None

    def add(self, recipe: Recipe, result: Result | None, until: float) -> None:
        """Note what a recipe reached, costlier than those before it."""
        self.spent = until
        if result is None:
            return
        if self.best is None or leads(result, self.results[self.best.name][1]):
            self.best = recipe
        self.results[recipe.name] = recipe, result

    def ranked(self) -> list[Recipe]:
        """Return the recipes, the best first, then by merit."""
        found = sorted(self.results.values(), key=lambda pair: -pair[1].merit)
        found.sort(key=lambda pair: pair[0] != self.best)
        return [recipe for recipe, _ in found]

    @property
    def can_compare(self) -> bool:
        """Whether classes are large enough for folds."""
        return self.best is not None and self.results[self.best.name][1].figure is not None

    @property
    def can_gain(self) -> bool:
        """Whether folds could tell something better than the best: it makes errors."""
        if self.best is None or not self.can_compare:
            return False
        return not self.results[self.best.name][1].perfect


def _finals(
    ranking: _Round, images: Images, budget: float
) -> Generator[Try, Result | None, _Round]:
    """Try the best on more images, if the budget has room for the first and for another one."""
    more = images.some(ranking.images.n * GROWTH)
    finalists: list[Recipe] = []
    for recipe in ranking.ranked()[:FINALISTS] if ranking.can_compare else []:
        total = ranking.spent + cost_of([*finalists, recipe], more)
        if total <= budget:
            finalists.append(recipe)
        elif not finalists:
            break
    if len(finalists) < 2:
        return ranking
    found = _Round(more, ranking.spent)
    finalists.sort(key=lambda recipe: cost_of([recipe], more))
    for number, recipe in enumerate(finalists, start=1):
        until = ranking.spent + cost_of(finalists[:number], more)
        result = yield Try(recipe, more.n, until, found.best or ranking.best, finalists[number:])
        found.add(recipe, result, until)
    return ranking if found.best is None else found


def _changed(round_: _Round, images: Images, budget: float, possible: Sequence[Change]) -> Steps:
    """Try changes of the best recipe that the budget has room for, until none of them helps."""
    known = [recipe for recipe, _ in round_.results.values()]
    before = None
    while round_.best is not before:
        before = round_.best
        for change in possible:
            if round_.best is None or not round_.can_gain:
                return round_.best
            recipe = change(round_.best)
            if recipe is None or bytes_of(recipe, images) > MOST_BYTES or _is_one_of(known, recipe):
                continue
            until = round_.spent + cost_of([recipe], round_.images, known=known)
            later = 0.0 if round_.images.n == images.n else cost_of([recipe], images)
            if until > budget or later > LATER * budget:
                continue
            result = yield Try(recipe, round_.images.n, until, round_.best, [])
            round_.add(recipe, result, until)
            known.append(recipe)
    return round_.best


def _is_one_of(known: Sequence[Recipe], recipe: Recipe) -> bool:
    """Return whether a recipe was tried, under another name or in another order of channels."""
    return any(_essence(recipe) == _essence(one) for one in known)


def _essence(recipe: Recipe) -> Recipe:
    channels = tuple(sorted(recipe.channels, key=repr))
    return replace(recipe, name="", summary="", channels=channels)
