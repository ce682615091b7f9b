"""Terminal output: progress, tables and one-line messages.

Results go to stdout, everything else to stderr. rich is imported where it draws.
"""

import json
import math
import os
import shlex
import shutil
import sys
import tempfile
import unicodedata
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from visualwords.files import write_atomically
from visualwords.progress import Progress, Silent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.text import Text

MOST_LISTED = 10
LONG = 2.0  # seconds of compiling that are noted
COMPILING = "visualwords.compiling"  # in a context: it has been noted

Cell = str | list[str] | tuple[str, str]  # a line, several lines, or a line and its style


def stdout() -> "Console":
    """The console for results; lines are wide where the output is not a terminal.

    rich obeys NO_COLOR and FORCE_COLOR; the latter must not make lines of a file narrow.
    """
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 160)


def show(line: str, style: str = "") -> None:
    """Write a line of results to stdout."""
    stdout().print(_text((line, style)))


def print_table(
    head: Sequence[str], rows: Iterable[Sequence[Cell]], right: Container[str] = (), title: str = ""
) -> None:
    """Print a table.

    Parameters
    ----------
    head : names of the columns
    rows : cells; a pair is a text and its style, a list has several lines
    right : names of columns whose cells are aligned on the right
    title : str
    """
    from rich.table import Table

    table = Table(title=_text(title) if title else None, title_justify="left")
    for name in head:
        justify = "right" if name in right else "left"
        table.add_column(_text(name), overflow="fold", justify=justify)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*map(_text, row))
    stdout().print(table)


def _text(cell: Cell) -> "Text":
    from rich.text import Text

    words, style = cell if isinstance(cell, tuple) else (cell, "")
    lines = [words] if isinstance(words, str) else words
    return Text("\n".join(map(printable, lines)), style)


def printable(name: str) -> str:
    """A file's name in a form that any terminal shows on one line."""
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
    if not _remembered().get("visualwords.quiet"):
        say(message)


def detail(message: str) -> None:
    """Write one line to stderr if ``--verbose`` was given."""
    if _remembered().get("visualwords.verbose"):
        say(message)


def _remembered() -> dict[str, Any]:
    """What the command that is running remembers; nothing outside of one."""
    ctx = click.get_current_context(silent=True)
    return {} if ctx is None else ctx.meta


def say_skipped(skipped: Sequence[Iterable[str]]) -> None:
    """List the skipped files, each with the reason."""
    if skipped:
        say(f"{len(skipped)} file{'s' * (len(skipped) != 1)} skipped:")
    for name, reason in skipped[:MOST_LISTED]:
        say(f"  {name}: {reason}")
    if len(skipped) > MOST_LISTED:
        say(f"  … and {len(skipped) - MOST_LISTED} more (--json lists all)")


def listed(skipped: Iterable[Iterable[str]]) -> list[dict[str, str]]:
    """The skipped files as JSON has them."""
    return [{"path": path, "reason": reason} for path, reason in skipped]


class _Lines(Silent):
    """Prints results, with ``--verbose`` also what is being done, where there is no terminal."""

    def status(self, line: str) -> None:
        detail(line)

    def note(self, line: str) -> None:
        say(line)


class _Bars:
    """Draws one bar for each stage, by rich's own progress."""

    def __init__(self, bars: "RichProgress"):
        self.bars = bars

    def start(self, stage: str, total: int) -> None:
        self.task = self.bars.add_task(printable(stage), total=total)

    def advance(self, steps: int = 1) -> None:
        self.bars.advance(self.task, steps)

    def status(self, line: str) -> None:
        self.bars.console.print(_text((line, "dim")))

    def note(self, line: str) -> None:
        self.bars.console.print(_text(line))


@contextmanager
def progress_bars(quiet: bool = False) -> Iterator[Progress]:
    """Show progress on stderr while the block runs; nothing where stderr is not a terminal."""
    if quiet:
        yield Silent()
    elif not sys.stderr.isatty():
        with _compiling_noted(_Lines()) as lines:
            yield lines
    else:
        from rich import progress as rich
        from rich.console import Console

        columns = (
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            rich.TimeRemainingColumn(elapsed_when_finished=True),
        )
        console = Console(file=sys.stderr)
        with (
            rich.Progress(*columns, console=console, redirect_stdout=False) as bars,
            _compiling_noted(_Bars(bars)) as shown,
        ):
            yield shown


@contextmanager
def _compiling_noted(progress: Progress) -> Iterator[Progress]:
    """Note that numba compiles, once in a command and only where that takes long.

    Compiled loops are cached for later runs. numba's events are no public interface: with a numba
    that has none, nothing is noted.
    """
    try:
        from numba.core import event
    except ImportError:
        yield progress
        return
    noted = _remembered()

    class Clock(event.TimingListener):
        def on_end(self, event: event.Event) -> None:
            super().on_end(event)
            if self.done and self.duration > LONG and not noted.get(COMPILING):
                noted[COMPILING] = True
                progress.note("compiling loops, which later runs need not")

    with event.install_listener("numba:compile", Clock()):
        yield progress


def print_json(value: Any) -> None:
    """Print a result as JSON, indented, with a newline at its end."""
    print(json_text(value, indent=1))


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as JSON; a number that is not finite is null, as other programs expect.

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


@contextmanager
def results_in(path: str | None, *, held: bool = False) -> Iterator[None]:
    """Write what the block prints to a file, atomically; to stdout if there is none.

    It waits in a temporary file until the block ends; so does what goes to stdout if it is
    ``held``, and is lost if the block fails.
    """
    if path is None and not held:
        yield
        return
    form: dict[str, Any] = {"encoding": "utf-8", "errors": "surrogateescape", "newline": ""}
    with tempfile.TemporaryFile("w+", **form) as file:
        with redirect_stdout(file):
            yield
        file.seek(0)
        if path is None:
            shutil.copyfileobj(file, sys.stdout)
        else:
            written = cast(BinaryIO, file.buffer)
            write_atomically(path, lambda target: shutil.copyfileobj(written, target))


def equivalent_command(**changes: Any) -> str:
    """The command line that asks for the same without a settings file.

    Parameters
    ----------
    changes : parameters that get another value, and those that are left out: None
    """
    ctx = click.get_current_context()
    flags: list[str] = []
    names: list[str] = []
    for parameter in ctx.command.params:
        name = parameter.name or ""
        value = changes.get(name, ctx.params.get(name))
        values = value if type(value) is tuple else (value,)
        source = ctx.get_parameter_source(name)
        is_usual = name not in changes and source is click.core.ParameterSource.DEFAULT
        if isinstance(parameter, click.Argument):
            names += map(str, values)
        elif isinstance(value, bool):
            flags += [] if is_usual else (parameter.opts if value else parameter.secondary_opts)[:1]
        elif value is not None and not is_usual:
            flags += [word for one in values for word in (parameter.opts[0], _written(one))]
    words = [*names, *flags]
    if any(name.startswith("-") for name in names):
        words = [*flags, "--", *names]
    return shlex.join([*ctx.command_path.split(), *words])


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def typed(command: str, *words: str) -> str:
    """A command line that runs in the user's shell, for hints.

    The name alone where the shell finds this installation's script, else Python with the module.

    Examples
    --------
    >>> typed("classify-images", "predict", "m.vw", "two words.jpg").split("predict ")[1]
    "m.vw 'two words.jpg'"
    """
    found = shutil.which(command)
    if found is not None and os.path.dirname(found) == os.path.dirname(sys.executable):
        program = [command]
    else:
        program = [sys.executable, "-m", f"visualwords.apps.{command.replace('-', '_')}"]
    return shlex.join([*program, *words])
