"""Options that several verbs share."""

import re
from collections.abc import Callable
from typing import Any, ClassVar

import click

from visualwords.apps.command_line.commands import scheduler

Verb = Callable[..., Any]

UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


class Bytes(click.ParamType):
    """An amount of memory: a number with or without a unit."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Return the number of bytes."""
        if isinstance(value, int):
            return value
        number, unit = re.fullmatch(r"([0-9.]*)\s*(.*)", value).groups()  # type: ignore[union-attr]
        try:
            return int(float(number) * UNITS[unit.lower()])
        except (KeyError, ValueError):
            self.fail(f"{value!r} is no amount of memory; write 500MB or 2GB", param, ctx)


class Seconds(click.ParamType):
    """A time as people write it: ``90``, ``90s``, ``10m`` or ``1h``."""

    name = "time"
    _units: ClassVar = {"s": 1.0, "m": 60.0, "h": 3600.0}

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return seconds."""
        if isinstance(value, float):
            return value
        number, unit = (value[:-1], value[-1:]) if value[-1:] in self._units else (value, "s")
        try:
            seconds = float(number) * self._units[unit]
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < float("inf"):
            self.fail(f"{value!r} is no time; write 90s, 10m or 1h", param, ctx)
        return seconds


jobs = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Threads; all cores by default. Results do not depend on it.",
)
seed = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of everything random."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
strict = click.option("--strict", is_flag=True, help="Fail if any file has to be skipped.")
quiet = click.option("--quiet", is_flag=True, help="Show no progress.")
report = click.option(
    "--report", type=click.Path(dir_okay=False), metavar="HTML", help="Write a report to look at."
)


def reading(verb: Verb) -> Verb:
    """Add the options of everything that reads many images."""
    for option in (
        scheduler,
        click.option(
            "--max-pixels",
            type=click.IntRange(min=1),
            default=100_000_000,
            show_default=True,
            help="Skip larger images.",
        ),
        click.option("--no-cache", is_flag=True, help="Keep no features on disk."),
        click.option(
            "--cache",
            "cache_dir",
            type=click.Path(file_okay=False),
            metavar="DIR",
            help="Where features are kept; the user's cache folder by default.",
        ),
        jobs,
        quiet,
        strict,
        as_json,
    ):
        verb = option(verb)
    return verb


def cache_folder(cache_dir: str | None, no_cache: bool) -> str | None:
    """Return where features are to be kept, or None."""
    from visualwords.cache import default_folder

    if no_cache:
        return None
    folder = cache_dir or default_folder()
    return None if folder is None else str(folder)


def n_threads(jobs: int | None) -> int:
    """Return the number of threads to use."""
    from joblib import cpu_count

    return jobs or cpu_count()
