"""Repeat the experiments of the papers and compare the results.

    python -m benchmarks.papers list                   the experiments and the data they need
    python -m benchmarks.papers run pmk-fig3           needs no data
    python -m benchmarks.papers run all --data DIR     one after the other

A run prints the table of an experiment and writes it as NAME.json, NAME.md and NAME.png.
"""

import argparse
import importlib.util
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.papers.experiments import Experiment
    from benchmarks.papers.lab import Lab
    from benchmarks.papers.results import Record

ALL = "all"
OUTPUT = os.path.join("docs", "results")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    import benchmarks.timing  # noqa: F401 - one thread, before numerical libraries start
    from benchmarks.papers.experiments import all_experiments
    from visualwords.errors import VisualWordsError

    known = all_experiments()
    options = _parser(list(known)).parse_args(argv)
    try:
        if options.verb == "list":
            _list(known.values())
            return 0
        chosen = [known[name] for name in (known if ALL in options.names else options.names)]
        (_write_pages if options.pages else _run)(options, chosen)
    except VisualWordsError as problem:
        print(f"benchmarks.papers: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; finished experiments are stored", file=sys.stderr)
        return 130
    return 0


def _parser(names: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.papers", description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="list the experiments with their source, data and time")
    run = verbs.add_parser("run", help="run experiments, print and write their tables")
    run.add_argument("names", nargs="+", choices=[*names, ALL], metavar="NAME")
    run.add_argument("--data", metavar="DIR", help="folder of the data sets [$VISUALWORDS_DATA]")
    run.add_argument("--quick", action="store_true", help="small generated data; takes seconds")
    run.add_argument("--pages", action="store_true", help="write the pages of stored results only")
    run.add_argument("-o", "--output", default=OUTPUT, metavar="DIR", help=f"[{OUTPUT}]")
    run.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return parser


def _list(experiments: Iterable["Experiment"]) -> None:
    from benchmarks.papers.pages import markdown_table

    rows = [
        [
            *(one.name, f"{one.paper.split(':')[0]}, {one.place}", one.what),
            *(", ".join(one.data) or "generated", f"{one.minutes:g}"),
        ]
        for one in experiments
    ]
    print(markdown_table(("experiment", "paper", "what", "data", "minutes"), rows))


def _run(options: argparse.Namespace, chosen: list["Experiment"]) -> None:
    from benchmarks.data import DATA
    from benchmarks.papers.lab import Lab
    from benchmarks.papers.pages import markdown_table, write_record, write_summary
    from benchmarks.papers.results import HEADER
    from visualwords.apps.command_line.terminal import progress_bars
    from visualwords.errors import VisualWordsError

    if sys.modules.get("matplotlib", ...) is None or not importlib.util.find_spec("matplotlib"):
        raise VisualWordsError("the figures need matplotlib: pip install matplotlib")
    os.makedirs(options.output, exist_ok=True)
    lab = Lab(options.data or DATA, options.quick)
    for one in chosen:
        with progress_bars(options.quiet) as lab.progress:
            record = _repeat(one, lab)
        cells = [row.cells() for row in record.results.rows]
        print(f"{one.name}: {one.what}\n\n{markdown_table(HEADER, cells)}\n")
        path = write_record(options.output, record)
        print(f"{path}: {record.seconds:.0f} CPU seconds", file=sys.stderr)
    if not options.quick:
        write_summary(options.output)


def _repeat(experiment: "Experiment", lab: "Lab") -> "Record":
    """Run an experiment; a quick run is not compared with the paper."""
    from sklearn.exceptions import ConvergenceWarning

    from benchmarks.papers.lab import timed
    from benchmarks.papers.results import Record
    from visualwords.parallel import one_library_thread

    for name in experiment.data if not lab.quick else ():
        lab.folder(name)
    with one_library_thread(), warnings.catch_warnings():
        # Solvers that stop early are part of what the papers report.
        warnings.simplefilter("ignore", ConvergenceWarning)
        results, seconds = timed(experiment.run, lab)
    if lab.quick:
        results = results.without_paper()
    return Record.now(experiment.name, results, seconds, lab.quick)


def _write_pages(options: argparse.Namespace, chosen: list["Experiment"]) -> None:
    """Write the pages of stored results, and the summary."""
    from benchmarks.papers.pages import write_page, write_summary
    from benchmarks.papers.results import Record
    from visualwords.errors import FolderError

    for one in chosen:
        record = Record.read(options.output, one.name)
        if record is not None:
            write_page(options.output, record)
        elif ALL not in options.names:
            raise FolderError(f"{options.output}: no stored result of {one.name}")
    write_summary(options.output)


if __name__ == "__main__":
    raise SystemExit(main())
