"""Options that the commands share, the kinds of their values, and what Tab offers for them."""

import functools
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

MOST_JOBS = 1024  # more threads than that fail to start
MOST_SEED = 2**32 - 1  # of NumPy's generators
BASICS, TESTING, DECISIONS = "Basics", "Testing", "Decisions"  # groups of options in the help
RECIPE, RESOURCES = "Recipe", "Resources"

Declaration = Callable[[Callable[..., Any]], Callable[..., Any]]


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
        from visualwords.apps.command_line.terminal import check_output

        path = super().convert(value, param, ctx)
        check_output(os.fsdecode(path))
        return path


PATH, FILE, FOLDER = click.Path(), click.Path(dir_okay=False), click.Path(file_okay=False)
OUTPUT = OutputFile(dir_okay=False)
COUNT, FOLDS = click.IntRange(min=1), click.IntRange(min=2)
SHARE = Number(0, 1, min_open=True, max_open=True)
DURATION = Amount("duration", "90s, 10m or 1h", {"": 1, "s": 1, "m": 60, "h": 3600})
BYTES = {f"{prefix}b": 1000**i for i, prefix in enumerate(("", "k", "m", "g"))}
BYTES |= {f"{prefix}ib": 1024**i for i, prefix in enumerate(("", "k", "m", "g"))}
SIZE = Amount("memory size", "500MB or 2GB", {"": 1} | BYTES, int)


def flag(words: str, help: str, kind: Any = None, name: str = "", **more: Any) -> Declaration:
    """Declare an option in one line.

    Parameters
    ----------
    words : str
        Its names and the placeholder of its value: ``"-o --output FILE"``. Without a placeholder
        it is a switch.
    help : str
        What it does; a default is shown after it.
    kind : click.ParamType, optional
        Of the value.
    name : str
        Of the parameter of the verb; by default the longest name.
    more : as in `click.option`
    """
    names = [word for word in words.split() if word.startswith("-")]
    value = " ".join(word for word in words.split() if not word.startswith("-"))
    settings = {"metavar": value, "type": kind} if value else {"is_flag": True}
    is_shown = bool(value) and more.get("default") is not None
    names += [name] * bool(name)
    return click.option(*names, help=help, **{"show_default": is_shown, **settings, **more})


def group(title: str, *declarations: Declaration) -> Declaration:
    """Declare options that the help shows as a group of this title, after the basic ones."""

    def declare(verb: Callable[..., Any]) -> Callable[..., Any]:
        known = list(getattr(verb, "__click_params__", []))
        for declaration in reversed(declarations):
            verb = declaration(verb)
        for parameter in getattr(verb, "__click_params__", []):
            if parameter not in known and parameter.name != "recipe":  # a recipe is basic
                parameter.panel = title
        return verb

    return declare


jobs = group(
    RESOURCES,
    flag(
        "--jobs N",
        "Number of threads [default: all cores]. Results do not depend on it.",
        click.IntRange(1, MOST_JOBS),
    ),
)
seed = group(TESTING, flag("--seed N", "Random seed.", click.IntRange(0, MOST_SEED), default=0))
as_json = flag("--json", "Print the results as JSON.", name="as_json")
as_csv = flag("--csv", "Print the results as CSV.", name="as_csv")
raw = flag(
    "--raw",
    "Write CSV text as it is; by default, formula-like cells are prefixed with ' and control "
    "characters are escaped.",
)
strict = flag("--strict", "Fail if any file has to be skipped.")
report = flag("--report HTML", "Write an HTML report.", OUTPUT)


def _remember(ctx: click.Context, option: click.Parameter, value: bool) -> bool:
    """Keep a flag where `visualwords.apps.command_line.terminal` finds it."""
    ctx.meta[f"visualwords.{option.name}"] = value
    return value


def quiet(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that decide how much is printed to stderr: -q and -v."""
    silent = flag("-q --quiet", "Print results, warnings and errors only.", callback=_remember)
    verbose = flag(
        "-v --verbose",
        "Print every step and how long it took.",
        callback=_remember,
        expose_value=False,
    )
    return silent(verbose(verb))


STREAMS = (
    flag("--every N", "Take every N-th frame of a video, camera or stream.", COUNT, default=1),
    flag("--frames N", "Stop a video, camera or stream after N frames.", COUNT, name="most"),
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
    """Add the options of verbs that follow videos, cameras and addresses, as ``stream``."""

    @functools.wraps(verb)
    def following(*args: Any, **kwargs: Any) -> Any:
        names = ("every", "most", "max_fps", "timeout", "reconnects")
        return verb(*args, stream={name: kwargs.pop(name) for name in names}, **kwargs)

    return group("Videos and cameras", *STREAMS)(following)


def check_addresses(sources: Sequence[str], allow_url: bool) -> None:
    """Refuse addresses unless the user has allowed them."""
    from visualwords.frames import kind_of_source

    for source in sources:
        if kind_of_source(source) == "address" and not allow_url:
            raise click.UsageError(
                f"{source} is an address on the network; give --allow-url to open it"
            )


def scheduler(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option that moves all parallel work of a verb to a cluster."""

    @functools.wraps(verb)
    def anywhere(*args: Any, scheduler: str | None, **kwargs: Any) -> Any:
        if scheduler is None:
            return verb(*args, **kwargs)
        from visualwords.apps.cluster.connection import on_cluster
        from visualwords.apps.command_line.terminal import say

        with on_cluster(scheduler) as client:
            if client is not None:
                say(f"cluster dashboard: {client.dashboard_link}")
            return verb(*args, **kwargs)

    about = "Run on a Dask cluster: tcp://host:port, or local:4 for four local processes."
    return group(RESOURCES, flag("--scheduler ADDRESS", about))(anywhere)


def n_threads(jobs: int | None) -> int:
    """Return the number of threads that ``--jobs`` asks for."""
    from joblib import cpu_count

    return jobs or cpu_count()


def complete_recipes(
    ctx: click.Context, parameter: click.Parameter, typed: str
) -> "list[CompletionItem]":
    """Offer the names of recipes after the Tab key, each with its summary."""
    from visualwords.apps.pipeline.recipes import RECIPES

    known = {"auto": "choose one by cross-validation"}
    known |= {recipe.name: recipe.summary for recipe in RECIPES.values()}
    return _starting(typed, known)


def complete_kernels(
    ctx: click.Context, parameter: click.Parameter, typed: str
) -> "list[CompletionItem]":
    """Offer the names of kernels after the Tab key."""
    from visualwords.apps.pipeline.recipe_text import kernel_names

    return _starting(typed, dict.fromkeys(kernel_names()))


def complete_classes(
    ctx: click.Context, parameter: click.Parameter, typed: str
) -> "list[CompletionItem]":
    """Offer the classes of the model that the command line names; nothing if it can't be read."""
    from visualwords.errors import VisualWordsError
    from visualwords.model_file import read_manifest

    words = [ctx.params.get("model"), *ctx.args]  # click leaves arguments there before a bare flag
    model = next((word for word in words if word), "")
    with suppress(VisualWordsError, OSError, KeyError, TypeError, ValueError):
        return _starting(typed, dict.fromkeys(read_manifest(model)["classes"]))
    return []


def _starting(typed: str, known: Mapping[str, str | None]) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(name, help=about) for name, about in known.items() if name.startswith(typed)
    ]
