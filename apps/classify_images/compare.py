"""classify-images compare"""

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.classify_images import options, recipe_flags
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from visualwords.apps.evaluation.comparing import ComparedRecipe
    from visualwords.apps.pipeline.recipe import Recipe


@click.command(cls=Verb)
@click.argument("folder", type=click.Path())
@click.option(
    "--vary",
    multiple=True,
    metavar="KEY=A,B,C",
    help="Try these values of a setting, a flag's name or a key of --set; of several, all "
    "combinations. Example: --vary codebook=kmeans,hik --vary words=100,200.",
)
@recipe_flags.several
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    metavar="N",
    help="Test every image on a model of the other folds [default: 5, or the folder's test part].",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Repeat with N random seeds.",
)
@shared.as_csv
@shared.raw
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the results as Markdown.")
@click.option(
    "--plot", type=click.Path(dir_okay=False), metavar="SVG", help="Draw the results to a file."
)
@shared.report
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
    **reading: Any,
) -> int:
    """Compare recipes on the images of FOLDER.

    Recipes are several --recipe, or one of them (or of --feature) with settings that --vary names.
    What recipes share is computed once. An interrupted comparison goes on where it stopped.
    Accuracies are means per class; differences are to the best recipe, paired by fold and seed.
    """
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.command_line.settings_file import equivalent_command
    from visualwords.apps.command_line.terminal import check_output
    from visualwords.apps.evaluation.comparing import compare as compare_recipes
    from visualwords.apps.report.comparison import comparison_plot, write_comparison
    from visualwords.files import write_atomically
    from visualwords.folders import ImageFolder

    if sum((reading["as_json"], as_csv, as_markdown)) > 1:
        raise click.UsageError("--json, --csv and --markdown exclude each other")
    for path in (plot, report):
        if path is not None:
            check_output(path)
    run, images = Run(**reading), ImageFolder(folder)
    if folds is None and "test" not in images.splits:
        folds = 5
    with run.progress() as progress:
        rows = compare_recipes(
            images,
            recipes,
            folds,
            seeds,
            random_state=seed,
            n_jobs=run.n_jobs,
            cache_dir=run.cache_dir,
            cache_size=run.cache_size,
            max_pixels=run.max_pixels,
            progress=progress,
        )
    run.skip([*images.skipped, *dict.fromkeys(s for row in rows for s in row.skipped)])
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
        _print_table(rows, folds, seeds)
    run.print_summary(
        {
            "folds": folds,
            "seeds": seeds,
            "recipes": [row.to_json() for row in rows],
            "seconds": run.times.seconds,
        }
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


HEAD = ("recipe", "accuracy %", "below the best (95 %)", "CPU s", "MB")


def _print_table(rows: "list[ComparedRecipe]", folds: int | None, seeds: int) -> None:
    from rich.table import Table
    from rich.text import Text

    from visualwords.apps.command_line.terminal import printable, stdout

    table = Table()
    for name in HEAD:
        table.add_column(name, justify="left" if name == "recipe" else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in _cells(row, row is rows[0])))
    stdout().print(table)
    trials = f"{folds} folds" if folds else "the test part"
    stdout().print(
        Text(
            f"Mean accuracy per class on {trials}, {seeds} seed{'s' * (seeds > 1)}. CPU: to train "
            "and test once, without what recipes share."
        )
    )


def _print_markdown(rows: "list[ComparedRecipe]") -> None:
    from visualwords.apps.command_line.terminal import printable

    print(f"| {' | '.join(HEAD)} |")
    print(f"|{'|'.join('---' if name == 'recipe' else '---:' for name in HEAD)}|")
    for row in rows:
        cells = (cell.replace("|", "/") for cell in _cells(row, row is rows[0]))
        print(printable(f"| {' | '.join(cells)} |"))


def _print_csv(rows: "list[ComparedRecipe]", raw: bool) -> None:
    import csv

    from visualwords.apps.command_line.csv_cells import csv_cells, is_raw

    raw = is_raw(raw)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    found = [row.to_json() for row in rows]
    for values in found:
        values["difference_low"], values["difference_high"] = values.pop("difference_interval_95")
        values["trials"] = " ".join(f"{figure:.6f}" for figure in values["trials"])
        values["recipe"] = json.dumps(values["recipe"])
    writer.writerow(found[0])
    writer.writerows(csv_cells(values.values(), raw) for values in found)
