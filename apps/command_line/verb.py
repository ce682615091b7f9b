"""How commands run: help, settings files, exit codes, errors, Ctrl-C."""

import gc
import inspect
import io
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

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
from visualwords.apps.command_line.terminal import equivalent_command, say
from visualwords.errors import ModelFileError, VisualWordsError

DEBUG = "--debug"
PATIENCE = 1.0  # seconds between Ctrl-C and the end, where compiled code delays KeyboardInterrupt
HELP_NAMES = {"help_option_names": ["-h", "--help"]}
EVERYTHING = "visualwords.help_all"  # in a context: the help shows all groups of options


class VerbGroup(RichGroup):
    """A program of several commands; a mistyped one gets the nearest ones as a suggestion."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command that the first argument names."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            self.fail_unknown(ctx, args[0])
        return super().resolve_command(ctx, args)

    def fail_unknown(self, ctx: click.Context, name: str, what: str = "command") -> NoReturn:
        """Fail with the commands that are spelled alike, or with all of them."""
        from difflib import get_close_matches

        near = get_close_matches(name, self.commands)
        every = ", ".join(self.commands)
        hint = f"did you mean {' or '.join(near)}?" if near else f"choose from {every}"
        ctx.fail(f"no {what} {name!r}; {hint}")


class Verb(RichCommand):
    """A command that takes its settings from the command line, else from ``--config F.toml``.

    The keys of the file are the names of the flags without the dashes, and those of the
    arguments. Flags on the command line override the file. Relative paths are relative to the
    current folder, as on the command line. ``--help`` shows the basic options and names the
    others, ``--help-all`` shows all, in groups.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        own: dict[str, Any] = {"is_eager": True, "expose_value": False}
        about = "Read flags from a TOML file; flags on the command line override it."
        flag("--config F.toml", about, FILE, callback=_take_settings, **own)(self)
        flag("--help-all", "Show all options, in groups.", callback=_show_all, **own)(self)

    def get_help_option(self, ctx: RichContext) -> click.Option | None:  # type: ignore[override]
        """Return the option --help, one of the basic ones."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.help, option.panel = "Show the basic options.", BASICS  # type: ignore[attr-defined]
        return option

    def format_options(self, ctx: RichContext, formatter: RichHelpFormatter) -> None:  # type: ignore[override]
        """Write the basic options, then the names of the others or their help."""
        from rich_click.rich_panel import construct_panels

        others = []
        for panel in construct_panels(self, ctx, formatter):
            options = list(panel.get_objects(self, ctx))
            if options and (panel.name == BASICS or ctx.meta.get(EVERYTHING)):
                formatter.write(panel.render(self, ctx, formatter))
            elif options:
                names = ", ".join(max(option.opts, key=len) for option in options)
                others.append(f"   {panel.name}: {names}\n")
        if others:
            formatter.write("\n More options, with --help-all:\n" + "".join(others))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; print the equivalent one if settings came from a file."""
        if ctx.default_map:
            say(f"equivalent command: {equivalent_command(ctx)}")
        return super().invoke(ctx)


class Work:
    """A command as a record of what was asked for; its docstring is the help.

    A field whose value declares an option or an argument becomes a parameter of that name; bases
    that several commands share come after a command's own fields. A plain value in the place of a
    declaration fixes it.
    """

    def __init__(self, **given: Any):
        vars(self).update(given)

    def run(self) -> int:
        """Do the work; return the exit code."""
        raise NotImplementedError

    @classmethod
    def command(cls) -> click.Command:
        """Return the command for click."""

        def work(**given: Any) -> int:
            return cls(**given).run()

        names = dict.fromkeys(n for base in cls.__mro__ for n in inspect.get_annotations(base))
        made: Any = work
        for declare in filter(callable, (getattr(cls, name, None) for name in reversed(names))):
            made = declare(made)
        return click.command(cls.__name__.lower(), cls=Verb, help=cls.__doc__)(made)


@contextmanager
def usage_checked() -> Iterator[None]:
    """Turn a ValueError of the block, which names a wrong setting, into one of the command line."""
    try:
        yield
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None


def _show_all(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        ctx.meta[EVERYTHING] = True
        print(ctx.get_help())
        ctx.exit()


def _take_settings(ctx: click.Context, _: click.Parameter, path: str | None) -> None:
    """Take the defaults of a command's flags from a TOML file."""
    if path is None:
        return
    known = {}
    for parameter in ctx.command.params:
        if parameter.name not in ("config", "help_all"):
            flags = [name.removeprefix("--") for name in parameter.opts if name.startswith("--")]
            known[flags[0] if flags else str(parameter.name)] = parameter
    defaults: dict[str, Any] = {}
    for key, value in _read_toml(path).items():
        if key not in known:
            raise click.UsageError(
                f"{path}: {ctx.command.name} has no setting {key!r}; it has "
                f"{', '.join(sorted(known))}"
            )
        parameter, is_bool = known[key], isinstance(value, bool)
        if getattr(parameter, "is_flag", False):
            wanted, is_right = "true or false", is_bool
        elif parameter.multiple or parameter.nargs == -1:
            wanted, is_right = "a list", isinstance(value, list)
        else:
            wanted, is_right = "one value", isinstance(value, str | int | float) and not is_bool
        if not is_right:
            raise click.UsageError(f"{path}: {key} is {value!r}; it must be {wanted}")
        # As text, numbers are converted like those of flags: 1.5 is refused for an integer.
        as_text = [str(one) for one in value] if isinstance(value, list) else str(value)
        defaults[str(parameter.name)] = value if is_bool else as_text
    ctx.default_map = defaults


def _read_toml(path: str) -> dict[str, Any]:
    import tomllib

    from visualwords.files import read_settings

    try:
        return tomllib.loads(read_settings(path).decode())
    except OSError as problem:
        raise click.UsageError(f"{path}: {(problem.strerror or str(problem)).lower()}") from None
    except (ValueError, RecursionError) as problem:
        raise click.UsageError(f"{path}: not a TOML file: {problem}") from None


def run_command(command: click.Command, name: str, argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; errors are one sentence, never a traceback.

    ``--debug`` anywhere before ``--`` adds the traceback of an unexpected error.
    """
    argv = _typed_arguments() if argv is None else list(argv)
    end = argv.index("--") if "--" in argv else len(argv)
    words = [word for i, word in enumerate(argv) if word != DEBUG or i > end]
    try:
        with warnings.catch_warnings():  # of libraries: one line, without the code that warned
            warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
            code = command.main(words, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
        return int(code or DONE)
    except SystemExit as ended:  # rich-click's answer to a command without arguments
        return int(ended.code or DONE)
    except click.ClickException as problem:
        ctx = getattr(problem, "ctx", None)
        say(f"{ctx.command_path if ctx else name} --help lists the options")
        return _fail(problem.format_message(), problem.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except VisualWordsError as problem:
        return _fail(str(problem), BAD_MODEL if isinstance(problem, ModelFileError) else FAILED)
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
        from traceback import extract_tb, format_exception

        if len(words) < len(argv):
            for line in "".join(format_exception(problem)).rstrip("\n").split("\n"):
                say(line)
        place = extract_tb(problem.__traceback__)[-1]
        what = " ".join(f"{type(problem).__name__}: {problem}".split())
        return _fail(
            f"unexpected {what} ({os.path.basename(place.filename)}, line {place.lineno}); this is "
            f"a bug: please report it with the command and what {DEBUG} adds to it",
            UNEXPECTED,
        )


def _fail(message: str, code: int) -> int:
    say(f"error: {message}")
    return code


def _typed_arguments() -> list[str]:
    """The arguments of this process, with patterns such as ``new/*.jpg`` expanded.

    Shells do that, but not those of Windows.
    """
    words = sys.argv[1:]
    if sys.platform == "win32":
        from glob import glob

        found = [[] if os.path.lexists(word) else sorted(glob(word)) for word in words]
        return [path for word, paths in zip(words, found) for path in paths or [word]]
    return words


def run_installed(main: Callable[[], int]) -> NoReturn:
    """Run a command that owns its process: Ctrl-C ends it within seconds, whatever is running."""
    open_standard_streams()
    code = INTERRUPTED
    with suppress(KeyboardInterrupt):  # main handles it once it has started
        answer_ctrl_c_in_time()
        code = main()
    _end(code)


def open_standard_streams() -> None:
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
