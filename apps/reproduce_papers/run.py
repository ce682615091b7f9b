"""reproduce-papers run"""

import os
from typing import TYPE_CHECKING

import click

from visualwords.apps.reproduce_papers.experiments import EXPERIMENTS

if TYPE_CHECKING:
    from visualwords.apps.reproduce_papers.experiments import Experiment
    from visualwords.apps.reproduce_papers.lab import Lab
    from visualwords.apps.reproduce_papers.results import Results

QUICK = "quick run on small generated data: it shows that everything works and says nothing else"


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--data",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="The folder that holds the data sets; else $VISUALWORDS_DATA, else ../shared/data.",
)
@click.option("--quick", is_flag=True, help="Small generated data, some seconds.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    default="results",
    show_default=True,
    metavar="DIR",
    help="Where NAME.md and NAME.png go.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def run(
    names: tuple[str, ...],
    data: str | None,
    quick: bool,
    output: str,
    as_json: bool,
    quiet: bool,
) -> int:
    """Repeat the experiments called NAME, print the tables and write them as Markdown and PNG."""
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r}; choose from {', '.join(EXPERIMENTS)}")
    _use_one_thread()
    from visualwords.apps.command_line.terminal import progress_bars, say
    from visualwords.apps.reproduce_papers.lab import Lab
    from visualwords.apps.reproduce_papers.writing import check_matplotlib, write_results

    check_matplotlib()
    os.makedirs(output, exist_ok=True)
    lab = Lab(data or _default_data(), quick)
    for name in names:
        with progress_bars(quiet) as lab.progress:
            results, seconds = _repeat(EXPERIMENTS[name], lab)
        remark = QUICK if quick else ""
        _show(EXPERIMENTS[name], results, as_json)
        path = write_results(output, EXPERIMENTS[name], results, seconds, remark)
        say(f"{path}: {seconds:.0f} CPU seconds" + (f"; {remark}" if remark else ""))
    return 0


def _use_one_thread() -> None:
    """Set one thread for all numerical libraries, before they start: times are then comparable."""
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR"):
        os.environ[f"{library}_NUM_THREADS"] = "1"


def _default_data() -> str:
    return os.environ.get("VISUALWORDS_DATA") or os.path.join(os.pardir, "shared", "data")


def _repeat(experiment: "Experiment", lab: "Lab") -> tuple["Results", float]:
    """Run an experiment; the paper's figures do not belong beside those of a quick run."""
    import warnings
    from dataclasses import replace

    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    from visualwords.apps.reproduce_papers.lab import timed

    for name in experiment.data if not lab.quick else ():
        lab.folder(name)
    with threadpool_limits(1), warnings.catch_warnings():
        # Solvers that stop early are part of what the papers report.
        warnings.simplefilter("ignore", ConvergenceWarning)
        results, seconds = timed(experiment.run, lab)
    if lab.quick:
        results = replace(results, rows=[replace(row, paper=None) for row in results.rows])
    return results, seconds


def _show(experiment: "Experiment", results: "Results", as_json: bool) -> None:
    """Print the rows to stdout."""
    if as_json:
        import json
        import sys
        from dataclasses import asdict

        rows = [asdict(row) | {"difference": row.difference} for row in results.rows]
        json.dump({"experiment": experiment.name, "rows": rows}, sys.stdout, indent=1)
        print()
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
