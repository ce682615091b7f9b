"""A command: its options and their values, its settings file and help, and how it runs."""

import functools
import inspect
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn, get_origin

import click
from rich_click import RichCommand, RichContext, RichGroup, RichHelpFormatter
from rich_click.rich_parameter import RichOption

from visualwords.apps.command_line.terminal import equivalent_command, say
from visualwords.errors import FolderError, ModelFileError, VisualWordsError

DONE, FAILED, USAGE, SKIPPED, BAD_MODEL = 0, 1, 2, 3, 4  # exit codes
UNEXPECTED = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
HELP = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but some input was skipped, "
    "4 not a usable model file, 70 unexpected error (--debug adds details), 130 interrupted."
)
DEBUG = "--debug"
MOST_JOBS = 1024  # more threads than that fail to start
MOST_SEED = 2**32 - 1  # of NumPy's generators
HELP_NAMES = {"help_option_names": ["-h", "--help"]}
EVERYTHING = "visualwords.help_all"  # in a context: the help shows all groups of options
BASICS = "Basics"  # the group of options that --help shows; --help-all shows the others, too
GROUPS = {
    "Testing": "test folds seed seeds",
    "Recipe": "features codebook words fisher second_order sets pyramid kernel solver C max_side "
    "min_side views settings metric exportable",
    "Decisions": "class_weight costs thresholds unknown alarm escapes false_alarms min_confidence",
    "Resources": "deadline memory thumbnails embed_network network jobs cache_size no_cache "
    "max_pixels scheduler",
    "Videos and cameras": "every most max_fps timeout reconnects allow_url",
}
PARAMETER = re.compile(r"^(\w+)\n((?: {4}.*\n?)+)", re.M)  # of a docstring
GROUP_OF = {name: group for group, names in GROUPS.items() for name in names.split()}


class Number(click.FloatRange):
    """A number in a range, not "nan" or "inf", which a range of click lets through."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """The number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class OutputFile(click.Path):
    """A file that can be written, which is checked before any work."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path, or raise an error with the reason why it can't be written."""
        path = os.fsdecode(super().convert(value, param, ctx))
        folder, name = os.path.dirname(path) or ".", os.path.basename(path)
        if not name:
            raise click.UsageError(f"{path!r} names no file to write; give one, such as result.out")
        if not os.path.isdir(folder):
            raise FolderError(f"{path}: the folder {folder} does not exist; create it first")
        if not os.access(folder, os.W_OK):
            raise FolderError(f"{path}: the folder {folder} is not writable; choose another one")
        return path


def amount(what: str, example: str, units: Mapping[str, int], kind: type) -> Callable[[str], Any]:
    """What reads a number with a unit, such as ``90s``; the unit "" is that of a bare number."""

    def read(value: str) -> Any:
        match = re.fullmatch(r"(\d+\.?\d*|\.\d+) ?([a-zA-Z]*)", value, re.ASCII)
        number = float(match[1]) * units.get(match[2].lower(), math.nan) if match else math.nan
        if not math.isfinite(number):
            raise click.BadParameter(f"{value!r} is not a {what}; write it like {example}")
        return kind(number)

    return read


class Parts(tuple[Any, ...]):
    """The parts of a value such as ``defect=0.2``; its text is what was typed."""

    text: str

    def __str__(self) -> str:
        return self.text


def parts(form: str, pattern: str, *kinds: type) -> Callable[[str], Parts]:
    """What reads the groups of a pattern, each as a value of its kind."""

    def read(value: str) -> Parts:
        if match := re.fullmatch(pattern, value, re.DOTALL):
            with suppress(ValueError):
                made = Parts(kind(text) for kind, text in zip(kinds, match.groups()))
                made.text = value
                return made
        raise click.BadParameter(f"{value!r} must be written {form}")

    return read


PATH, FILE, FOLDER = click.Path(), click.Path(dir_okay=False), click.Path(file_okay=False)
OUTPUT = OutputFile(dir_okay=False)
COUNT, FOLDS = click.IntRange(min=1), click.IntRange(min=2)
SHARE = Number(0, 1, min_open=True, max_open=True)
DURATION = amount("duration", "90s, 10m or 1h", {"": 1, "s": 1, "m": 60, "h": 3600}, float)
BYTES = {f"{prefix}b": 1000**i for i, prefix in enumerate(("", "k", "m", "g"))}
BYTES |= {f"{prefix}ib": 1024**i for i, prefix in enumerate(("", "k", "m", "g"))}
SIZE = amount("memory size", "500MB or 2GB", {"": 1} | BYTES, int)
KINDS = dict(N=COUNT, P=Number(0, 1), SHARE=SHARE, RATE=SHARE, TIME=DURATION, SIZE=SIZE)
KINDS |= dict(PATH=PATH, FILE=FILE, DIR=FOLDER, HTML=OUTPUT, SVG=OUTPUT)  # by the placeholder


class Field:
    """An option or an argument; as a field it has the field's name, and a tuple many values."""

    def __init__(self, declare: Callable[..., Any], names: list[str], settings: dict[str, Any]):
        self.declare, self.names, self.settings = declare, names, settings

    def __call__(self, verb: Callable[..., Any]) -> Any:
        return self.declare(*self.names, **self.settings)(verb)

    def of(self, name: str, annotation: Any, help: str) -> "Field":
        """The same as a field, with the help of the record that it is of."""
        more: dict[str, Any] = {}
        if self.declare is click.option:
            more = {"panel": GROUP_OF.get(name, BASICS), "help": self.settings["help"] or help}
        if get_origin(annotation) is tuple:
            more |= {"multiple": True} if self.declare is click.option else {"nargs": -1}
        return Field(self.declare, [*self.names[:-1], name], self.settings | more)


def flag(words: str, help: str = "", kind: Any = None, name: str = "", **more: Any) -> Any:
    """Declare an option, such as ``"-o --output FILE"``; without a placeholder it is a switch.

    Of a field, the docstring of its class has the help. The kind of a value is a type or a
    function of a text, by default that of its placeholder in `KINDS`, else text. The name is that
    of the parameter, by default the longest one; more settings are those of `click.option`.
    """
    names = [word for word in words.split() if word.startswith("-")]
    value = " ".join(word for word in words.split() if not word.startswith("-"))
    name = name or max(names, key=len).split("/")[0].strip("-").replace("-", "_")
    settings = {"metavar": value, "type": kind or KINDS.get(value)} if value else {"is_flag": True}
    settings["show_default"] = bool(value) and more.get("default") is not None
    settings |= {"cls": RichOption, "help": help, "panel": GROUP_OF.get(name, BASICS)}
    return Field(click.option, [*names, name], settings | more)


def argument(**more: Any) -> Any:
    """Declare an argument, a path unless ``type`` is another, as a field."""
    return Field(click.argument, [""], {"type": PATH} | more)


def fields_of(cls: type) -> dict[str, Any]:
    """The declarations of a record by their names, its own before those of its bases."""
    about, fields = dict[str, str](), dict[str, Any]()
    for base in cls.__mro__:
        about = dict(PARAMETER.findall(inspect.getdoc(base) or "")) | about
        fields |= {n: a for n, a in inspect.get_annotations(base).items() if n not in fields}
    made = {name: getattr(cls, name, None) for name in fields}
    for name, field in made.items():
        if isinstance(field, Field):
            made[name] = field.of(name, fields[name], " ".join(about.get(name, "").split()))
    return {name: field for name, field in made.items() if callable(field)}


def declare(cls: type, verb: Callable[..., Any]) -> Any:
    """A function with the options and arguments that a record declares."""
    for field in reversed(fields_of(cls).values()):
        verb = field(verb)
    return verb


class Shared:
    """Options that commands of several programs have.

    Parameters
    ----------
    jobs
        Number of threads [default: all cores]. Results do not depend on it.
    seed
        Random seed.
    as_json
        Print the results as JSON.
    as_csv
        Print the results as CSV.
    raw
        Write CSV text as it is; by default, formula-like cells are prefixed with ' and control
        characters are escaped.
    strict
        Fail if any file has to be skipped.
    report
        Write an HTML report.
    """

    jobs: int | None = flag("--jobs N", kind=click.IntRange(1, MOST_JOBS))
    seed: int = flag("--seed N", kind=click.IntRange(0, MOST_SEED), default=0)
    as_json: bool = flag("--json")
    as_csv: bool = flag("--csv")
    raw: bool = flag("--raw")
    strict: bool = flag("--strict")
    report: str | None = flag("--report HTML")


class Streams:
    """Options of commands that follow videos, cameras and addresses.

    Parameters
    ----------
    every
        Take every N-th frame of a video, camera or stream.
    most
        Stop a video, camera or stream after N frames.
    max_fps
        Take at most N frames a second, the newest each time; others are dropped.
    timeout
        Report a camera or stream as stalled after this long without a frame.
    reconnects
        Open an address again, N times in a row at most, when it ends or stalls.
    allow_url
        Open addresses such as rtsp://camera/1; without it nothing reaches the network.
    """

    every: int = flag("--every N", default=1)
    most: int | None = flag("--frames N")
    max_fps: float | None = flag("--max-fps N", kind=Number(0, min_open=True))
    timeout: float = flag("--timeout SECONDS", kind=Number(0, 3600, min_open=True), default=10.0)
    reconnects: int = flag("--reconnect N", kind=click.IntRange(min=0), default=0)
    allow_url: bool = flag("--allow-url")


jobs, seed, as_json, as_csv, raw, strict, report = fields_of(Shared).values()


def streams(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `Streams`, as ``allow_url`` and ``stream``: parameters of `frames_of`."""

    @functools.wraps(verb)
    def following(*, allow_url: bool, **given: Any) -> Any:
        stream = {n: given.pop(n) for n in inspect.get_annotations(Streams) if n in given}
        return verb(stream=stream, allow_url=allow_url, **given)

    return declare(Streams, following)


def quiet(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that decide how much is printed to stderr: -q and -v."""

    def remember(ctx: click.Context, option: click.Parameter, value: bool) -> bool:
        ctx.meta[f"visualwords.{option.name}"] = value  # where `terminal` finds it
        return value

    about = "Print every step and how long it took."
    verb = flag("-v --verbose", about, callback=remember, expose_value=False)(verb)
    return flag("-q --quiet", "Print results, warnings and errors only.", callback=remember)(verb)


def scheduler(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option that moves all parallel work of a command to a cluster."""

    @functools.wraps(verb)
    def anywhere(*, scheduler: str | None, **given: Any) -> Any:
        if scheduler is None:
            return verb(**given)
        from visualwords.apps.cluster.connection import on_cluster

        with on_cluster(scheduler) as client:
            if client is not None:
                say(f"cluster dashboard: {client.dashboard_link}")
            return verb(**given)

    about = "Run on a Dask cluster: tcp://host:port, or local:4 for four local processes."
    return flag("--scheduler ADDRESS", about)(anywhere)


def check_addresses(sources: Sequence[str], allow_url: bool) -> None:
    """Refuse addresses unless the user has allowed them."""
    from visualwords.frames import kind_of_source

    addresses = [source for source in sources if kind_of_source(source) == "address"]
    if addresses and not allow_url:
        raise click.UsageError(
            f"{addresses[0]} is an address on the network; give --allow-url to open it"
        )


def n_threads(jobs: int | None) -> int:
    """The number of threads that ``--jobs`` asks for."""
    from visualwords.parallel import n_processors

    return jobs or n_processors()


class VerbGroup(RichGroup):
    """A program of several commands; a mistyped one gets the nearest ones as a suggestion."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that the first argument names."""
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

    The keys of the file are the names of the flags without the dashes, and those of the arguments.
    Relative paths are relative to the current folder. ``--help`` shows the basic options and names
    the others, ``--help-all`` shows all, in groups.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        own: dict[str, Any] = {"is_eager": True, "expose_value": False}
        about = "Read flags from a TOML file; flags on the command line override it."
        flag("--config F.toml", about, FILE, callback=_take_settings, **own)(self)
        flag("--help-all", "Show all options, in groups.", callback=_show_all, **own)(self)

    def get_help_option(self, ctx: RichContext) -> click.Option | None:  # type: ignore[override]
        """The option --help, one of the basic ones."""
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
            say(f"equivalent command: {equivalent_command()}")
        return super().invoke(ctx)


class Work:
    """A command as a record of what was asked for; its docstring is the help.

    A field that declares an option or an argument is a parameter, and the section Parameters of the
    docstring says what it does. A plain value in the place of a declaration fixes it.
    """

    def __init__(self, **given: Any):
        vars(self).update(given)

    def run(self) -> int | None:
        """Do the work; return the exit code if it is not that of success."""
        raise NotImplementedError

    @classmethod
    def command(cls) -> click.Command:
        """The command for click."""

        def work(**given: Any) -> int | None:
            return cls(**given).run()

        text = (inspect.getdoc(cls) or "").partition("\n\nParameters\n-")[0]
        return click.command(cls.__name__.lower(), cls=Verb, help=text)(declare(cls, work))


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
        parameter, wanted = known[key], "one value"
        kinds: tuple[type, ...] = (str, int, float)
        if getattr(parameter, "is_flag", False):
            wanted, kinds = "true or false", (bool,)
        elif parameter.multiple or parameter.nargs == -1:
            wanted, kinds = "a list", (list,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise click.UsageError(f"{path}: {key} is {value!r}; it must be {wanted}")
        # As text, numbers are converted like those of flags: 1.5 is refused for an integer.
        as_text = [str(one) for one in value] if isinstance(value, list) else str(value)
        defaults[str(parameter.name)] = value if isinstance(value, bool) else as_text
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
    """Run a command and return its exit code; errors are a sentence, and ``--debug`` adds more."""
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
        return fail(problem.format_message(), problem.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except VisualWordsError as problem:
        return fail(str(problem), BAD_MODEL if isinstance(problem, ModelFileError) else FAILED)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        return FAILED
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        return fail(f"{where}{(problem.strerror or str(problem)).lower()}")
    except MemoryError:
        return fail("not enough memory; use fewer images or a smaller recipe")
    except RecursionError:
        return fail("the input is nested too deeply; use plain values")
    except Exception as problem:
        from traceback import extract_tb, format_exception

        if len(words) < len(argv):
            for line in "".join(format_exception(problem)).rstrip("\n").split("\n"):
                say(line)
        place = extract_tb(problem.__traceback__)[-1]
        what = " ".join(f"{type(problem).__name__}: {problem}".split())
        return fail(
            f"unexpected {what} ({os.path.basename(place.filename)}, line {place.lineno}); this is "
            f"a bug: please report it with the command and what {DEBUG} adds to it",
            UNEXPECTED,
        )


def fail(message: str, code: int = FAILED) -> int:
    """Print the sentence of an error; return the exit code."""
    say(f"error: {message}")
    return code


def _typed_arguments() -> list[str]:
    """The arguments of this process; patterns are expanded where shells do not: on Windows."""
    words = sys.argv[1:]
    if sys.platform == "win32":
        from glob import glob

        found = [[] if os.path.lexists(word) else sorted(glob(word)) for word in words]
        return [path for word, paths in zip(words, found) for path in paths or [word]]
    return words
