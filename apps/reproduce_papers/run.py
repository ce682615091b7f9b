"""reproduce-papers run"""

import os
from typing import TYPE_CHECKING

import click

from visualwords.apps.command_line import completion
from visualwords.apps.command_line import options as shared
from visualwords.apps.reproduce_papers.experiments import EXPERIMENTS

if TYPE_CHECKING:
    from visualwords.apps.reproduce_papers.experiments import Experiment
    from visualwords.apps.reproduce_papers.lab import Lab
    from visualwords.apps.reproduce_papers.results import Results

QUICK = "quick run on small generated data: a test of the code, not of the method"


@click.command()
@click.argument(
    "names", nargs=-1, required=True, metavar="NAME...", shell_complete=completion.experiments
)
@click.option(
    "--data",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Folder of the data sets [default: $VISUALWORDS_DATA, else ../shared/data].",
)
@click.option("--quick", is_flag=True, help="Use small generated data; takes seconds.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    default="results",
    show_default=True,
    metavar="DIR",
    help="Output folder for NAME.md and NAME.png.",
)
@shared.as_json
@shared.quiet
def run(
    names: tuple[str, ...],
    data: str | None,
    quick: bool,
    output: str,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run the experiments NAME, print their tables and write them as Markdown and PNG."""
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r}; choose from {', '.join(EXPERIMENTS)}")
    _use_one_thread()
    from visualwords.apps.command_line.terminal import note, progress_bars
    from visualwords.apps.reproduce_papers.lab import Lab
    from visualwords.apps.reproduce_papers.writing import NO_FIGURE, can_draw, write_results

    os.makedirs(output, exist_ok=True)
    lab = Lab(data or _default_data(), quick)
    for name in names:
        with progress_bars(quiet) as lab.progress:
            results, seconds = _repeat(EXPERIMENTS[name], lab)
        remark = QUICK if quick else ""
        _show(EXPERIMENTS[name], results, as_json)
        path = write_results(output, EXPERIMENTS[name], results, seconds, remark)
        note(f"{path}: {seconds:.0f} CPU seconds" + (f"; {remark}" if remark else ""))
    if not can_draw():
        note(NO_FIGURE)
    return 0


def _use_one_thread() -> None:
    """Set one thread for all numerical libraries, before they start: times are then comparable."""
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR"):
        os.environ[f"{library}_NUM_THREADS"] = "1"


def _default_data() -> str:
    return os.environ.get("VISUALWORDS_DATA") or os.path.join(os.pardir, "shared", "data")


def _repeat(experiment: "Experiment", lab: "Lab") -> tuple["Results", float]:
    """Run an experiment; a quick run is not compared with the paper."""
    import warnings
    from dataclasses import replace

    from sklearn.exceptions import ConvergenceWarning

    from visualwords.apps.reproduce_papers.lab import timed
    from visualwords.threads import one_library_thread

    for name in experiment.data if not lab.quick else ():
        lab.folder(name)
    with one_library_thread(), warnings.catch_warnings():
        # Solvers that stop early are part of what the papers report.
        warnings.simplefilter("ignore", ConvergenceWarning)
        results, seconds = timed(experiment.run, lab)
    if lab.quick:
        results = replace(results, rows=[replace(row, paper=None) for row in results.rows])
    return results, seconds


def _show(experiment: "Experiment", results: "Results", as_json: bool) -> None:
    """Print the rows to stdout."""
    if as_json:
        from dataclasses import asdict

        from visualwords.apps.command_line.terminal import print_json

        rows = [asdict(row) | {"difference": row.difference} for row in results.rows]
        print_json({"experiment": experiment.name, "rows": rows})
        return
    from rich.table import Table

    from visualwords.apps.command_line.terminal import stdout
    from visualwords.apps.reproduce_papers.results import HEADER

    table = Table(title=f"{experiment.name}: {experiment.what}", title_justify="left")
    for column in HEADER:
        table.add_column(column, justify="left" if column == "what" else "right")
    for row in results.rows:
        table.add_row(*row.cells())
    stdout().print(table)
