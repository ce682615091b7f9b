"""How commands and their verbs run: exit codes, and errors and warnings as one line each."""

import gc
import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn, TextIO

import click

from visualwords.apps.command_line.exit_codes import (
    BAD_MODEL,
    DONE,
    FAILED,
    INTERRUPTED,
    UNEXPECTED,
)
from visualwords.errors import ModelFileError, VisualWordsError

DEBUG = "--debug"


class VerbGroup(click.Group):
    """A command; a mistyped verb gets the nearest ones as a suggestion."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the verb that the first argument names."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            self.fail_unknown(ctx, args[0])
        return super().resolve_command(ctx, args)

    def fail_unknown(self, ctx: click.Context, name: str, what: str = "verb") -> NoReturn:
        """Fail with the verbs that are spelled alike, or with all of them."""
        from difflib import get_close_matches

        near = get_close_matches(name, self.commands)
        every = ", ".join(self.commands)
        hint = f"did you mean {' or '.join(near)}?" if near else f"choose from {every}"
        ctx.fail(f"no {what} {name!r}; {hint}")


class Verb(click.Command):
    """A verb that takes its settings from the command line, else from ``--config F.toml``.

    The keys of the file are the names of the flags without the dashes, and those of the
    arguments. Flags on the command line override the file. Relative paths are relative to the
    current folder, as on the command line.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(
                ["--config"],
                type=click.Path(dir_okay=False),
                metavar="F.toml",
                is_eager=True,
                expose_value=False,
                callback=_take_settings,
                help="Read flags from a TOML file; flags on the command line override it.",
            )
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; print the equivalent command if settings came from a file."""
        if ctx.default_map:
            from visualwords.apps.command_line.settings_file import equivalent_command
            from visualwords.apps.command_line.terminal import say

            say(f"equivalent command: {equivalent_command(ctx)}")
        return super().invoke(ctx)


def _take_settings(ctx: click.Context, _: click.Parameter, path: str | None) -> None:
    if path is not None:
        from visualwords.apps.command_line.settings_file import read_config

        read_config(ctx, path)


def run_command(command: click.Command, name: str, argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; errors are one sentence, never a traceback.

    ``--debug`` anywhere before ``--`` adds the traceback of an unexpected error.
    """
    argv, debug = _without_debug(_typed_arguments() if argv is None else argv)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _say_warning
            code = command.main(argv, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
        return int(code or DONE)
    except click.ClickException as problem:
        shown = io.StringIO()
        problem.show(file=shown)
        _say_lines(shown.getvalue().rstrip("\n"))
        return problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except ModelFileError as problem:
        return _fail(str(problem), BAD_MODEL)
    except VisualWordsError as problem:
        return _fail(str(problem), FAILED)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        return FAILED
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        return _fail(f"{where}{(problem.strerror or str(problem)).lower()}", FAILED)
    except MemoryError:
        return _fail("not enough memory; use fewer images or a smaller recipe", FAILED)
    except RecursionError:
        return _fail("the input is nested too deeply; use plain values", FAILED)
    except Exception as problem:
        if debug:
            import traceback

            _say_lines("".join(traceback.format_exception(problem)).rstrip("\n"))
        return _fail(_unexpected(problem), UNEXPECTED)


def _typed_arguments() -> list[str]:
    """Return the arguments of this process, with patterns such as ``new/*.jpg`` expanded.

    Shells do that, but not those of Windows.
    """
    if sys.platform != "win32":
        return sys.argv[1:]
    from glob import glob

    found = [[word] if os.path.lexists(word) else sorted(glob(word)) for word in sys.argv[1:]]
    return [path for word, paths in zip(sys.argv[1:], found) for path in paths or [word]]


def _without_debug(argv: Sequence[str]) -> tuple[list[str], bool]:
    """Return the arguments without ``--debug``, and whether it was there."""
    end = argv.index("--") if "--" in argv else len(argv)
    rest = [word for i, word in enumerate(argv) if word != DEBUG or i > end]
    return rest, len(rest) < len(argv)


def run_installed(main: Callable[[], int]) -> NoReturn:
    """Run a command that owns its process: Ctrl-C ends it within seconds, whatever is running."""
    from visualwords.apps.command_line.interruption import answer_ctrl_c_in_time

    _open_standard_streams()
    code = INTERRUPTED
    with suppress(KeyboardInterrupt):  # main handles it once it has started
        answer_ctrl_c_in_time()
        code = main()
    _end(code)


def _open_standard_streams() -> None:
    """Replace closed streams, and let none fail on characters that it can't encode.

    A closed stream's number would go to the next file that is opened. On Windows, files and pipes
    get UTF-8, unless PYTHONIOENCODING names another encoding, instead of a code page with few
    characters; and the lines' ends as they are, since those of CSV have a carriage return already.
    """
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            with suppress(OSError):
                while os.open(os.devnull, os.O_RDWR) < number:
                    pass
            mode = "r" if number == 0 else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if sys.platform == "win32" and not stream.isatty():
                named = "PYTHONIOENCODING" in os.environ
                stream.reconfigure(encoding=stream.encoding if named else "utf-8", newline="\n")
            stream.reconfigure(errors="backslashreplace")


def _end(code: int) -> NoReturn:
    """End the process."""
    try:
        sys.stdout.flush()
    except OSError as problem:  # the disk is full, or the reader has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for the flush at the very end
        if not isinstance(problem, BrokenPipeError):
            _fail(f"output: {(problem.strerror or str(problem)).lower()}", FAILED)
        code = code or FAILED
    if code == INTERRUPTED:
        # Threads may still be decoding; a regular exit would finalize the interpreter under them
        # and abort. Incomplete files have only temporary names.
        os._exit(code)
    gc.freeze()  # skips a last search for reference cycles, which takes 0.2 s
    sys.exit(code)


def _say_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning of a library as one line, without the line of code that raised it."""
    from visualwords.apps.command_line.terminal import say

    say(f"warning: {message}")


def _unexpected(problem: Exception) -> str:
    """Describe an error that no rule foresees, with the line of code a bug report needs."""
    from traceback import extract_tb

    place = extract_tb(problem.__traceback__)[-1]
    what = " ".join(f"{type(problem).__name__}: {problem}".split())
    return (
        f"unexpected {what} ({os.path.basename(place.filename)}, line {place.lineno}); "
        f"this is a bug: please report it with the command and what {DEBUG} adds to it"
    )


def _say_lines(text: str) -> None:
    from visualwords.apps.command_line.terminal import say

    for line in text.split("\n"):
        say(line)


def _fail(message: str, code: int) -> int:
    from visualwords.apps.command_line.terminal import say

    say(f"error: {message}")
    return code
