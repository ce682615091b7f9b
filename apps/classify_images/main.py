"""The command and its exit codes; everything heavy is imported by the verb that needs it."""

import os
import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn, TextIO

import click

import visualwords
from visualwords.apps.classify_images.demo import demo
from visualwords.apps.classify_images.evaluate import evaluate
from visualwords.apps.classify_images.info import info
from visualwords.apps.classify_images.predict import predict
from visualwords.apps.classify_images.train import train
from visualwords.errors import ModelFileError, VisualWordsError

FAILED, USAGE, SKIPPED, BAD_MODEL, INTERRUPTED = 1, 2, 3, 4, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(visualwords.__version__, prog_name="classify-images")
def command() -> None:
    """Learn to tell images apart from folders of examples.

    \b
    classify-images demo                        see it work
    classify-images train photos/ -o photos.vw  one folder a class
    classify-images predict photos.vw new/*.jpg

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but some files were skipped, 4 not a
    usable model file, 130 interrupted.
    """


for verb in (demo, train, evaluate, predict, info):
    command.add_command(verb)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; no error of the input shows a traceback."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _say_warning
            code = command.main(argv, prog_name="classify-images", standalone_mode=False)
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


def console() -> NoReturn:
    """Run as the installed command."""
    code = main()
    sys.stdout.flush()
    if code == INTERRUPTED:
        # Threads may still be decoding; a regular exit would pull the interpreter from under
        # them and abort. Nothing half-written has a final name.
        os._exit(code)
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
    from visualwords.apps.terminal import say

    say(f"warning: {message}")


def _fail(message: str, code: int) -> int:
    from visualwords.apps.terminal import say

    say(f"error: {message}")
    return code
