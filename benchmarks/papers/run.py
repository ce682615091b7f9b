"""Repeat the experiments of the papers and compare the results.

    python -m benchmarks.papers list                   the experiments and the data they need
    python -m benchmarks.papers run pmk-fig3           needs no data
    python -m benchmarks.papers run all --data DIR     goes on where it stopped

A run prints the table of an experiment and writes it as NAME.json, NAME.md and NAME.png.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.papers.experiments import EXPERIMENTS

if TYPE_CHECKING:
    from benchmarks.papers.experiments import Experiment
    from benchmarks.papers.lab import Lab
    from benchmarks.papers.stored import Record

ALL = "all"
OUTPUT = os.path.join("docs", "results")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(argv)
    if options.verb == "list":
        _print_experiments()
        return 0
    _use_one_thread()
    from visualwords.errors import VisualWordsError

    try:
        return _write_pages(options) if options.pages else _run(options)
    except VisualWordsError as problem:
        print(f"benchmarks.papers: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; a run of all goes on where it stopped", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.papers", description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="list the experiments with their source, data and time")
    run = verbs.add_parser("run", help="run experiments, print and write their tables")
    run.add_argument("names", nargs="+", choices=[*EXPERIMENTS, ALL], metavar="NAME")
    run.add_argument("--data", metavar="DIR", help="folder of the data sets [$VISUALWORDS_DATA]")
    run.add_argument("--quick", action="store_true", help="small generated data; takes seconds")
    run.add_argument("--again", action="store_true", help="with all: also what is stored")
    run.add_argument("--pages", action="store_true", help="write the pages of stored results only")
    run.add_argument("-o", "--output", default=OUTPUT, metavar="DIR", help=f"[{OUTPUT}]")
    run.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return parser


def _run(options: argparse.Namespace) -> int:
    from benchmarks.papers.lab import Lab
    from benchmarks.papers.summary import write_summary
    from benchmarks.papers.writing import NO_FIGURE, can_draw, write_record
    from visualwords.apps.command_line.terminal import progress_bars

    os.makedirs(options.output, exist_ok=True)
    lab = Lab(options.data or _default_data(), options.quick)
    for name in _to_run(options):
        with progress_bars(options.quiet) as lab.progress:
            record = _repeat(EXPERIMENTS[name], lab)
        _print_rows(EXPERIMENTS[name], record)
        path = write_record(options.output, record)
        print(f"{path}: {record.seconds:.0f} CPU seconds", file=sys.stderr)
    if not options.quick:
        write_summary(options.output)
    if not can_draw():
        print(NO_FIGURE, file=sys.stderr)
    return 0


def _to_run(options: argparse.Namespace) -> list[str]:
    """Return the experiments to run: those named, or all that are not stored for this version."""
    if ALL not in options.names:
        return list(options.names)
    from benchmarks.papers.stored import present_state, read_all

    state = present_state()
    done = {
        record.experiment
        for record in ([] if options.again else read_all(options.output, list(EXPERIMENTS)))
        if record.state == state and record.quick == options.quick
    }
    if done:
        print(f"stored for this version already: {', '.join(sorted(done))}", file=sys.stderr)
    return [name for name in EXPERIMENTS if name not in done]


def _write_pages(options: argparse.Namespace) -> int:
    """Write the pages of stored results, and the summary."""
    from benchmarks.papers.stored import Record
    from benchmarks.papers.summary import write_summary
    from benchmarks.papers.writing import write_page
    from visualwords.errors import FolderError

    everything = ALL in options.names
    for name in EXPERIMENTS if everything else options.names:
        record = Record.read(options.output, name)
        if record is not None:
            print(write_page(options.output, record), file=sys.stderr)
        elif not everything:
            raise FolderError(
                f"{options.output}: no stored result of {name}; run it without --pages"
            )
    write_summary(options.output)
    return 0


def _use_one_thread() -> None:
    """Set one thread for all numerical libraries, before they start: times are then comparable."""
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR"):
        os.environ[f"{library}_NUM_THREADS"] = "1"


def _default_data() -> str:
    return os.environ.get("VISUALWORDS_DATA") or os.path.join(os.pardir, "shared", "data")


def _repeat(experiment: "Experiment", lab: "Lab") -> "Record":
    """Run an experiment; a quick run is not compared with the paper."""
    from sklearn.exceptions import ConvergenceWarning

    from benchmarks.papers.lab import timed
    from benchmarks.papers.stored import Record
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


def _print_rows(experiment: "Experiment", record: "Record") -> None:
    from benchmarks.papers.results import HEADER

    columns = [(title, "left" if title == "what" else "right") for title in HEADER]
    rows = [row.cells() for row in record.results.rows]
    _print_table(f"{experiment.name}: {experiment.what}", columns, rows)


def _print_experiments() -> None:
    titles = ("experiment", "paper", "what", "data", "minutes")
    rows = [
        [
            *(one.name, f"{one.paper.split(':')[0]}, {one.place}", one.what),
            *(", ".join(one.data) or "generated", f"{one.minutes:g}"),
        ]
        for one in EXPERIMENTS.values()
    ]
    _print_table("", [(title, "left") for title in titles], rows)


def _print_table(
    title: str, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]
) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left")
    for name, side in columns:
        table.add_column(
            name, justify="left" if side == "left" else "right", no_wrap=name == columns[0][0]
        )
    for row in rows:
        table.add_row(*row)
    Console().print(table)
