"""Repeat the experiments of the papers and compare the results.

    python -m benchmarks.papers list                   the experiments and the data they need
    python -m benchmarks.papers run pmk-fig3           needs no data
    python -m benchmarks.papers run all --data DIR     one after the other

A run prints the table of an experiment and writes it as NAME.json and NAME.md, its figure as
NAME.png.
"""

import argparse
import importlib.util
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from warnings import catch_warnings, simplefilter

import benchmarks.timing  # noqa: F401 - one thread, before numerical libraries start
from benchmarks.data import DATA
from benchmarks.papers import pages
from benchmarks.papers.lab import Experiment, Lab, all_experiments
from benchmarks.papers.results import HEADER, Record
from benchmarks.results import present_state
from visualwords.errors import FolderError, VisualWordsError
from visualwords.files import write_atomically

OUTPUT = os.path.join("docs", "results")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    known = all_experiments()
    options = _parser(list(known)).parse_args(argv)
    try:
        if options.verb == "list":
            _list(known.values())
            return 0
        chosen = [known[name] for name in (known if "all" in options.names else options.names)]
        if not options.pages:
            _run(options, chosen)
        for one in chosen if options.pages else ():
            record = Record.read(options.output, one.name)
            if record is not None:
                pages.write_page(options.output, record)
            elif "all" not in options.names:
                raise FolderError(f"{options.output}: no stored result of {one.name}")
        if not options.quick:
            pages.write_summary(options.output)
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
    run.add_argument("names", nargs="+", choices=[*names, "all"], metavar="NAME")
    run.add_argument("--data", metavar="DIR", default=DATA, help="[$VISUALWORDS_DATA]")
    run.add_argument("--quick", action="store_true", help="small generated data; takes seconds")
    run.add_argument("--pages", action="store_true", help="write the pages of stored results only")
    run.add_argument("-o", "--output", default=OUTPUT, metavar="DIR", help=f"[{OUTPUT}]")
    run.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return parser


def _list(experiments: Iterable[Experiment]) -> None:
    rows = [
        [
            *(one.name, f"{one.paper.split(':')[0]}, {one.place}", one.what),
            *(", ".join(one.data) or "generated", f"{one.minutes:g}"),
        ]
        for one in experiments
    ]
    print(pages.markdown_table(("experiment", "paper", "what", "data", "minutes"), rows))


def _run(options: argparse.Namespace, chosen: list[Experiment]) -> None:
    """Run experiments and write what they found; a quick run is not compared with the paper."""
    from sklearn.exceptions import ConvergenceWarning

    from visualwords.apps.command_line.terminal import progress_bars
    from visualwords.parallel import one_library_thread

    if sys.modules.get("matplotlib", ...) is None or not importlib.util.find_spec("matplotlib"):
        raise VisualWordsError("the figures need matplotlib: pip install matplotlib")
    os.makedirs(options.output, exist_ok=True)
    state = present_state()  # before a page of this run changes the checkout
    lab = Lab(options.data, options.quick)
    for one in chosen:
        for name in one.data if not lab.quick else ():
            lab.folder(name)
        with progress_bars(options.quiet) as lab.progress, one_library_thread(), catch_warnings():
            # Solvers that stop early are part of what the papers report.
            simplefilter("ignore", ConvergenceWarning)
            before = sum(os.times()[:4])  # of this process and of its copies
            results = one.run(lab)
        seconds = sum(os.times()[:4]) - before
        if lab.quick:
            results = results.without_paper()
        record = replace(Record.now(one.name, results, seconds, lab.quick), state=state)
        table = pages.markdown_table(HEADER, [row.cells() for row in results.rows])
        print(f"{one.name}: {one.what}\n\n{table}\n")
        if record.drawn:
            path = os.path.join(options.output, f"{one.name}.png")
            write_atomically(path, pages.picture(results.panels))
        record.write(options.output)
        path = pages.write_page(options.output, record)
        print(f"{path}: {record.seconds:.0f} CPU seconds", file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
