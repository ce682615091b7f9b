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
    from visualwords.apps.reproduce_papers.stored import Record

ALL = "all"


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
    "--again", is_flag=True, help="With all: also run what is stored for this version already."
)
@click.option(
    "--pages", is_flag=True, help="Write the pages again from stored results; run nothing."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    default="results",
    show_default=True,
    metavar="DIR",
    help="Output folder for NAME.json, NAME.md, NAME.png and summary.md.",
)
@shared.as_json
@shared.quiet
def run(
    names: tuple[str, ...],
    data: str | None,
    quick: bool,
    again: bool,
    pages: bool,
    output: str,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run the experiments NAME, print their tables and write them as JSON, Markdown and PNG.

    NAME may be all: experiments whose results are stored for this version of the program are then
    skipped, so that an interrupted run goes on where it stopped.
    """
    unknown = [name for name in names if name not in (*EXPERIMENTS, ALL)]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r}; choose from all, {', '.join(EXPERIMENTS)}")
    _use_one_thread()
    from visualwords.apps.command_line.terminal import note, progress_bars
    from visualwords.apps.reproduce_papers.lab import Lab
    from visualwords.apps.reproduce_papers.summary import write_summary
    from visualwords.apps.reproduce_papers.writing import NO_FIGURE, QUICK, can_draw, write_record

    os.makedirs(output, exist_ok=True)
    if pages:
        return _write_pages(names, output)
    lab = Lab(data or _default_data(), quick)
    for name in _to_run(names, output, quick, again):
        with progress_bars(quiet) as lab.progress:
            record = _repeat(EXPERIMENTS[name], lab)
        _show(EXPERIMENTS[name], record, as_json)
        path = write_record(output, record)
        note(f"{path}: {record.seconds:.0f} CPU seconds" + (f"; {QUICK}" if quick else ""))
    if not quick:
        write_summary(output)
    if not can_draw():
        note(NO_FIGURE)
    return 0


def _to_run(names: tuple[str, ...], output: str, quick: bool, again: bool) -> list[str]:
    """Return the experiments to run: those named, or all that are not stored for this version."""
    if ALL not in names:
        return list(names)
    from visualwords.apps.command_line.terminal import note
    from visualwords.apps.reproduce_papers.stored import present_state, read_all

    state = present_state()
    done = {
        record.experiment
        for record in ([] if again else read_all(output, list(EXPERIMENTS)))
        if record.state == state and record.quick == quick
    }
    if done:
        note(f"stored for this version already: {', '.join(sorted(done))} (--again repeats them)")
    return [name for name in EXPERIMENTS if name not in done]


def _write_pages(names: tuple[str, ...], output: str) -> int:
    """Write the pages of stored results, and the summary."""
    from visualwords.apps.command_line.terminal import note
    from visualwords.apps.reproduce_papers.stored import Record
    from visualwords.apps.reproduce_papers.summary import write_summary
    from visualwords.apps.reproduce_papers.writing import write_page
    from visualwords.errors import FolderError

    for name in EXPERIMENTS if ALL in names else names:
        record = Record.read(output, name)
        if record is not None:
            note(write_page(output, record))
        elif ALL not in names:
            raise FolderError(f"{output}: no stored result of {name}; run it without --pages")
    write_summary(output)
    return 0


def _use_one_thread() -> None:
    """Set one thread for all numerical libraries, before they start: times are then comparable."""
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR"):
        os.environ[f"{library}_NUM_THREADS"] = "1"


def _default_data() -> str:
    return os.environ.get("VISUALWORDS_DATA") or os.path.join(os.pardir, "shared", "data")


def _repeat(experiment: "Experiment", lab: "Lab") -> "Record":
    """Run an experiment; a quick run is not compared with the paper."""
    import warnings
    from dataclasses import replace

    from sklearn.exceptions import ConvergenceWarning

    from visualwords.apps.reproduce_papers.lab import timed
    from visualwords.apps.reproduce_papers.stored import Record
    from visualwords.parallel import one_library_thread

    for name in experiment.data if not lab.quick else ():
        lab.folder(name)
    with one_library_thread(), warnings.catch_warnings():
        # Solvers that stop early are part of what the papers report.
        warnings.simplefilter("ignore", ConvergenceWarning)
        results, seconds = timed(experiment.run, lab)
    if lab.quick:
        rows = [replace(row, paper=None, why="", unlike="") for row in results.rows]
        results = replace(results, rows=rows)
    return Record.now(experiment.name, results, seconds, lab.quick)


def _show(experiment: "Experiment", record: "Record", as_json: bool) -> None:
    """Print the rows to stdout."""
    rows = record.results.rows
    if as_json:
        from dataclasses import asdict

        from visualwords.apps.command_line.terminal import print_json

        shown = [
            asdict(row) | {"difference": row.difference, "verdict": row.verdict} for row in rows
        ]
        print_json({"experiment": experiment.name, "rows": shown})
        return
    from rich.table import Table

    from visualwords.apps.command_line.terminal import stdout
    from visualwords.apps.reproduce_papers.results import HEADER

    table = Table(title=f"{experiment.name}: {experiment.what}", title_justify="left")
    for column in HEADER:
        table.add_column(column, justify="left" if column == "what" else "right")
    for row in rows:
        table.add_row(*row.cells())
    stdout().print(table)
