"""Options that the commands share, the kinds of their values, and what Tab offers for them."""

import functools
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from rich_click.rich_parameter import RichOption

from visualwords.apps.command_line.terminal import say
from visualwords.errors import FolderError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

MOST_JOBS = 1024  # more threads than that fail to start
MOST_SEED = 2**32 - 1  # of NumPy's generators
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
GROUP_OF = {name: group for group, names in GROUPS.items() for name in names.split()}


class Number(click.FloatRange):
    """A number in a range, not "nan" or "inf", which a range of click lets through."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class Amount(click.ParamType):
    """A number with a unit, such as ``90s`` or ``2GB``.

    Parameters
    ----------
    name, example : str
        For the sentence that refuses other words.
    units : mapping of the unit in small letters to its size; "" is that of a bare number
    kind : type
        Of the number, float or int.
    """

    def __init__(self, name: str, example: str, units: Mapping[str, float], kind: type = float):
        self.name, self.example, self.units, self.kind = name, example, units, kind

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number, in the unit of size 1."""
        if not isinstance(value, str):
            return self.kind(value)
        match = re.fullmatch(r"(\d+\.?\d*|\.\d+) ?([a-zA-Z]*)", value, re.ASCII)
        unit = self.units.get(match[2].lower(), math.nan) if match else math.nan
        number = float(match[1]) * unit if match else math.nan
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a {self.name}; write it like {self.example}", param, ctx)
        return self.kind(number)


class OutputFile(click.Path):
    """A file that can be written, which is checked before any work."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path, or raise an error with the reason why it can't be written."""
        path = os.fsdecode(super().convert(value, param, ctx))
        folder, name = os.path.split(path)
        if not name:
            raise click.UsageError(f"{path!r} names no file to write; give one, such as result.out")
        folder = folder or "."
        if not os.path.isdir(folder):
            raise FolderError(f"{path}: the folder {folder} does not exist; create it first")
        if not os.access(folder, os.W_OK):
            raise FolderError(f"{path}: the folder {folder} is not writable; choose another one")
        return path


class Pair(click.ParamType):
    """Two parts of a word, both read by a function, such as ``384x256`` or ``defect=0.2``.

    Parameters
    ----------
    form : str
        How it is written, for the sentence that refuses other words.
    mark : str
        What stands between the parts.
    first, second : functions of a text that raise ValueError
    """

    def __init__(
        self, form: str, mark: str, first: Callable[[str], Any], second: Callable[[str], Any]
    ):
        self.name, self.mark, self.readers = form, mark, (first, second)

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[Any, Any]:
        """Return the two values."""
        if isinstance(value, tuple):
            return value
        parts = value.rpartition(self.mark)
        try:
            return self.readers[0](parts[0]), self.readers[1](parts[2])
        except ValueError:
            self.fail(f"{value!r} must be written {self.name}", param, ctx)


PATH, FILE, FOLDER = click.Path(), click.Path(dir_okay=False), click.Path(file_okay=False)
OUTPUT = OutputFile(dir_okay=False)
COUNT, FOLDS = click.IntRange(min=1), click.IntRange(min=2)
SHARE = Number(0, 1, min_open=True, max_open=True)
DURATION = Amount("duration", "90s, 10m or 1h", {"": 1, "s": 1, "m": 60, "h": 3600})
BYTES = {f"{prefix}b": 1000**i for i, prefix in enumerate(("", "k", "m", "g"))}
BYTES |= {f"{prefix}ib": 1024**i for i, prefix in enumerate(("", "k", "m", "g"))}
SIZE = Amount("memory size", "500MB or 2GB", {"": 1} | BYTES, int)
KINDS = dict(N=COUNT, P=Number(0, 1), SHARE=SHARE, RATE=SHARE, TIME=DURATION, SIZE=SIZE)
KINDS |= dict(PATH=PATH, FILE=FILE, DIR=FOLDER, HTML=OUTPUT, SVG=OUTPUT)  # by the placeholder


def flag(words: str, help: str, kind: Any = None, **more: Any) -> Any:
    """Declare an option, for a function or as a field of a `visualwords...verb.Work`.

    Parameters
    ----------
    words : str
        Its names and the placeholder of its value: ``"-o --output FILE"``. Without a placeholder
        it is a switch.
    help : str
        What it does; a default is shown after it.
    kind : click.ParamType, optional
        Of the value; by default that of its placeholder in `KINDS`, else text.
    more : as in `click.option`; ``name`` is that of the parameter, by default the longest name.
    """
    names = [word for word in words.split() if word.startswith("-")]
    value = " ".join(word for word in words.split() if not word.startswith("-"))
    name = more.pop("name", max(names, key=len).split("/")[0].strip("-").replace("-", "_"))
    settings = {"metavar": value, "type": kind or KINDS.get(value)} if value else {"is_flag": True}
    settings["show_default"] = bool(value) and more.get("default") is not None
    settings |= {"cls": RichOption, "panel": GROUP_OF.get(name, BASICS), "help": help}
    return click.option(*names, name, **settings | more)


def argument(name: str, **more: Any) -> Any:
    """Declare an argument: a path, unless ``type`` is another."""
    return click.argument(name, **{"type": PATH} | more)


def starting(known: Callable[[click.Context], Iterable[str] | Mapping[str, str]]) -> Any:
    """Return what Tab asks: of all words that a function knows, those that begin as typed."""

    def complete(ctx: click.Context, _: click.Parameter, typed: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        words = known(ctx)
        about = words if isinstance(words, Mapping) else {}
        return [CompletionItem(w, help=about.get(w)) for w in words if w.startswith(typed)]

    return complete


jobs = flag(
    "--jobs N",
    "Number of threads [default: all cores]. Results do not depend on it.",
    click.IntRange(1, MOST_JOBS),
)
seed = flag("--seed N", "Random seed.", click.IntRange(0, MOST_SEED), default=0)
as_json = flag("--json", "Print the results as JSON.", name="as_json")
as_csv = flag("--csv", "Print the results as CSV.", name="as_csv")
raw = flag(
    "--raw",
    "Write CSV text as it is; by default, formula-like cells are prefixed with ' and control "
    "characters are escaped.",
)
strict = flag("--strict", "Fail if any file has to be skipped.")
report = flag("--report HTML", "Write an HTML report.")


def quiet(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that decide how much is printed to stderr: -q and -v."""

    def remember(ctx: click.Context, option: click.Parameter, value: bool) -> bool:
        ctx.meta[f"visualwords.{option.name}"] = value  # where `terminal` finds it
        return value

    about = "Print results, warnings and errors only."
    silent = flag("-q --quiet", about, callback=remember)
    about = "Print every step and how long it took."
    verbose = flag("-v --verbose", about, callback=remember, expose_value=False)
    return silent(verbose(verb))


STREAMS = (  # parameters of `visualwords.frames.frames_of`, and what they need
    flag("--every N", "Take every N-th frame of a video, camera or stream.", default=1),
    flag("--frames N", "Stop a video, camera or stream after N frames.", name="most"),
    flag(
        "--max-fps N",
        "Take at most N frames a second, the newest each time; others are dropped.",
        Number(0, min_open=True),
    ),
    flag(
        "--timeout SECONDS",
        "Report a camera or stream as stalled after this long without a frame.",
        Number(0, 3600, min_open=True),
        default=10.0,
    ),
    flag(
        "--reconnect N",
        "Open an address again, N times in a row at most, when it ends or stalls.",
        click.IntRange(min=0),
        name="reconnects",
        default=0,
    ),
    flag(
        "--allow-url",
        "Open addresses such as rtsp://camera/1; without it nothing reaches the network.",
    ),
)


def streams(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of commands that follow videos, cameras and addresses, as ``stream``."""

    @functools.wraps(verb)
    def following(**given: Any) -> Any:
        names = ("every", "most", "max_fps", "timeout", "reconnects")
        return verb(stream={name: given.pop(name) for name in names}, **given)

    return functools.reduce(lambda made, declare: declare(made), reversed(STREAMS), following)


def check_addresses(sources: Sequence[str], allow_url: bool) -> None:
    """Refuse addresses unless the user has allowed them."""
    from visualwords.frames import kind_of_source

    for source in sources:
        if kind_of_source(source) == "address" and not allow_url:
            raise click.UsageError(
                f"{source} is an address on the network; give --allow-url to open it"
            )


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


def n_threads(jobs: int | None) -> int:
    """Return the number of threads that ``--jobs`` asks for."""
    from visualwords.parallel import n_processors

    return jobs or n_processors()
