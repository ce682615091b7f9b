"""How commands and their verbs run: help, settings files, exit codes, errors, Ctrl-C."""

import gc
import io
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn, TextIO

import click
from rich_click import RichCommand, RichContext, RichGroup, RichHelpFormatter

from visualwords.apps.command_line.exit_codes import (
    BAD_MODEL,
    DONE,
    FAILED,
    INTERRUPTED,
    UNEXPECTED,
)
from visualwords.apps.command_line.options import BASICS, FILE, flag
from visualwords.errors import ModelFileError, VisualWordsError

DEBUG = "--debug"
PATIENCE = 1.0  # seconds between Ctrl-C and the end, where compiled code delays KeyboardInterrupt
HELP_NAMES = {"help_option_names": ["-h", "--help"]}
EVERYTHING = "visualwords.help_all"  # in a context: the help shows all groups of options


class VerbGroup(RichGroup):
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


class Verb(RichCommand):
    """A verb that takes its settings from the command line, else from ``--config F.toml``.

    The keys of the file are the names of the flags without the dashes, and those of the
    arguments. Flags on the command line override the file. Relative paths are relative to the
    current folder, as on the command line. ``--help`` shows the basic options and names the
    others, ``--help-all`` shows all, in groups.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        own: dict[str, Any] = {"is_eager": True, "expose_value": False}
        for declare in (
            flag(
                "--config F.toml",
                "Read flags from a TOML file; flags on the command line override it.",
                FILE,
                callback=_take_settings,
                **own,
            ),
            flag("--help-all", "Show all options, in groups.", callback=_show_all, **own),
        ):
            declare(self)

    def get_help_option(self, ctx: RichContext) -> click.Option | None:  # type: ignore[override]
        """Return the option --help, which has no group."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.help = "Show the basic options."
        return option

    def format_options(self, ctx: RichContext, formatter: RichHelpFormatter) -> None:  # type: ignore[override]
        """Write the basic options, then the names of the others or their help."""
        groups: dict[str, list[click.Parameter]] = {BASICS: []}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option):
                title = getattr(parameter, "panel", None) or BASICS
                groups.setdefault(title, []).append(parameter)
        basics = groups.pop(BASICS)
        shown = {BASICS: basics} | (groups if ctx.meta.get(EVERYTHING) else {})
        for title, options in shown.items():
            panel = formatter.option_panel_class(title, [option.opts[0] for option in options])
            formatter.write(panel.render(self, ctx, formatter))
        if len(shown) <= len(groups):
            formatter.write("\n More options, with --help-all:\n")
            for title, options in groups.items():
                names = ", ".join(max(option.opts, key=len) for option in options)
                formatter.write(f"   {title}: {names}\n")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; print the equivalent command if settings came from a file."""
        if ctx.default_map:
            from visualwords.apps.command_line.terminal import equivalent_command, say

            say(f"equivalent command: {equivalent_command(ctx)}")
        return super().invoke(ctx)


def _show_all(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        ctx.meta[EVERYTHING] = True
        print(ctx.get_help())
        ctx.exit()


def _take_settings(ctx: click.Context, _: click.Parameter, path: str | None) -> None:
    """Take the defaults of a verb's flags from a TOML file."""
    if path is None:
        return
    known = {_key(p): p for p in ctx.command.params if p.name not in ("config", "help_all")}
    found = _read_toml(path)
    for key, value in found.items():
        if key not in known:
            raise click.UsageError(
                f"{path}: {ctx.command.name} has no setting {key!r}; it has "
                f"{', '.join(sorted(known))}"
            )
        _check_kind(path, key, value, known[key])
    # As text, numbers are converted like those of flags: 1.5 is refused where an integer is due.
    ctx.default_map = {known[key].name or "": _as_written(v) for key, v in found.items()}


def _read_toml(path: str) -> dict[str, Any]:
    import tomllib

    from visualwords.files import read_settings

    try:
        return tomllib.loads(read_settings(path).decode())
    except OSError as problem:
        raise click.UsageError(f"{path}: {(problem.strerror or str(problem)).lower()}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise click.UsageError(f"{path}: not a TOML file: {problem}") from None
    except RecursionError:
        raise click.UsageError(f"{path}: nested too deeply; settings are plain values") from None


def _key(parameter: click.Parameter) -> str:
    """The name of a flag without its dashes, or that of an argument."""
    long = [name for name in parameter.opts if name.startswith("--")]
    return long[0].removeprefix("--") if long else str(parameter.name)


def _as_written(value: Any) -> Any:
    if isinstance(value, list):
        return [str(one) for one in value]
    return value if isinstance(value, bool) else str(value)


def _check_kind(path: str, key: str, value: Any, parameter: click.Parameter) -> None:
    """Refuse values that the flag's own type would silently turn into text."""
    if getattr(parameter, "is_flag", False):
        wanted, right = "true or false", isinstance(value, bool)
    elif parameter.multiple or parameter.nargs == -1:
        wanted, right = "a list", isinstance(value, list)
    else:
        is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
        wanted, right = "one value", is_plain
    if not right:
        raise click.UsageError(f"{path}: {key} is {value!r}; it must be {wanted}")


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
    except SystemExit as ended:  # rich-click's answer to a command without arguments
        return int(ended.code or DONE)
    except click.ClickException as problem:
        ctx = getattr(problem, "ctx", None)
        _say_lines(f"{ctx.command_path if ctx else name} --help lists the options")
        return _fail(problem.format_message(), problem.exit_code)
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
    """The arguments of this process, with patterns such as ``new/*.jpg`` expanded.

    Shells do that, but not those of Windows.
    """
    if sys.platform != "win32":
        return sys.argv[1:]
    from glob import glob

    found = [[word] if os.path.lexists(word) else sorted(glob(word)) for word in sys.argv[1:]]
    return [path for word, paths in zip(sys.argv[1:], found) for path in paths or [word]]


def _without_debug(argv: Sequence[str]) -> tuple[list[str], bool]:
    """The arguments without ``--debug``, and whether it was there."""
    end = argv.index("--") if "--" in argv else len(argv)
    rest = [word for i, word in enumerate(argv) if word != DEBUG or i > end]
    return rest, len(rest) < len(argv)


def _say_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning of a library as one line, without the line of code that raised it."""
    _say_lines(f"warning: {message}")


def _unexpected(problem: Exception) -> str:
    """An error that no rule foresees, with the line of code a bug report needs."""
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


def run_installed(main: Callable[[], int]) -> NoReturn:
    """Run a command that owns its process: Ctrl-C ends it within seconds, whatever is running."""
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


def answer_ctrl_c_in_time() -> None:
    """Start to watch for Ctrl-C; only for a program that owns the process.

    Python raises ``KeyboardInterrupt`` between two bytecode instructions, which a compiled loop
    can delay by seconds. The program gets `PATIENCE` to stop by itself, then the process ends.
    Nothing is lost by that: files get their names only when they are complete.
    """
    signal.signal(signal.SIGINT, _interrupt_once)
    sys.unraisablehook = _pass_over_interruption
    receiving, sending = socket.socketpair()
    sending.setblocking(False)
    signal.set_wakeup_fd(sending.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(receiving, sending), daemon=True).start()


def _interrupt_once(number: int, frame: FrameType | None) -> None:
    # A second Ctrl-C would interrupt the handling of the first.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _pass_over_interruption(unraisable: "sys.UnraisableHookArgs") -> None:
    """Print what a finalizer can't raise, unless Ctrl-C met it there; `_watch` ends the process."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def _watch(receiving: socket.socket, sending: socket.socket) -> None:
    # The handler in C writes the number of every signal, even while the interpreter is busy.
    # The argument ``sending`` keeps the socket open as long as the thread runs.
    while signal.SIGINT not in receiving.recv(1):
        pass
    time.sleep(PATIENCE)
    sys.stderr.write("interrupted\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)
