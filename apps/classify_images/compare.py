"""classify-images compare"""

import csv
import json
import sys
from itertools import product
from typing import TYPE_CHECKING

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import verb
from visualwords.apps.command_line.csv_cells import csv_cells, is_raw
from visualwords.apps.command_line.terminal import equivalent_command, print_table, printable, show
from visualwords.apps.command_line.verb import argument, flag

if TYPE_CHECKING:
    from visualwords.apps.evaluation.comparing import ComparedRecipe
    from visualwords.apps.pipeline.recipe import Recipe

HEAD = ("recipe", "accuracy %", "below the best (95 %)", "CPU s", "MB")


class Compare(options.Composing, options.Reading):
    """Compare recipes on the images of FOLDER.

    Recipes are several --recipe, or one of them (or of --feature) with settings that --vary names.
    What recipes share is computed once. An interrupted comparison goes on where it stopped.
    Accuracies are means per class; differences are to the best recipe, paired by fold and seed.

    Parameters
    ----------
    recipe
        A recipe's name or file; several are compared. [default: words]
    vary
        Try these values of a setting, a flag's name or a key of --set; of several, all
        combinations. Example: --vary codebook=kmeans,hik --vary words=100,200.
    folds
        Test every image on a model of the other folds [default: 5, or the folder's test part].
    seeds
        Repeat with N random seeds.
    as_markdown
        Print the results as Markdown.
    plot
        Draw the results to a file.
    """

    folder: str = argument()
    recipe: tuple[str, ...] = flag(
        "--recipe NAME|FILE.toml", shell_complete=options.complete_recipes
    )  # type: ignore[assignment]
    vary: tuple[str, ...] = flag("--vary KEY=A,B,C")
    folds: int | None = flag("--folds N", kind=verb.FOLDS)
    seeds: int = flag("--seeds N", default=1)
    as_csv: bool = verb.as_csv
    raw: bool = verb.raw
    as_markdown: bool = flag("--markdown")
    plot: str | None = flag("--plot SVG")
    report: str | None = verb.report
    seed: int = verb.seed

    def work(self) -> None:
        """Compare, print, and draw."""
        from visualwords.apps.evaluation.comparing import compare as compare_recipes
        from visualwords.apps.report.comparison import comparison_plot, write_comparison
        from visualwords.files import write_atomically
        from visualwords.folders import ImageFolder

        recipes = self.recipes()
        asked = {"json": self.as_json, "csv": self.as_csv, "markdown": self.as_markdown}
        form = options.form_of(None, "table", **asked)
        images, folds = ImageFolder(self.folder), self.folds
        if folds is None and "test" not in images.splits:
            folds = 5
        about = {"random_state": self.seed, **self.resources}
        with self.progress() as progress:
            rows = compare_recipes(images, recipes, folds, self.seeds, progress=progress, **about)
        self.skip([*images.skipped, *(one for row in rows for one in row.skipped)])
        self.check_strict()
        if self.plot is not None:
            write_atomically(self.plot, comparison_plot(rows).encode("utf-8"))
        if self.report is not None:
            write_comparison(self.report, rows, title=self.folder, command=equivalent_command())
        if form == "csv":
            _print_csv(rows, self.raw)
        elif form != "json":
            trials = f"{folds} folds" if folds else "the test part"
            _print(rows, form, f"{trials}, {self.seeds} seed{'s' * (self.seeds > 1)}")
        summary = {"folds": folds, "seeds": self.seeds, "seconds": self.times.seconds}
        self.print_summary(summary | {"recipes": [row.to_json() for row in rows]})

    def recipes(self) -> "list[Recipe]":
        """All combinations of recipes with the values that their settings are to have."""
        from visualwords.apps.pipeline.composing import read_recipe, variations, varied
        from visualwords.apps.pipeline.recipe_check import check_recipe

        options.at_most_one(recipe=self.recipe, feature=self.features)
        changes = self.changes()
        with options.usage_checked():
            bases: list[Recipe | None] = [read_recipe(name) for name in self.recipe] or [None]
            keys, values = zip(*map(variations, self.vary)) if self.vary else ((), ())
            found = [
                varied(base, self.features, changes, list(zip(keys, chosen)))
                for base in bases
                for chosen in product(*values)
            ]
            for recipe in found:
                check_recipe(recipe)
        if len(found) < 2:
            raise click.UsageError(
                "nothing to compare; give --vary key=first,second, or several --recipe"
            )
        return found


def _print(rows: "list[ComparedRecipe]", form: str, trials: str) -> None:
    """Print a table, or one in Markdown."""
    lines: list[list[str]] = []
    for row in rows:
        deviation = f" ± {100 * row.deviation:.1f}" if len(row.figures) > 1 else ""
        low, high = row.interval
        lead = f"{100 * row.difference:.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
        cells = [row.name, f"{100 * row.mean:.1f}{deviation}", lead if lines else "best"]
        lines.append([*cells, f"{row.seconds:.2f}", f"{row.model_bytes / 1e6:.2f}"])
    if form == "markdown":
        for cells in ([*HEAD], ["---", *["---:"] * (len(HEAD) - 1)], *lines):
            print(printable(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"))
        return
    print_table(HEAD, lines, right=HEAD[1:])
    about = "CPU: to train and test once, without what recipes share."
    show(f"Mean accuracy per class on {trials}. {about}")


def _print_csv(rows: "list[ComparedRecipe]", raw: bool) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for number, row in enumerate(rows):
        values = row.to_json()
        values["difference_low"], values["difference_high"] = values.pop("difference_interval_95")
        values["trials"] = " ".join(f"{figure:.6f}" for figure in values["trials"])
        values["recipe"] = json.dumps(values["recipe"])
        if number == 0:
            writer.writerow(values)
        writer.writerow(csv_cells(values.values(), is_raw(raw)))
