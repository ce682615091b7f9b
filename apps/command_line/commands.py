"""How every command runs: where, its exit codes, and errors and warnings as one line each."""

import functools
import gc
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn, TextIO

import click

from visualwords.errors import ModelFileError, VisualWordsError

FAILED, USAGE, SKIPPED, BAD_MODEL, INTERRUPTED = 1, 2, 3, 4, 130


def run_command(command: click.Command, name: str, argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; no error of the input shows a traceback."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _say_warning
            code = command.main(argv, prog_name=name, standalone_mode=False)
        return int(code or 0)
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
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        return FAILED
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        return _fail(f"{where}{(problem.strerror or str(problem)).lower()}", FAILED)
    except MemoryError:
        return _fail("not enough memory; use fewer images or a smaller recipe", FAILED)


def scheduler(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option that moves all parallel work of a verb to a cluster."""

    @click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Work on a Dask cluster: tcp://host:port, or local:4 for processes of this machine.",
    )
    @functools.wraps(verb)
    def anywhere(*args: Any, scheduler: str | None, **kwargs: Any) -> Any:
        if scheduler is None:
            return verb(*args, **kwargs)
        from visualwords.apps.cluster.connection import on_cluster
        from visualwords.apps.command_line.terminal import say

        with on_cluster(scheduler) as client:
            if client is not None:
                say(f"cluster: watch it at {client.dashboard_link}")
            return verb(*args, **kwargs)

    return anywhere


def run_installed(main: Callable[[], int]) -> NoReturn:
    """Run a command that owns its process: Ctrl-C ends it in time, whatever is running."""
    from visualwords.apps.command_line.interruption import answer_ctrl_c_in_time

    code = INTERRUPTED
    with suppress(KeyboardInterrupt):  # main answers it, but for the moments before it begins
        answer_ctrl_c_in_time()
        code = main()
    _end(code)


def _end(code: int) -> NoReturn:
    """End the process."""
    sys.stdout.flush()
    if code == INTERRUPTED:
        # Threads may still be decoding; a regular exit would pull the interpreter from under
        # them and abort. Nothing half-written has a final name.
        os._exit(code)
    gc.freeze()  # else all objects are searched for cycles once more, for a fifth of a second
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


def _fail(message: str, code: int) -> int:
    from visualwords.apps.command_line.terminal import say

    say(f"error: {message}")
    return code
