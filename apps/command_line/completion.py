"""What the shell offers after the Tab key, beyond verbs, flags and files.

Each function takes what click gives to ``shell_complete``. A completion must never fail: where
nothing can be found, nothing is offered.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def recipes(ctx: click.Context, parameter: click.Parameter, typed: str) -> "list[CompletionItem]":
    """Offer the names of recipes, each with its summary."""
    from visualwords.apps.pipeline.recipes import RECIPES

    known = {"auto": "choose one by cross-validation"}
    known |= {recipe.name: recipe.summary for recipe in RECIPES.values()}
    return _starting(typed, known)


def kernels(ctx: click.Context, parameter: click.Parameter, typed: str) -> "list[CompletionItem]":
    """Offer the names of kernels."""
    from visualwords.apps.pipeline.recipe_names import kernel_names

    return _starting(typed, dict.fromkeys(kernel_names()))


def classes(ctx: click.Context, parameter: click.Parameter, typed: str) -> "list[CompletionItem]":
    """Offer the classes of the model that the command line names."""
    from visualwords.errors import VisualWordsError
    from visualwords.model_file import read_manifest

    words = [ctx.params.get("model"), *ctx.args]  # click leaves arguments there before a bare flag
    model = next((word for word in words if word), "")
    with suppress(VisualWordsError, OSError, KeyError, TypeError, ValueError):
        return _starting(typed, dict.fromkeys(read_manifest(model)["classes"]))
    return []


def _starting(typed: str, known: Mapping[str, str | None]) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(name, help=explained)
        for name, explained in known.items()
        if name.startswith(typed)
    ]
