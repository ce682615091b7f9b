"""Terminal output: progress, tables and one-line messages.

Results go to stdout, everything else to stderr.
"""

import json
import math
import os
import shlex
import shutil
import sys
import tempfile
import time
import unicodedata
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any, BinaryIO, ClassVar, TextIO, cast

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.table import Table
from rich.text import Text

from visualwords.errors import FolderError
from visualwords.files import write_atomically
from visualwords.progress import Progress, Silent

MOST_LISTED = 10
LONG = 2.0  # seconds of compiling that are noted
COMPILING = "visualwords.compiling"  # in a context: it has been noted


def stdout() -> Console:
    """Return the console for results; lines are wide where the output is not a terminal.

    rich obeys NO_COLOR and FORCE_COLOR; the latter must not make lines of a file narrow.
    """
    width = None if _is_terminal(sys.stdout) else 160
    return Console(file=sys.stdout, highlight=False, width=width)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def show(line: str) -> None:
    """Write a line of results to stdout."""
    stdout().print(Text(printable(line)))


def print_table(
    head: Sequence[str],
    rows: Iterable[Sequence["str | Text | list[str]"]],
    right: Container[str] = (),
    title: str = "",
) -> None:
    """Print a table.

    Parameters
    ----------
    head : names of the columns
    rows : cells of text; a list has several lines, and rich's own text keeps its colour
    right : names of columns whose cells are aligned on the right
    title : str
    """
    table = Table(title=Text(printable(title)) if title else None, title_justify="left")
    for name in head:
        table.add_column(Text(name), overflow="fold", justify="right" if name in right else "left")
    for row in rows:
        table.add_row(*(_cell(cell) for cell in row))
    stdout().print(table)


def _cell(cell: "str | Text | list[str]") -> Text:
    if isinstance(cell, Text):
        return cell
    lines = [cell] if isinstance(cell, str) else cell
    return Text("\n".join(printable(line) for line in lines))


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
    elif not _is_terminal(sys.stderr):
        lines = _Lines()
        with _compiling_noted(lines):
            yield lines
    else:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
        )
        console = Console(file=sys.stderr)
        with RichProgress(*columns, console=console, redirect_stdout=False) as bars:
            shown = _Bars(bars)
            with _compiling_noted(shown):
                yield shown


@contextmanager
def _compiling_noted(progress: Progress) -> Iterator[None]:
    """Note that numba compiles, once in a command and only where that takes long.

    Compiled loops are cached for later runs. numba's events are no public interface: with a numba
    that has none, nothing is noted.
    """
    try:
        from numba.core import event
    except ImportError:
        yield
        return
    ctx = click.get_current_context(silent=True)
    noted: dict[str, Any] = {} if ctx is None else ctx.meta

    class Clock(event.Listener):
        begun: ClassVar[list[float]] = []  # of compilations that call for others
        seconds = 0.0

        def on_start(self, event: event.Event) -> None:
            self.begun.append(time.perf_counter())

        def on_end(self, event: event.Event) -> None:
            took = time.perf_counter() - self.begun.pop()
            self.seconds += 0 if self.begun else took
            if self.seconds + took * bool(self.begun) > LONG and not noted.get(COMPILING):
                noted[COMPILING] = True
                progress.note("compiling loops, which later runs need not")

    with event.install_listener("numba:compile", Clock()):
        yield


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


def equivalent_command(ctx: click.Context | None = None) -> str:
    """The command line that says the same without a settings file.

    Flags at their defaults are left out.
    """
    ctx = ctx or click.get_current_context()
    flags: list[str] = []
    names: list[str] = []
    for parameter in ctx.command.params:
        value = ctx.params.get(parameter.name or "")
        if isinstance(parameter, click.Argument):
            names += [str(one) for one in (value if isinstance(value, tuple) else (value,))]
        elif parameter.name in ctx.params:
            flags += _flag_words(parameter, value)
    words = [*names, *flags]
    if any(name.startswith("-") for name in names):
        words = [*flags, "--", *names]
    return shlex.join([*ctx.command_path.split(), *words])


def _flag_words(option: click.Parameter, value: Any) -> list[str]:
    """The words of one option; none where it has its default."""
    if value is None or value == () or value == option.default:
        return []
    if value is False:
        return option.secondary_opts[:1]
    if value is True:
        return option.opts[:1]
    values = value if isinstance(value, tuple) else (value,)
    return [word for one in values for word in (option.opts[0], _written(one))]


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def typed(command: str, *words: str) -> str:
    """A command line that runs in the user's shell, in the current folder, for hints.

    The name alone where the shell finds this installation's script, else the path of the script,
    else Python with the module.

    Examples
    --------
    >>> typed("classify-images", "predict", "m.vw", "two words.jpg").split("predict ")[1]
    "m.vw 'two words.jpg'"
    """
    return shlex.join([*_program(command), *words])


def _program(command: str) -> list[str]:
    script = shutil.which(command, path=os.path.dirname(sys.executable))
    if script is None:
        return [sys.executable, "-m", f"visualwords.apps.{command.replace('-', '_')}"]
    found = shutil.which(command)
    if found is not None and os.path.samefile(found, script):
        return [command]
    near = os.path.relpath(script)
    return [script if near.startswith(os.pardir) else near]
