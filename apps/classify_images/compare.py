"""classify-images compare"""

import json
import sys
from typing import TYPE_CHECKING

import click

from visualwords.apps.classify_images import options, recipe_flags
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.options import RECIPE, flag, group
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.evaluation.comparing import ComparedRecipe
    from visualwords.apps.pipeline.recipe import Recipe

HEAD = ("recipe", "accuracy %", "below the best (95 %)", "CPU s", "MB")


@click.command(cls=Verb)
@click.argument("folder", type=click.Path())
@flag(
    "--vary KEY=A,B,C",
    "Try these values of a setting, a flag's name or a key of --set; of several, all combinations. "
    "Example: --vary codebook=kmeans,hik --vary words=100,200.",
    multiple=True,
)
@flag(
    "--folds N",
    "Test every image on a model of the other folds [default: 5, or the folder's test part].",
    shared.FOLDS,
)
@flag("--seeds N", "Repeat with N random seeds.", shared.COUNT, default=1)
@shared.as_csv
@shared.raw
@flag("--markdown", "Print the results as Markdown.", name="as_markdown")
@flag("--plot SVG", "Draw the results to a file.", shared.OUTPUT)
@shared.report
@group(RECIPE, recipe_flags.several)
@shared.seed
@options.reading
def compare(
    folder: str,
    recipes: "list[Recipe]",
    folds: int | None,
    seeds: int,
    as_csv: bool,
    raw: bool,
    as_markdown: bool,
    plot: str | None,
    report: str | None,
    seed: int,
    run: "Run",
) -> int:
    """Compare recipes on the images of FOLDER.

    Recipes are several --recipe, or one of them (or of --feature) with settings that --vary names.
    What recipes share is computed once. An interrupted comparison goes on where it stopped.
    Accuracies are means per class; differences are to the best recipe, paired by fold and seed.
    """
    from visualwords.apps.command_line.terminal import equivalent_command
    from visualwords.apps.evaluation.comparing import compare as compare_recipes
    from visualwords.apps.report.comparison import comparison_plot, write_comparison
    from visualwords.files import write_atomically
    from visualwords.folders import ImageFolder

    if sum((run.as_json, as_csv, as_markdown)) > 1:
        raise click.UsageError("--json, --csv and --markdown exclude each other")
    images = ImageFolder(folder)
    if folds is None and "test" not in images.splits:
        folds = 5
    with run.progress() as progress:
        rows = compare_recipes(
            images, recipes, folds, seeds, random_state=seed, progress=progress, **run.settings
        )
    run.skip([*images.skipped, *(one for row in rows for one in row.skipped)])
    run.check_strict()
    if plot is not None:
        write_atomically(plot, comparison_plot(rows).encode("utf-8"))
    if report is not None:
        write_comparison(report, rows, title=folder, command=equivalent_command())
    if as_csv:
        _print_csv(rows, raw)
    elif as_markdown:
        _print_markdown(rows)
    elif not run.as_json:
        _print(rows, f"{folds} folds" if folds else "the test part", seeds)
    found = [row.to_json() for row in rows]
    run.print_summary(
        {"folds": folds, "seeds": seeds, "recipes": found, "seconds": run.times.seconds}
    )
    return run.exit_code()


def _cells(row: "ComparedRecipe", is_best: bool) -> list[str]:
    deviation = f" ± {100 * row.deviation:.1f}" if len(row.figures) > 1 else ""
    low, high = row.interval
    difference = f"{100 * row.difference:.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
    return [
        row.name,
        f"{100 * row.mean:.1f}{deviation}",
        "best" if is_best else difference,
        f"{row.seconds:.2f}",
        f"{row.model_bytes / 1e6:.2f}",
    ]


def _print(rows: "list[ComparedRecipe]", trials: str, seeds: int) -> None:
    from visualwords.apps.command_line.terminal import print_table, show

    print_table(HEAD, [_cells(row, row is rows[0]) for row in rows], right=HEAD[1:])
    about = "CPU: to train and test once, without what recipes share."
    counted = f"{seeds} seed{'s' * (seeds > 1)}"
    show(f"Mean accuracy per class on {trials}, {counted}. {about}")


def _print_markdown(rows: "list[ComparedRecipe]") -> None:
    from visualwords.apps.command_line.terminal import printable

    lines = [_cells(row, row is rows[0]) for row in rows]
    for cells in (HEAD, ("---", *["---:"] * (len(HEAD) - 1)), *lines):
        print(printable(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"))


def _print_csv(rows: "list[ComparedRecipe]", raw: bool) -> None:
    import csv

    from visualwords.apps.command_line.csv_cells import csv_cells, is_raw

    writer = csv.writer(sys.stdout, lineterminator="\n")
    for number, row in enumerate(rows):
        values = row.to_json()
        values["difference_low"], values["difference_high"] = values.pop("difference_interval_95")
        values["trials"] = " ".join(f"{figure:.6f}" for figure in values["trials"])
        values["recipe"] = json.dumps(values["recipe"])
        if number == 0:
            writer.writerow(values)
        writer.writerow(csv_cells(values.values(), is_raw(raw)))
