"""Options that the commands share."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import click

MOST_JOBS = 1024  # more threads than that fail to start
MOST_SEED = 2**32 - 1  # of NumPy's generators


class Number(click.FloatRange):
    """A number in a range; "nan" and "inf", which a range of click lets through, are none."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


jobs = click.option(
    "--jobs",
    type=click.IntRange(1, MOST_JOBS),
    metavar="N",
    help="Number of threads [default: all cores]. Results do not depend on it.",
)
seed = click.option(
    "--seed", type=click.IntRange(0, MOST_SEED), default=0, show_default=True, help="Random seed."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
as_csv = click.option("--csv", "as_csv", is_flag=True, help="Print the results as CSV.")
raw = click.option(
    "--raw",
    is_flag=True,
    help="Write CSV text as it is; else a quote precedes what a spreadsheet takes for a formula, "
    "and control characters are escaped.",
)
strict = click.option("--strict", is_flag=True, help="Fail if any file has to be skipped.")
report = click.option(
    "--report", type=click.Path(dir_okay=False), metavar="HTML", help="Write an HTML report."
)


def quiet(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that decide how much is printed to stderr: -q and -v."""
    for option in (
        click.option(
            "-v",
            "--verbose",
            is_flag=True,
            expose_value=False,
            callback=_remember,
            help="Print every step and how long it took.",
        ),
        click.option(
            "-q",
            "--quiet",
            is_flag=True,
            callback=_remember,
            help="Print results, warnings and errors only.",
        ),
    ):
        verb = option(verb)
    return verb


def _remember(ctx: click.Context, option: click.Parameter, value: bool) -> bool:
    """Keep a flag where `visualwords.apps.command_line.terminal` finds it."""
    ctx.meta[f"visualwords.{option.name}"] = value
    return value


def streams(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of verbs that follow videos, cameras and addresses, as ``stream``."""

    @click.option(
        "--every",
        type=click.IntRange(min=1),
        default=1,
        metavar="N",
        help="Take every N-th frame of a video, camera or stream [default: 1].",
    )
    @click.option(
        "--frames",
        "most",
        type=click.IntRange(min=1),
        metavar="N",
        help="Stop a video, camera or stream after N frames.",
    )
    @click.option(
        "--max-fps",
        type=Number(0, min_open=True),
        metavar="N",
        help="Take at most N frames a second, the newest each time; others are dropped.",
    )
    @click.option(
        "--timeout",
        type=Number(0, 3600, min_open=True),
        default=10.0,
        show_default=True,
        metavar="SECONDS",
        help="Report a camera or stream as stalled after this long without a frame.",
    )
    @click.option(
        "--reconnect",
        "reconnects",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        metavar="N",
        help="Open an address again, N times in a row at most, when it ends or stalls.",
    )
    @click.option(
        "--allow-url",
        is_flag=True,
        help="Open addresses such as rtsp://camera/1; without it nothing reaches the network.",
    )
    @functools.wraps(verb)
    def following(
        *args: Any,
        every: int,
        most: int | None,
        max_fps: float | None,
        timeout: float,
        reconnects: int,
        allow_url: bool,
        **kwargs: Any,
    ) -> Any:
        stream = {"every": every, "most": most, "max_fps": max_fps, "timeout": timeout}
        stream |= {"reconnects": reconnects}
        return verb(*args, stream=stream, allow_url=allow_url, **kwargs)

    return following


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

    @click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Run on a Dask cluster: tcp://host:port, or local:4 for four local processes.",
    )
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

    return anywhere


def n_threads(jobs: int | None) -> int:
    """Return the number of threads that ``--jobs`` asks for."""
    from joblib import cpu_count

    return jobs or cpu_count()
