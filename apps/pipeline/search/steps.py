"""The search of "auto": which recipe to try next, on how many images, until the budget is used.

It is a procedure of the candidates, the images and the budget alone, and of what recipes reached:
it knows no clock, and does no work itself.

1. The candidates that the budget holds (`planning`) are tried, cheapest first: on all images, or,
   of more than 2,000, on a sample that is small enough for half of the budget.
2. The best of them on a sample are tried on four times as many images.
3. Channels of all recipes with linear classifiers, which were encoded by then, are mixed with those
   of the best, each with the weight that folds prefer (`mixing`).
4. The best recipe is changed, one thing at a time: ridge regression takes the place of an SVM,
   channels are added, and mixed with the others, training images mirrored and rotated, C changed,
   more Gaussians or words learned, images seen in another size. Where the budget did not hold all
   recipes, second moments of filters are the first channel. What is ahead by more than noise is
   kept, and then all changes that are new to the recipe are tried again.
5. Channels that the user gives have a part of the budget that all this leaves (`Plan.kept`). They
   are tried alone, beside the best recipe and beside the second of the candidates, there with
   half and twice the weight, again while this helps; then the best of all is changed as before.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from visualwords.apps.pipeline.recipe import Channel, Recipe
from visualwords.apps.pipeline.recipes import LINEAR
from visualwords.apps.pipeline.search.costs import Images, bytes_of, cost_of, seconds_to_mix
from visualwords.apps.pipeline.search.joining import changes_of_given, join, weighings
from visualwords.apps.pipeline.search.noise import Result, leads
from visualwords.apps.pipeline.search.planning import Plan, is_in_time
from visualwords.apps.pipeline.search.variations import Change, changes, kind_of

FINALISTS = 3
MOST_BYTES = 1e9  # of rows, for a changed recipe


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
    mixes : bool
        Whether its channels get weights that folds prefer before it is trained; where folds prefer
        the recipe as it is, nothing is reached.
    others : tuple of Channel
        Channels to mix with its own.
    """

    recipe: Recipe
    n_images: int
    until: float
    best: Recipe | None
    waiting: list[Recipe]
    mixes: bool = False
    others: tuple[Channel, ...] = ()


Steps = Generator[Try, Result | None, Recipe | None]


def search(planned: Plan, images: Images, budget: float, with_views: bool = True) -> Steps:
    """Yield recipes to try, take what each reached (None: it failed), and return the best.

    Parameters
    ----------
    planned : Plan
    images : Images
        All of them.
    budget : float
        Seconds of the reference machine.
    with_views : bool
        Whether to try views of training images.
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
    possible = changes(planned.recipes, images, with_views, in_haste=bool(planned.left_out))
    yield from _changed(round_, images, first, possible, later)
    if given is not None:
        yield from _with_given(round_, images, budget, given, second)
        possible = changes([*planned.recipes, given], images, with_views)
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
    offered : set of str
        Names of channels that were mixed in a view, and of the sets that were mixed together.
    rivals : list of Recipe
        Those that no later best may be behind: chance is no order, so that what is ahead of the
        best could be behind an earlier one.
    """

    images: Images
    spent: float = 0.0
    known: list[Recipe] = field(default_factory=list)
    results: dict[str, tuple[Recipe, Result]] = field(default_factory=dict)
    best: Recipe | None = None
    offered: set[str] = field(default_factory=set)
    rivals: list[Recipe] = field(default_factory=list)

    def add(
        self, recipe: Recipe, result: Result | None, until: float, is_cheaper: bool = False
    ) -> None:
        """Note what a recipe reached, costlier than the best if nothing else is said."""
        self.spent = until
        self.known.append(recipe)
        if result is None:
            return
        if result.recipe.channels != recipe.channels:  # which were mixed, perhaps with others
            recipe = result.recipe
            self.known.append(recipe)
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


def _mixed(
    round_: _Round, images: Images, budget: float, later: Sequence[Recipe]
) -> Generator[Try, Result | None, None]:
    """Mix the channels of the best linear recipe with those of others that were tried.

    Views have no part in it: a recipe with views has been mixed before.
    """
    linear = [recipe for recipe in round_.ranked() if _is_linear(recipe)]
    if not linear or linear[0].views or not round_.can_gain:
        return
    base, others = linear[0], _channels_beside(round_, linear[0], images)
    names = sorted(_offer(channel, base) for channel in (*base.channels, *others))
    if repr(names) in round_.offered or len(names) == 1:
        return
    mixed = replace(base, name=f"{base.name} mixed")
    while mixed.name in round_.results:
        mixed = replace(mixed, name=f"{mixed.name} again")
    if (yield from _tried(round_, images, budget, mixed, later, others, mixes=True)) is not None:
        round_.offered |= {repr(names), *names}


def _changed(
    round_: _Round,
    images: Images,
    budget: float,
    possible: Sequence[Change],
    later: Sequence[Recipe] = (),
) -> Generator[Try, Result | None, None]:
    """Try changes of the best recipe that the budget has room for, until none of them helps.

    A channel that a change adds to a linear recipe is mixed with its others, once in each view.
    """
    before = None
    while round_.best is not before:
        before = round_.best
        yield from _mixed(round_, images, budget, later)
        for change in possible:
            best = round_.best
            if best is None or not round_.can_gain:
                return
            recipe = change(best)
            added = None if recipe is None else _added(recipe, best)
            if recipe is None or added is None:
                yield from _tried(round_, images, budget, recipe, later)
            elif _offer(added, best) not in round_.offered:
                same = replace(recipe, channels=best.channels)
                found = yield from _tried(round_, images, budget, same, later, (added,), mixes=True)
                if found is not None:
                    round_.offered.add(_offer(added, best))


def _is_linear(recipe: Recipe) -> bool:
    return recipe.classifier == LINEAR and all(channel.linear for channel in recipe.channels)


def _added(recipe: Recipe, best: Recipe) -> Channel | None:
    """Return the channel that a change has added to a linear recipe; None if it is another one."""
    is_one = _is_linear(recipe) and recipe.channels[:-1] == best.channels
    return recipe.channels[-1] if is_one else None


def _offer(channel: Channel, recipe: Recipe) -> str:
    """Return a name for a channel that is mixed with those of a recipe."""
    return repr((channel.unweighted, recipe.view))


def _channels_beside(round_: _Round, recipe: Recipe, images: Images) -> tuple[Channel, ...]:
    """Return the channels of linear recipes that were tried in the same view, but for its own.

    They are one of each kind that it does not have, those that are not too large beside it.
    """
    whole = recipe
    for known in round_.known:
        if _is_linear(known) and known.view == recipe.view:
            for channel in known.channels:
                more = replace(whole, channels=(*whole.channels, channel))
                is_new = kind_of(channel) not in map(kind_of, whole.channels)
                if is_new and bytes_of(more, images) <= MOST_BYTES:
                    whole = more
    return whole.channels[len(recipe.channels) :]


def _with_given(
    round_: _Round, images: Images, budget: float, given: Recipe, second: Sequence[Recipe]
) -> Generator[Try, Result | None, None]:
    """Try given channels alone, beside the best recipe and a second one, and with other weights.

    Beside others, they are compared with each other first: what is no better than the best of all
    may be with another weight. Where the budget has no room for the best recipe with given
    channels, whose views or size they have not seen, the next best takes its place.
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
    others: tuple[Channel, ...] = (),
    mixes: bool = False,
) -> Generator[Try, Result | None, bool | None]:
    """Try a recipe if it is new and the budget has room for it.

    Returns
    -------
    whether it has a result; None if it was not tried
    """
    if recipe is None:
        return None
    largest = replace(recipe, channels=(*recipe.channels, *others))
    is_known = not mixes and _is_one_of(round_.known, recipe)
    if is_known or bytes_of(largest, images) > MOST_BYTES:
        return None
    until = round_.spent + cost_of([largest], round_.images, known=round_.known)
    if mixes:
        until += seconds_to_mix(recipe, len(others), round_.images)
    on_sample = round_.images.n < images.n
    if until > budget or (on_sample and not is_in_time(largest, images, budget)):
        return None
    result = yield Try(recipe, round_.images.n, until, round_.best, list(later), mixes, others)
    round_.add(largest, result, until)
    return result is not None


def _is_one_of(known: Sequence[Recipe], recipe: Recipe) -> bool:
    """Return whether a recipe was tried, under another name or in another order of channels."""
    return any(_essence(recipe) == _essence(one) for one in known)


def _essence(recipe: Recipe) -> Recipe:
    channels = tuple(sorted(recipe.channels, key=repr))
    return replace(recipe, name="", summary="", channels=channels)
