"""Terminal output: progress, tables and one-line messages.

Results go to stdout, everything else to stderr.
"""

import json
import math
import os
import shutil
import sys
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any, BinaryIO, TextIO, cast

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.table import Table
from rich.text import Text

from visualwords.apps.evaluation.figures import Evaluation
from visualwords.errors import FolderError
from visualwords.files import write_atomically
from visualwords.progress import Progress, Silent

MOST_LISTED = 10
MOST_CLASSES = 60  # in the table of results


def stdout() -> Console:
    """Return the console for results; lines are wide where the output is not a terminal.

    rich obeys NO_COLOR and FORCE_COLOR; the latter must not make lines of a file narrow.
    """
    width = None if _is_terminal(sys.stdout) else 160
    return Console(file=sys.stdout, highlight=False, width=width)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def printable(name: str) -> str:
    """Return a file's name in a form that any terminal shows on one line."""
    return "".join(_printable(character) for character in name)


def _printable(character: str) -> str:
    kind = unicodedata.category(character)
    if kind in ("Cc", "Cs", "Cf", "Zl", "Zp"):  # controls, undecodable bytes, direction marks
        return character.encode("unicode_escape", "surrogatepass").decode()
    return character


def say(message: str) -> None:
    """Write a warning, an error or another line that must be read to stderr."""
    print(printable(message), file=sys.stderr)


def note(message: str) -> None:
    """Write one line to stderr, unless ``--quiet`` was given."""
    if not _flag("quiet"):
        say(message)


def detail(message: str) -> None:
    """Write one line to stderr if ``--verbose`` was given."""
    if _flag("verbose"):
        say(message)


def _flag(name: str) -> bool:
    """Return whether a flag was given to the verb that is running."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(f"visualwords.{name}"))


def say_skipped(skipped: Sequence[Iterable[str]]) -> None:
    """List the skipped files, each with the reason."""
    if skipped:
        say(f"{len(skipped)} file{'s' * (len(skipped) != 1)} skipped:")
    for name, reason in skipped[:MOST_LISTED]:
        say(f"  {name}: {reason}")
    if len(skipped) > MOST_LISTED:
        say(f"  … and {len(skipped) - MOST_LISTED} more (--json lists all)")


class _Bars:
    """Draws one bar for each stage."""

    def __init__(self, bars: RichProgress):
        self.bars = bars

    def start(self, stage: str, total: int) -> None:
        self.task = self.bars.add_task(printable(stage), total=total)

    def advance(self, steps: int = 1) -> None:
        self.bars.advance(self.task, steps)

    def status(self, line: str) -> None:
        self.bars.console.print(Text(printable(line), "dim"))

    def note(self, line: str) -> None:
        self.bars.console.print(Text(printable(line)))


class _Lines(Silent):
    """Prints results, with ``--verbose`` also what is being done, where there is no terminal."""

    def status(self, line: str) -> None:
        detail(line)

    def note(self, line: str) -> None:
        say(line)


@contextmanager
def progress_bars(quiet: bool = False) -> Iterator[Progress]:
    """Show progress on stderr while the block runs; nothing where stderr is not a terminal."""
    if quiet:
        yield Silent()
        return
    if not _is_terminal(sys.stderr):
        lines = _Lines()
        with _compiling_noted(lines):
            yield lines
        return
    console = Console(file=sys.stderr)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with RichProgress(*columns, console=console, redirect_stdout=False) as bars:
        shown = _Bars(bars)
        with _compiling_noted(shown):
            yield shown


@contextmanager
def _compiling_noted(progress: Progress) -> Iterator[None]:
    """Say once that numba compiles, which takes seconds and is cached for later runs.

    numba's events are no public interface: with a numba that has none, nothing is said.
    """
    try:
        from numba.core import event
    except ImportError:
        yield
        return

    class Once(event.Listener):
        said = False

        def on_start(self, event: event.Event) -> None:
            if not self.said:
                self.said = True
                progress.note("compiling, first run only")

        def on_end(self, event: event.Event) -> None:
            pass

    with event.install_listener("numba:compile", Once()):
        yield


def print_results(evaluation: Evaluation) -> None:
    """Print precision and recall of every class, and the accuracy in a sentence."""
    console = stdout()
    console.print(_results_table(evaluation))
    console.print(evaluation.headline)


def _results_table(evaluation: Evaluation) -> Table:
    """Return the table of precision and recall."""
    table = Table()
    table.add_column("class", overflow="fold")
    for column in ("images", "right", "precision", "recall"):
        table.add_column(column, justify="right")
    table.add_column("")
    shown = np.arange(len(evaluation.classes))
    if len(shown) > MOST_CLASSES:  # those with the lowest recall, in their order
        tested = np.where(evaluation.support > 0, evaluation.recall, np.inf)
        shown = np.sort(np.argsort(tested, kind="stable")[:MOST_CLASSES])
    for i in shown.tolist():
        name = evaluation.classes[i]
        if not evaluation.support[i]:
            table.add_row(Text(printable(name)), "0", "", "", "", Text("not tested", style="dim"))
            continue
        recall = evaluation.recall[i]
        table.add_row(
            Text(printable(name)),
            str(evaluation.support[i]),
            str(evaluation.confusion[i, i]),
            f"{evaluation.precision[i]:.1%}",
            f"{recall:.1%}",
            Text("█" * round(20 * recall), style="green" if recall >= 0.9 else "yellow"),
        )
    if len(shown) < len(evaluation.classes):
        more = (
            f"… and {len(evaluation.classes) - len(shown):,} with higher recall (--json lists all)"
        )
        table.add_row(Text(more, style="dim"))
    return table


def print_json(value: Any) -> None:
    """Print a result as JSON, indented, with a newline at its end."""
    print(json_text(value, indent=1))


def json_text(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON; a number that is not finite is null, as other programs expect.

    Examples
    --------
    >>> json_text({"score": float("nan"), "range": (0.5, float("inf"))})
    '{"score": null, "range": [0.5, null]}'
    """
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


def check_output(path: str) -> None:
    """Raise an error if a file can't be written there."""
    folder, name = os.path.split(path)
    if not name:
        raise click.UsageError(f"{path!r} names no file to write; give one, such as result.out")
    folder = folder or "."
    if not os.path.isdir(folder):
        raise FolderError(f"{path}: the folder {folder} does not exist; create it first")
    if not os.access(folder, os.W_OK):
        raise FolderError(f"{path}: the folder {folder} is not writable; choose another one")


@contextmanager
def results_in(path: str | None, *, held: bool = False) -> Iterator[None]:
    """Write what the block prints to a file, atomically; to stdout if there is none.

    It waits in a temporary file until the block ends; so does what goes to stdout if it is
    ``held``, and is lost if the block fails.
    """
    if path is None and not held:
        yield
        return
    with tempfile.TemporaryFile(
        "w+", encoding="utf-8", errors="surrogateescape", newline=""
    ) as file:
        with redirect_stdout(file):
            yield
        file.seek(0)
        if path is None:
            shutil.copyfileobj(file, sys.stdout)
        else:
            written = cast(BinaryIO, file.buffer)
            write_atomically(path, lambda target: shutil.copyfileobj(written, target))
