"""classify-images recipes"""

from typing import Any

import click

from visualwords.apps.command_line import completion
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb


@click.command(cls=Verb)
@click.argument(
    "name", required=False, metavar="[NAME|FILE.toml]", shell_complete=completion.recipes
)
@click.option(
    "--show",
    metavar="NAME|FILE.toml",
    help="Print one recipe as TOML, to be changed and given to train --recipe; so does its name.",
)
@shared.as_json
def recipes(name: str | None, show: str | None, as_json: bool) -> int:
    """List the recipes with their measured accuracy and speed, or print one as TOML.

    Accuracies are means over the classes of held-out test images. Times are milliseconds of CPU
    for one image, from its file to its label.
    """
    from visualwords.apps.command_line.terminal import print_json
    from visualwords.apps.pipeline.recipe_results import load_results
    from visualwords.apps.pipeline.recipes import RECIPES

    if name is not None and show is not None:
        raise click.UsageError("name one recipe: as an argument or by --show")
    name = show if name is None else name
    if name is not None:
        _show(name, as_json)
        return 0
    results = load_results()
    if as_json:
        found = [
            {"name": r.name, "summary": r.summary, "results": results["recipes"].get(r.name, {})}
            for r in RECIPES.values()
        ]
        print_json({"recipes": found, "machine": results["machine"]})
    else:
        _print(list(RECIPES.values()), results["recipes"])
    return 0


def _show(name: str, as_json: bool) -> None:
    from visualwords.apps.pipeline.composing import read_recipe
    from visualwords.errors import RecipeError

    try:
        recipe = read_recipe(name)
    except RecipeError as problem:
        raise click.UsageError(str(problem)) from None
    if as_json:
        from visualwords.apps.command_line.terminal import print_json

        print_json(recipe.to_json())
    else:
        print(recipe.to_toml(), end="")


def _print(known: list[Any], results: dict[str, dict[str, dict[str, float]]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from visualwords.apps.command_line.terminal import stdout

    data = sorted({name for found in results.values() for name in found}, reverse=True)
    table = Table("recipe", "features and classifier")
    for name in data:
        table.add_column(Text(name), justify="right")
    table.add_column("ms per image", justify="right")
    table.add_column("model", justify="right")
    for recipe in known:
        found = results.get(recipe.name, {})
        accuracies = [
            f"{found[name]['mean_per_class_accuracy']:.1%}" if name in found else ""
            for name in data
        ]
        first = next((found[name] for name in data if name in found), None)
        speed = f"{first['prediction_cpu_ms']:.1f}" if first else ""
        size = f"{first['model_bytes'] / 1e6:.1f} MB" if first else ""
        table.add_row(Text(recipe.name, "bold"), Text(recipe.summary), *accuracies, speed, size)
    stdout().print(table)
    if data:
        stdout().print(Text(f"Times and sizes on {data[0]}. By benchmarks.accuracy.all_recipes"))
