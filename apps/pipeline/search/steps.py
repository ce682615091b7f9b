"""The search of "auto": which recipe to try next, on how many images, until the budget is used.

It is a procedure of the candidates, the images and the budget alone, and of what recipes reached:
it knows no clock, and does no work itself.

1. The candidates that the budget holds are tried, cheapest first: on all images, or, of more than
   2,000, on a sample that is small enough for half of the budget. Where it does not hold those of
   `FIRST`, large images are shrunk further.
2. The best of them on a sample are tried on four times as many images.
3. The best recipe is changed, one thing at a time: channels are added, training images mirrored and
   rotated, C changed, more Gaussians or words learned, images seen in another size. What is ahead
   by more than noise is kept, and then all changes that are new to the recipe are tried again.
4. Channels that the user gives have a part of the budget that all this leaves (`Plan.kept`). They
   are tried alone, beside the best recipe and beside the second of the candidates, there with
   half and twice the weight, again while this helps; then the best of all is changed as before.
"""

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.search.costs import Images, bytes_of, cost_of
from visualwords.apps.pipeline.search.joining import (
    FOR_JOINS,
    changes_of_given,
    join,
    seconds_to_keep,
    weighings,
)
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
SHARES = 20  # of the budget: steps in which time is kept for given channels
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
    n_more : int
        Images that the best of them are tried on after that; as many where there are no more.
    side : int or None
        Pixels that large images are shrunk to, None if they are not.
    given : Recipe or None
        The recipe of channels that the user gives, which is tried when the best of the others has
        been found, then beside it.
    kept : float
        Seconds of the budget that are kept for this.
    """

    recipes: list[Recipe]
    seconds: list[float]
    left_out: list[Recipe]
    n_images: int
    n_more: int
    side: int | None = None
    given: Recipe | None = None
    kept: float = 0.0

    def describe(self, images: Images, budget: float) -> str:
        """Return what will be done, in a sentence."""
        names = ", ".join(recipe.name for recipe in self.recipes)
        some = f" on {self.n_images:,} of the images" if self.n_images < images.n else ""
        line = f"auto tries {names}{some}: about {max(1, self.seconds[-1]):.0f} s on two idle cores"
        line += f", then changes of the best until {budget - self.kept:.0f} s"
        possible = list(self.recipes)
        if self.given is not None:
            alone = cost_of([self.given], images.some(self.n_more))
            line += f", then {self.given.name} alone ({max(1, alone):.0f} s), beside the best"
            line += f" and with changes until {budget:.0f} s"
            both = [join(recipe, self.given) for recipe in self.recipes]
            possible += [self.given, *(r for r in both if _is_in_time(r, images, budget))]
        if self.n_images < images.n:
            longest = max(cost_of([recipe], images) for recipe in possible)
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
    candidates = [sized_for(recipe, images) for recipe in candidates]
    side = _side_for(candidates, images, budget)
    candidates = [shrunk(recipe, side) for recipe in candidates]
    if images.n <= SAMPLES[0] or cost_of(candidates, images) <= budget / 2:
        return replace(_planned(candidates, images, budget), side=side)
    eligible = [recipe for recipe in candidates if _is_in_time(recipe, images, budget)]
    if not eligible:
        return replace(_planned(candidates, images, budget), side=side)
    fitting = [n for n in SAMPLES if cost_of(eligible, images.some(n)) <= budget / 2]
    planned = _planned(eligible, images.some(max(fitting, default=SAMPLES[-1])), budget / 2)
    too_long = [recipe for recipe in candidates if recipe not in eligible]
    return replace(
        planned,
        left_out=[*planned.left_out, *too_long],
        n_more=images.some(GROWTH * planned.n_images).n,
        side=side,
    )


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
    left_out = [recipe for recipe in ordered if recipe not in chosen]
    return Plan(chosen, seconds, left_out, images.n, images.n)


def _is_in_time(recipe: Recipe, images: Images, budget: float) -> bool:
    """Return whether a recipe could be trained on all images after a search on samples."""
    return cost_of([recipe], images) <= LATER * budget


def _cheapest_first(recipes: Sequence[Recipe], images: Images) -> list[Recipe]:
    return sorted(recipes, key=lambda recipe: cost_of([recipe], images))


def _rank(recipe: Recipe) -> int:
    """Return the place of a recipe when a budget is spent; those that are not ours come first."""
    name = re.split(r"[+ ]", recipe.name)[0]
    return (*FIRST, *THEN).index(name) if name in (*FIRST, *THEN) else -1


def _side_for(candidates: Sequence[Recipe], images: Images, budget: float) -> int | None:
    """Return the largest size of images, in pixels, in which a budget holds the first recipes.

    Many images are tried on a sample; then the training on all of them must be in time.
    """
    for side in SIDES:
        found = [shrunk(recipe, side) for recipe in candidates]
        first = _cheapest_first([r for r in found if _rank(r) < len(FIRST)], images)
        if images.n <= SAMPLES[0]:
            fits = cost_of(first, images) <= FOR_FIRST * budget
        else:
            fits = all(_is_in_time(recipe, images, budget) for recipe in first)
        if fits:
            break
    return side


def plan_with(
    given: Recipe | None,
    candidates: Sequence[Recipe],
    images: Images,
    budget: float,
    with_copies: bool = True,
) -> Plan:
    """Return a plan that keeps time for the channels of a given recipe, one of the candidates.

    The others have the rest of the budget, and are planned as if there were no more. What is kept
    is as little as holds the given channels beside what is planned then; where this leaves no time
    for any other recipe, the given one is left out.
    """
    others = [recipe for recipe in candidates if recipe is not given]
    if given is None or not others:
        return plan(candidates, images, budget)
    kept = 0.0
    while kept <= FOR_FIRST * budget:
        planned = plan(others, images, budget - kept)
        sized = shrunk(sized_for(given, images), planned.side)
        if planned.n_images < images.n and not _is_in_time(sized, images, budget):
            break
        for n in (planned.n_more, planned.n_images):  # as many as the best of the others see
            needed = seconds_to_keep(planned.recipes, sized, images.some(n), budget, with_copies)
            if needed <= FOR_JOINS * budget:
                break
        if needed <= kept and planned.seconds[-1] + kept <= budget:
            return replace(planned, n_more=n, given=sized, kept=kept)
        is_sure = planned.n_images == images.n and needed > kept  # samples need less if smaller
        kept = needed if is_sure else kept + budget / SHARES
    planned = plan(others, images, budget)
    return replace(planned, left_out=[*planned.left_out, given])


def search(planned: Plan, images: Images, budget: float, with_copies: bool = True) -> Steps:
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
    """
    given, first = planned.given, budget - planned.kept
    later = [] if given is None else [given]
    round_ = _Round(images.some(planned.n_images))
    for number, (recipe, until) in enumerate(zip(planned.recipes, planned.seconds), start=1):
        waiting = [*planned.recipes[number:], *later]
        result = yield Try(recipe, planned.n_images, until, round_.best, waiting)
        round_.add(recipe, result, until)
    if planned.n_images < planned.n_more:
        round_ = yield from _finals(round_, images.some(planned.n_more), first, later)
    second = round_.ranked()[1:2]
    possible = changes(planned.recipes, images, with_copies)
    yield from _changed(round_, images, first, possible, later)
    if given is not None:
        yield from _with_given(round_, images, budget, given, second)
        possible = changes([*planned.recipes, given], images, with_copies)
        yield from _changed(round_, images, budget, [*changes_of_given(given), *possible])
    return round_.best


@dataclass
class _Round:
    """Recipes that were tried on the same images, and the best of them.

    Attributes
    ----------
    images : Images
    spent : float
        Seconds of the reference machine, from the beginning of the search.
    known : list of Recipe
        All that were tried.
    results : dict of recipe name → recipe and what it reached, of those that did not fail
    best : Recipe or None
    rivals : list of Recipe
        Those that no later best may be behind: chance is no order, so that what is ahead of the
        best could be behind an earlier one.
    """

    images: Images
    spent: float = 0.0
    known: list[Recipe] = field(default_factory=list)
    results: dict[str, tuple[Recipe, Result]] = field(default_factory=dict)
    best: Recipe | None = None
    rivals: list[Recipe] = field(default_factory=list)

    def add(
        self, recipe: Recipe, result: Result | None, until: float, is_cheaper: bool = False
    ) -> None:
        """Note what a recipe reached, costlier than the best if nothing else is said."""
        self.spent = until
        self.known.append(recipe)
        if result is None:
            return
        self.results[recipe.name] = recipe, result
        if self.best is None or self._replaces(recipe, self.best, is_cheaper):
            self.best = recipe

    def _replaces(self, recipe: Recipe, best: Recipe, is_cheaper: bool) -> bool:
        if is_cheaper:
            return not self.leads(best, recipe)
        is_behind = any(self.leads(rival, recipe) for rival in self.rivals)
        return self.leads(recipe, best) and not is_behind

    def leads(self, costlier: Recipe, cheaper: Recipe) -> bool:
        """Return whether one of the recipes is ahead of another by more than noise."""
        return leads(self.results[costlier.name][1], self.results[cheaper.name][1])

    def better(self, one: Recipe | None, costlier: Recipe) -> Recipe:
        """Return the better of two recipes, the first if that may be chance."""
        return costlier if one is None or self.leads(costlier, one) else one

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
    ranking: _Round, more: Images, budget: float, later: Sequence[Recipe]
) -> Generator[Try, Result | None, _Round]:
    """Try the best on more images, if the budget has room for the first and for another one."""
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
        waiting = [*finalists[number:], *later]
        result = yield Try(recipe, more.n, until, found.best or ranking.best, waiting)
        found.add(recipe, result, until)
    return ranking if found.best is None else found


def _changed(
    round_: _Round,
    images: Images,
    budget: float,
    possible: Sequence[Change],
    later: Sequence[Recipe] = (),
) -> Generator[Try, Result | None, None]:
    """Try changes of the best recipe that the budget has room for, until none of them helps."""
    before = None
    while round_.best is not before:
        before = round_.best
        for change in possible:
            if round_.best is None or not round_.can_gain:
                return
            yield from _tried(round_, images, budget, change(round_.best), later)


def _with_given(
    round_: _Round, images: Images, budget: float, given: Recipe, second: Sequence[Recipe]
) -> Generator[Try, Result | None, None]:
    """Try given channels alone, beside the best recipe and a second one, and with other weights.

    Beside others, they are compared with each other first: what is no better than the best of all
    may be with another weight. Where the budget has no room for the best recipe with given
    channels, whose copies or size they have not seen, the next best takes its place.
    """
    ranked, best = round_.ranked(), round_.best
    until = round_.spent + cost_of([given], round_.images, known=round_.known)
    result = yield Try(given, round_.images.n, until, best, [])
    costs = [cost_of([recipe], round_.images) for recipe in (given, best or given)]
    round_.add(given, result, until, is_cheaper=costs[0] < costs[1])
    if result is None or best is None or not round_.can_gain:
        return
    round_.rivals = [best, given]
    joined = None
    for base in ranked:
        if (yield from _tried(round_, images, budget, join(base, given))):
            joined = round_.known[-1]
            break
    for base in second if round_.can_gain else ():
        if (yield from _tried(round_, images, budget, join(base, given))):
            joined = round_.better(joined, round_.known[-1])
    before = None
    while joined is not None and joined is not before:
        before = joined
        for weigh in weighings(given):
            if not round_.can_gain:
                return
            if (yield from _tried(round_, images, budget, weigh(before))):
                joined = round_.better(joined, round_.known[-1])


def _tried(
    round_: _Round,
    images: Images,
    budget: float,
    recipe: Recipe | None,
    later: Sequence[Recipe] = (),
) -> Generator[Try, Result | None, bool]:
    """Try a recipe if it is new and the budget has room for it; return whether it has a result."""
    if recipe is None or bytes_of(recipe, images) > MOST_BYTES or _is_one_of(round_.known, recipe):
        return False
    until = round_.spent + cost_of([recipe], round_.images, known=round_.known)
    on_sample = round_.images.n < images.n
    if until > budget or (on_sample and not _is_in_time(recipe, images, budget)):
        return False
    result = yield Try(recipe, round_.images.n, until, round_.best, list(later))
    round_.add(recipe, result, until)
    return result is not None


def _is_one_of(known: Sequence[Recipe], recipe: Recipe) -> bool:
    """Return whether a recipe was tried, under another name or in another order of channels."""
    return any(_essence(recipe) == _essence(one) for one in known)


def _essence(recipe: Recipe) -> Recipe:
    channels = tuple(sorted(recipe.channels, key=repr))
    return replace(recipe, name="", summary="", channels=channels)
