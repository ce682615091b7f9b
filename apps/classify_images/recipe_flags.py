"""Flags that compose a recipe, for all verbs that learn."""

import functools
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.command_line import options as shared

if TYPE_CHECKING:
    from visualwords.apps.pipeline.recipe import Recipe

CHANGES = (
    *("codebook", "words", "fisher", "second_order", "sets", "pyramid", "kernel", "solver", "C"),
    *("max_side", "min_side", "views"),
)


class Cost(click.ParamType):
    """A positive number."""

    name = "cost"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number."""
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if not 0 < number < float("inf"):
            self.fail(f"{value} must be a positive number", param, ctx)
        return number


NETWORK_COST = 30.0  # milliseconds by which auto plans: of a small network
OF_ALL = ("C", "max_side", "min_side", "views")  # which "auto" changes in all that it tries

OPTIONS = (
    click.option(
        "--recipe",
        shell_complete=shared.complete_recipes,
        default="auto",
        show_default=True,
        metavar="NAME|FILE.toml",
        help="A recipe's name or file, or auto to try several.",
    ),
    click.option(
        "--feature",
        "features",
        multiple=True,
        metavar="'NAME(key=value, …)'",
        help="Use an extractor in place of a recipe's; several are combined. "
        "Example: 'DenseSIFT(step=4, bin_size=[4, 8])' or onnx:net.onnx. With --recipe auto, try "
        "recipes with it and without it.",
    ),
    click.option("--codebook", metavar="NAME", help="Learn words by kmeans, kmeans-root or hik."),
    click.option(
        "--words", type=click.IntRange(min=1), metavar="N", help="Count patches as N words."
    ),
    click.option(
        "--fisher",
        is_flag=False,
        flag_value="default",
        metavar="[N]",
        help="Turn patches into Fisher vectors of N Gaussians [64].",
    ),
    click.option(
        "--second-order",
        is_flag=False,
        flag_value="default",
        metavar="[N]",
        help="Turn patches into second moments of N principal components [64].",
    ),
    click.option("--sets", is_flag=True, help="Match patches as sets (pyramid match)."),
    click.option(
        "--pyramid", metavar="1|8|21|31|RxC", help="Windows that words are counted in, or a grid."
    ),
    click.option(
        "--kernel",
        metavar="NAME",
        shell_complete=shared.complete_kernels,
        help="Kernel: hik, chi2, gcs, ngmm, linear, …",
    ),
    click.option(
        "--solver",
        metavar="NAME",
        help="Classifier: icd, pmsvm, kernel or linear; of icd also dual, gram or primal. "
        "[default: the fastest that computes the kernel]",
    ),
    click.option("--C", "C", type=Cost(), metavar="X", help="Cost of a training error."),
    click.option(
        "--max-side", type=click.IntRange(min=1), metavar="N", help="Shrink images to this side."
    ),
    click.option(
        "--min-side", type=click.IntRange(min=1), metavar="N", help="Enlarge images to this side."
    ),
    click.option(
        "--views",
        type=click.Choice(["mirror", "rotations", "all", "none"]),
        help="Train on views of each image, too: mirrored, rotated by quarter turns, or both.",
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Change any other setting of the recipe, such as words.norm=none or loss=hinge.",
    ),
)


def composing(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags; the verb gets ``recipe``, which works, or "auto" and ``overrides`` of it."""

    @functools.wraps(verb)
    def with_recipe(
        *args: Any, recipe: str, features: tuple[str, ...], settings: tuple[str, ...], **others: Any
    ) -> Any:
        given = {name: others.pop(name) for name in CHANGES}
        more: tuple[Any, ...] = ()
        if features and recipe == "auto" and _was_given("recipe"):
            more, features = channels_of(features), ()
        found = chosen_recipe(recipe, features, settings, **given)
        overrides = {n: given[n] for n in OF_ALL if given[n] is not None and found == "auto"}
        if more and found != "auto":
            raise click.UsageError("--recipe auto with --feature takes no other settings")
        if more:
            overrides["channels"] = more
        return verb(*args, recipe=found, overrides=overrides, **others)

    made: Callable[..., Any] = with_recipe
    for option in reversed(OPTIONS):
        made = option(made)
    return made


def _was_given(name: str) -> bool:
    """Return whether a flag is on the command line, or in a file of flags, not at its default."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not click.core.ParameterSource.DEFAULT


def channels_of(features: tuple[str, ...]) -> tuple[Any, ...]:
    """Return channels of extractors, each checked, that "auto" is to try too."""
    from visualwords.apps.pipeline import composing
    from visualwords.apps.pipeline.recipe_check import check_recipe
    from visualwords.errors import RecipeError

    try:
        made = composing.compose(features=features)
        check_recipe(made)
        if any(channel.learns for channel in made.channels):
            raise RecipeError(
                "--recipe auto adds extractors of one vector an image; for words of patches omit "
                "--recipe auto"
            )
    except RecipeError as problem:
        raise click.UsageError(str(problem)) from None
    return tuple(replace(channel, cost=NETWORK_COST) for channel in made.channels)


def several(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags to a verb that compares; it gets ``recipes``: two or more that work."""

    @functools.wraps(verb)
    def with_recipes(
        *args: Any,
        vary: tuple[str, ...],
        recipe: tuple[str, ...],
        features: tuple[str, ...],
        settings: tuple[str, ...],
        **others: Any,
    ) -> Any:
        given = {name: others.pop(name) for name in CHANGES}
        found = varied_recipes(recipe, features, settings, vary, **given)
        return verb(*args, recipes=found, **others)

    made: Callable[..., Any] = with_recipes
    first = click.option(
        "--recipe",
        shell_complete=shared.complete_recipes,
        multiple=True,
        metavar="NAME|FILE.toml",
        help="A recipe's name or file; several are compared. [default: words]",
    )
    for option in (*reversed(OPTIONS[1:]), first):
        made = option(made)
    return made


def varied_recipes(
    names: tuple[str, ...],
    features: tuple[str, ...] = (),
    settings: tuple[str, ...] = (),
    vary: tuple[str, ...] = (),
    **given: Any,
) -> "list[Recipe]":
    """Return all combinations of recipes with the values that their settings are to have."""
    from visualwords.apps.pipeline import composing
    from visualwords.apps.pipeline.recipe_check import check_recipe
    from visualwords.errors import RecipeError

    if features and names:
        raise click.UsageError("--recipe and --feature exclude each other")
    try:
        changes = _changes(given) + [composing.setting(text) for text in settings]
        bases: list[Recipe | None] = [composing.read_recipe(name) for name in names]
        bases = bases or [None]
        varied = [composing.variations(text) for text in vary]
        found = [
            composing.varied(base, features, changes, list(zip([k for k, _ in varied], values)))
            for base in bases
            for values in product(*(values for _, values in varied))
        ]
        for recipe in found:
            check_recipe(recipe)
        if len(found) < 2:
            raise RecipeError(
                "nothing to compare; give --vary key=first,second, or several --recipe"
            )
    except RecipeError as problem:
        raise click.UsageError(str(problem)) from None
    return found


def chosen_recipe(
    recipe: str = "auto",
    features: tuple[str, ...] = (),
    settings: tuple[str, ...] = (),
    **given: Any,
) -> "str | Recipe":
    """Return the recipe that flags describe; "auto" where none of them asks for one.

    Raises
    ------
    click.UsageError
        With one sentence about what is wrong; the recipe was tried before any image is read.
    """
    from visualwords.apps.pipeline import composing
    from visualwords.apps.pipeline.channel import PARTS
    from visualwords.apps.pipeline.recipe_check import check_recipe
    from visualwords.apps.pipeline.recipes import RECIPES
    from visualwords.errors import RecipeError

    if features and recipe != "auto":
        raise click.UsageError("--recipe and --feature exclude each other")
    parts = [f"--{name.replace('_', '-')}" for name in PARTS if given.get(name)]
    if given.get("codebook") and not given.get("words"):
        parts.insert(0, "--codebook")
    if len(parts) > 1:
        raise click.UsageError(f"{' and '.join(parts)} exclude each other: patches become one")
    try:
        changes = _changes(given) + [composing.setting(text) for text in settings]
        if recipe == "auto" and not features and {name for name, _ in changes} <= set(OF_ALL):
            return recipe
        if recipe in RECIPES and not changes:
            return RECIPES[recipe]
        base = None if recipe == "auto" else composing.read_recipe(recipe)
        made = composing.compose(base, features, changes)
        if made not in RECIPES.values():  # these are known to work
            check_recipe(made)
    except RecipeError as problem:
        raise click.UsageError(str(problem)) from None
    return made


def _changes(given: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the settings that flags change, in the order of the flags."""
    from visualwords.apps.pipeline.composing import parsed

    values = {name: value for name, value in given.items() if value not in (None, False)}
    for name in ("fisher", "second_order"):
        if values.get(name) == "default":
            values[name] = True
    for name in ("fisher", "second_order", "pyramid"):
        if isinstance(values.get(name), str):
            values[name] = parsed(values[name])
    return [(name, values[name]) for name in CHANGES if name in values]
