"""How every command runs: its exit code, and errors and warnings as one line each."""

import gc
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn, TextIO

import click

from visualwords.apps.command_line.exit_codes import (
    BAD_MODEL,
    DONE,
    FAILED,
    INTERRUPTED,
    UNEXPECTED,
)
from visualwords.errors import ModelFileError, VisualWordsError


def run_command(command: click.Command, name: str, argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; errors are one sentence, never a traceback."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _say_warning
            code = command.main(argv, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
        return int(code or DONE)
    except click.ClickException as problem:
        problem.show()
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
    except Exception as problem:
        if {"-v", "--verbose"} & set(sys.argv[1:] if argv is None else argv):
            traceback.print_exc()
        return _fail(_unexpected(problem), UNEXPECTED)


def run_installed(main: Callable[[], int]) -> NoReturn:
    """Run a command that owns its process: Ctrl-C ends it within seconds, whatever is running."""
    from visualwords.apps.command_line.interruption import answer_ctrl_c_in_time

    _open_closed_streams()
    code = INTERRUPTED
    with suppress(KeyboardInterrupt):  # main handles it once it has started
        answer_ctrl_c_in_time()
        code = main()
    _end(code)


def _open_closed_streams() -> None:
    """Let a closed stdout or stderr (``>&-``) swallow what is written.

    Otherwise the next file that is opened, a model perhaps, takes its number.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115


def _end(code: int) -> NoReturn:
    """End the process."""
    try:
        sys.stdout.flush()
    except OSError:  # a closed pipe or a full disk, which `run_command` has reported
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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
    place = traceback.extract_tb(problem.__traceback__)[-1]
    what = " ".join(f"{type(problem).__name__}: {problem}".split())
    return (
        f"unexpected {what} ({os.path.basename(place.filename)}, line {place.lineno}); "
        "this is a bug: please report it with the command that shows it (-v adds the traceback)"
    )


def _fail(message: str, code: int) -> int:
    from visualwords.apps.command_line.terminal import say

    say(f"error: {message}")
    return code
