"""classify-images recipes and cache: what there is, and what is kept."""

from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line.terminal import Cell, print_json, print_table, printable, show
from visualwords.apps.command_line.verb import VerbGroup, Work, argument, as_json, flag
from visualwords.errors import FolderError

if TYPE_CHECKING:
    from visualwords.apps.pipeline.recipe import Recipe
    from visualwords.cache import FeatureCache


class Recipes(Work):
    """List the recipes with their measured accuracy and speed, or print one as TOML.

    The TOML of a recipe can be changed and given to train --recipe. Accuracies are means over the
    classes of held-out test images. Times are milliseconds of CPU for one image, from its file to
    its label.

    Parameters
    ----------
    show
        The same as the name alone.
    """

    name: str | None = argument(
        type=str,
        required=False,
        metavar="[NAME|FILE.toml]",
        shell_complete=options.complete_recipes,
    )
    show: str | None = flag("--show NAME|FILE.toml")
    as_json: bool = as_json

    def run(self) -> None:
        """Print one recipe, or all."""
        from visualwords.apps.pipeline.composing import read_recipe
        from visualwords.apps.pipeline.recipes import RECIPES, load_results

        if self.name is not None and self.show is not None:
            raise click.UsageError("name one recipe: as an argument or by --show")
        name = self.name if self.show is None else self.show
        if name is not None:
            with options.usage_checked():
                recipe = read_recipe(name)
            if self.as_json:
                print_json(recipe.to_json())
            else:
                print(recipe.to_toml(), end="")
            return
        results = load_results()
        if self.as_json:
            known = [{"name": one.name, "summary": one.summary} for one in RECIPES.values()]
            found = [one | {"results": results["recipes"].get(one["name"], {})} for one in known]
            print_json({"recipes": found, "machine": results["machine"]})
        else:
            _print(list(RECIPES.values()), results["recipes"])


def _print(known: "list[Recipe]", results: dict[str, dict[str, Any]]) -> None:
    data = sorted({name for found in results.values() for name in found}, reverse=True)
    rows: list[list[Cell]] = []
    for recipe in known:
        found = results.get(recipe.name, {})
        measured = [found.get(name) for name in data]
        cells = [f"{one['mean_per_class_accuracy']:.1%}" if one else "" for one in measured]
        first = next(filter(None, measured), None)
        cells.append(f"{first['prediction_cpu_ms']:.1f}" if first else "")
        cells.append(f"{first['model_bytes'] / 1e6:.1f} MB" if first else "")
        rows.append([(recipe.name, "bold"), recipe.summary, *cells])
    numbers = [*data, "ms per image", "model"]
    print_table(["recipe", "features and classifier", *numbers], rows, right=numbers)
    if data:
        show(f"Times and sizes on {data[0]}. By benchmarks.accuracy.all_recipes")


class Clear(Work):
    """Delete the entries of the cache; other files in the folder are kept."""

    cache_dir: str | None = options.cache

    def run(self) -> None:
        """Delete the entries."""
        path, found = self.opened()
        n_entries, n_bytes = found.clear()
        print(f"{printable(path)}: {n_entries:,} entries deleted, {n_bytes / 1e6:,.1f} MB freed")

    def opened(self) -> "tuple[str, FeatureCache]":
        """The folder of the cache, and the cache."""
        from visualwords.cache import open_cache

        path = options.cache_folder(self.cache_dir)
        if path is None:
            raise FolderError("no home folder for the default cache; name one with --cache DIR")
        return path, open_cache(path)


class Info(Clear):
    """Print the folder of the cache, the number of its entries and their size."""

    as_json: bool = as_json

    def run(self) -> None:
        """Print the size."""
        path, found = self.opened()
        n_entries, n_bytes = found.size()
        if self.as_json:
            print_json({"folder": path, "entries": n_entries, "bytes": n_bytes})
        else:
            print(f"{printable(path)}: {n_entries:,} entries, {n_bytes / 1e6:,.1f} MB")


@click.group(cls=VerbGroup)
def cache() -> None:
    """Show or clear the feature cache.

    Clearing it is safe: features are recomputed when they are needed.
    """


cache.add_command(Info.command())
cache.add_command(Clear.command())
