"""The first round of the search of "auto": what a budget holds, and what it is spent on first.

Where a budget does not hold all candidates, those of `FIRST` come first, then those of `NEXT` and
`THEN`; where it does not hold the first two kinds, large images are shrunk. Many are ranked on a
sample.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.search.costs import Images, cost_of
from visualwords.apps.pipeline.search.joining import FOR_JOINS, join, seconds_to_keep
from visualwords.apps.pipeline.search.variations import for_grey_images, shrunk, sized_for

SAMPLES = (2000, 1000, 500)  # images that recipes are ranked on, if there are more
GROWTH = 4  # of the sample, for the best
# A budget is spent on these, in this order (docs/choices.md). The first have most kinds of
# channels, which are mixed later.
FIRST = ("photo", "moments")
NEXT = ("tiny", "scene", "vivid")
THEN = (
    *("pattern", "chromatic", "combined", "rich", "object", "shape", "texture", "color", "fast"),
    *("words", "rich-words"),
)
FOR_FIRST = 0.85  # of the budget; the rest is for mixing and changes
FOR_NEXT = 0.6  # of the budget, with the first
FOR_ALL = 0.4  # of the budget, with those of `THEN`: channels that are mixed later gain more
FOR_GIVEN = 0.75  # of the budget, at most, is kept for given channels
SIDES = (None, 480, 320, 240)  # pixels that images are shrunk to, the first that leaves time
SHARES = 20  # of the budget: steps in which time is kept for given channels
LATER = 3.0  # budgets that the training on all images may take after the search on samples


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
            possible += [self.given, *(r for r in both if is_in_time(r, images, budget))]
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
    eligible = [recipe for recipe in candidates if is_in_time(recipe, images, budget)]
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
    """Return the recipes that a limit holds, the most promising first, ordered by their cost."""
    ordered = _cheapest_first(candidates, images)
    chosen: list[Recipe] = []
    for recipe in sorted(ordered, key=_rank):
        more = [known for known in ordered if known in chosen or known is recipe]
        if cost_of(more, images) <= _share(recipe) * limit:
            chosen = more
    chosen = chosen or ordered[:1]
    seconds = [cost_of(chosen[:number], images) for number in range(1, 1 + len(chosen))]
    left_out = [recipe for recipe in ordered if recipe not in chosen]
    return Plan(chosen, seconds, left_out, images.n, images.n)


def is_in_time(recipe: Recipe, images: Images, budget: float) -> bool:
    """Return whether a recipe could be trained on all images after a search on samples."""
    return cost_of([recipe], images) <= LATER * budget


def _cheapest_first(recipes: Sequence[Recipe], images: Images) -> list[Recipe]:
    return sorted(recipes, key=lambda recipe: cost_of([recipe], images))


def _rank(recipe: Recipe) -> int:
    """Return the place of a recipe when a budget is spent; those that are not ours come first."""
    name, ranked = re.split(r"[+ ]", recipe.name)[0], (*FIRST, *NEXT, *THEN)
    return ranked.index(name) if name in ranked else -1


def _share(recipe: Recipe) -> float:
    """Return the share of a budget that is spent on recipes up to the place of this one."""
    if _rank(recipe) < len(FIRST):
        return FOR_FIRST
    return FOR_NEXT if _rank(recipe) < len(FIRST) + len(NEXT) else FOR_ALL


def _side_for(candidates: Sequence[Recipe], images: Images, budget: float) -> int | None:
    """Return the largest size of images, in pixels, in which a budget holds the first and next.

    Many images are tried on a sample; then the training on all of them must be in time.
    """
    for side in SIDES:
        found = [shrunk(recipe, side) for recipe in candidates]
        promising = [r for r in found if _rank(r) < len(FIRST) + len(NEXT)]
        first = _cheapest_first(promising, images)
        if images.n <= SAMPLES[0]:
            fits = cost_of(first, images) <= FOR_NEXT * budget
        else:
            fits = all(is_in_time(recipe, images, budget) for recipe in first)
        if fits:
            break
    return side


def plan_with(
    given: Recipe | None,
    candidates: Sequence[Recipe],
    images: Images,
    budget: float,
    with_views: bool = True,
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
    while kept <= FOR_GIVEN * budget:
        planned = plan(others, images, budget - kept)
        sized = shrunk(sized_for(given, images), planned.side)
        if planned.n_images < images.n and not is_in_time(sized, images, budget):
            break
        for n in (planned.n_more, planned.n_images):  # as many as the best of the others see
            needed = seconds_to_keep(planned.recipes, sized, images.some(n), budget, with_views)
            if needed <= FOR_JOINS * budget:
                break
        if needed <= kept and planned.seconds[-1] + kept <= budget:
            return replace(planned, n_more=n, given=sized, kept=kept)
        is_sure = planned.n_images == images.n and needed > kept  # samples need less if smaller
        kept = needed if is_sure else kept + budget / SHARES
    planned = plan(others, images, budget)
    return replace(planned, left_out=[*planned.left_out, given])
