"""Flags that compose a recipe, for all commands that learn."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.classify_images.options import complete_kernels, complete_recipes
from visualwords.apps.command_line.options import Number, flag
from visualwords.apps.command_line.verb import Work, usage_checked

if TYPE_CHECKING:
    from visualwords.apps.pipeline.channel import Channel
    from visualwords.apps.pipeline.recipe import Recipe

NETWORK_COST = 30.0  # milliseconds by which auto plans: of a small network
OF_ALL = {"C", "max_side", "min_side", "views"}  # which "auto" changes in all that it tries
PATCHES = ("codebook", "words", "fisher", "second_order", "sets")  # what patches become
CHANGES = (*PATCHES, "pyramid", "kernel", "solver", "C", "max_side", "min_side", "views")
AS_TOML = ("fisher", "second_order", "pyramid")  # values that are written as in a recipe's file


class Composing(Work):
    """A command that learns by one recipe, which flags name or compose."""

    recipe: str = flag(
        "--recipe NAME|FILE.toml",
        "A recipe's name or file, or auto to try several.",
        default="auto",
        shell_complete=complete_recipes,
    )
    features: tuple[str, ...] = flag(
        "--feature 'NAME(key=value, …)'",
        "Use an extractor in place of a recipe's; several are combined. Example: "
        "'DenseSIFT(step=4, bin_size=[4, 8])' or onnx:net.onnx. With --recipe auto, try recipes "
        "with it and without it.",
        name="features",
        multiple=True,
    )
    codebook: str | None = flag("--codebook NAME", "Learn words by kmeans, kmeans-root or hik.")
    words: int | None = flag("--words N", "Count patches as N words.")
    fisher: str | None = flag(
        "--fisher [N]",
        "Turn patches into Fisher vectors of N Gaussians [64].",
        is_flag=False,
        flag_value="true",
    )
    second_order: str | None = flag(
        "--second-order [N]",
        "Turn patches into second moments of N principal components [64].",
        is_flag=False,
        flag_value="true",
    )
    sets: bool = flag("--sets", "Match patches as sets (pyramid match).")
    pyramid: str | None = flag(
        "--pyramid 1|8|21|31|RxC", "Windows that words are counted in, or a grid."
    )
    kernel: str | None = flag(
        "--kernel NAME", "Kernel: hik, chi2, gcs, ngmm, linear, …", shell_complete=complete_kernels
    )
    solver: str | None = flag(
        "--solver NAME",
        "Classifier: icd, pmsvm, kernel or linear; of icd also dual, gram or primal. "
        "[default: the fastest that computes the kernel]",
    )
    C: float | None = flag("--C X", "Cost of a training error.", Number(0, min_open=True), name="C")
    max_side: int | None = flag("--max-side N", "Shrink images to this side.")
    min_side: int | None = flag("--min-side N", "Enlarge images to this side.")
    views: str | None = flag(
        "--views [mirror|rotations|all|none]",
        "Train on views of each image, too: mirrored, rotated by quarter turns, or both.",
        click.Choice(["mirror", "rotations", "all", "none"]),
    )
    settings: tuple[str, ...] = flag(
        "--set KEY=VALUE",
        "Change any other setting of the recipe, such as words.norm=none or loss=hinge.",
        name="settings",
        multiple=True,
    )

    def composed(self) -> "tuple[str | Recipe, dict[str, Any]]":
        """The recipe that the flags describe; or "auto", and what they change in all it tries.

        What is wrong with it is said before any image is read.
        """
        source = click.get_current_context().get_parameter_source("recipe")
        is_named = source is not click.core.ParameterSource.DEFAULT
        changes = self.changes()
        of_all = self.recipe == "auto" and {key for key, _ in changes} <= OF_ALL
        if of_all and not self.features:
            return "auto", dict(changes)
        if self.recipe == "auto" and self.features and is_named:
            if not of_all:
                raise click.UsageError("--recipe auto with --feature takes no other settings")
            return "auto", dict(changes) | {"channels": _added_channels(self.features)}
        return checked_recipe(self.recipe, self.features, changes), {}

    def changes(self) -> list[tuple[str, Any]]:
        """The settings that flags change, in the order of the flags."""
        from visualwords.apps.pipeline.composing import parsed, setting

        values = {name: getattr(self, name) for name in CHANGES}
        given = {name: value for name, value in values.items() if value not in (None, False)}
        parts = [name for name in PATCHES if name in given]
        if len(parts) > 1 and parts != ["codebook", "words"]:
            flags = " and ".join(f"--{name.replace('_', '-')}" for name in parts)
            raise click.UsageError(f"{flags} exclude each other: patches become one")
        with usage_checked():
            others = [setting(text) for text in self.settings]
        return [(n, parsed(v) if n in AS_TOML else v) for n, v in given.items()] + others


def checked_recipe(
    name: str, features: Sequence[str] = (), changes: Sequence[tuple[str, Any]] = ()
) -> "Recipe":
    """Return a recipe, or one of extractors, with changes; what can't work is a usage error."""
    from visualwords.apps.pipeline.composing import compose, read_recipe
    from visualwords.apps.pipeline.recipe_check import check_recipe
    from visualwords.apps.pipeline.recipes import RECIPES

    if features and name != "auto":
        raise click.UsageError("--recipe and --feature exclude each other")
    with usage_checked():
        made = compose(None if name == "auto" else read_recipe(name), features, changes)
        if made not in RECIPES.values():  # these are known to work
            check_recipe(made)
    return made


def _added_channels(features: Sequence[str]) -> "tuple[Channel, ...]":
    """Return channels of extractors, each checked, that "auto" is to try too."""
    made = checked_recipe("auto", features)
    if any(channel.learns for channel in made.channels):
        raise click.UsageError(
            "--recipe auto adds extractors of one vector an image; for words of patches omit "
            "--recipe auto"
        )
    return tuple(replace(channel, cost=NETWORK_COST) for channel in made.channels)
