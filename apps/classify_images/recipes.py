"""classify-images recipes"""

from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.options import flag
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from visualwords.apps.pipeline.recipe import Recipe


@click.command(cls=Verb)
@click.argument(
    "name", required=False, metavar="[NAME|FILE.toml]", shell_complete=shared.complete_recipes
)
@flag("--show NAME|FILE.toml", "The same as the name alone.")
@shared.as_json
def recipes(name: str | None, show: str | None, as_json: bool) -> int:
    """List the recipes with their measured accuracy and speed, or print one as TOML.

    The TOML of a recipe can be changed and given to train --recipe. Accuracies are means over the
    classes of held-out test images. Times are milliseconds of CPU for one image, from its file to
    its label.
    """
    from visualwords.apps.command_line.terminal import print_json
    from visualwords.apps.pipeline.composing import read_recipe
    from visualwords.apps.pipeline.recipe_results import load_results
    from visualwords.apps.pipeline.recipes import RECIPES
    from visualwords.errors import RecipeError

    if name is not None and show is not None:
        raise click.UsageError("name one recipe: as an argument or by --show")
    if name is not None or show is not None:
        try:
            recipe = read_recipe(name or show or "")
        except RecipeError as problem:
            raise click.UsageError(str(problem)) from None
        if as_json:
            print_json(recipe.to_json())
        else:
            print(recipe.to_toml(), end="")
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


def _print(known: "list[Recipe]", results: dict[str, dict[str, Any]]) -> None:
    from rich.text import Text

    from visualwords.apps.command_line.terminal import print_table, show

    data = sorted({name for found in results.values() for name in found}, reverse=True)
    rows: list[list[str | Text]] = []
    for recipe in known:
        found = results.get(recipe.name, {})
        cells = [
            f"{found[name]['mean_per_class_accuracy']:.1%}" if name in found else ""
            for name in data
        ]
        first = next((found[name] for name in data if name in found), None)
        cells.append(f"{first['prediction_cpu_ms']:.1f}" if first else "")
        cells.append(f"{first['model_bytes'] / 1e6:.1f} MB" if first else "")
        rows.append([Text(recipe.name, "bold"), recipe.summary, *cells])
    numbers = [*data, "ms per image", "model"]
    print_table(["recipe", "features and classifier", *numbers], rows, right=numbers)
    if data:
        show(f"Times and sizes on {data[0]}. By benchmarks.accuracy.all_recipes")
