"""Command lines, tables, settings and environments by chance: a sentence, never a traceback."""

import contextlib
import io
import os
import resource
import signal
import sys
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.apps.conftest import COLORS, noisy, write_png
from tests.faults.conftest import IS_LONG
from tests.faults.fuzz_commands import COMMANDS, lines
from visualwords.apps.command_line.verb import UNEXPECTED, run_command

pytestmark = pytest.mark.posix
N_LINES = int(os.environ.get("VISUALWORDS_FUZZED_LINES", 20_000 if IS_LONG else 120))
CPU_SECONDS = 60.0  # until a line is said to hang
MEMORY = 1 << 30


@pytest.fixture(scope="module")
def world(tmp_path_factory, model_bytes):
    """Enter a folder with what command lines can name: good, broken, empty and odd."""
    import numpy as np

    folder = tmp_path_factory.mktemp("world")
    rng = np.random.default_rng(5)
    for name in COLORS:
        for i in range(4):
            write_png(folder / "photos" / name / f"{i}.png", noisy(COLORS[name], rng, (16, 20)))
    for name in ("a", "b"):
        for i in range(2):
            write_png(folder / "two" / name / f"{i}.png", noisy(COLORS["sea"], rng, (9, 7)))
    write_png(folder / "one" / "a" / "0.png", noisy(COLORS["sea"], rng, (1, 1)))
    (folder / "broken" / "a").mkdir(parents=True)
    (folder / "broken" / "a" / "0.png").write_bytes(b"\x89PNG")
    for i, name in enumerate(["=1.png", "\x1b[2J.png", "\udcff.png", "a_1.png", "-x.png"]):
        label = ["unknown", "\x1b[2J"][i % 2]
        write_png(folder / "names" / label / name, noisy(COLORS["sand"], rng, (16, 16)))
    (folder / "empty").mkdir()
    (folder / "m.vw").write_bytes(model_bytes)
    (folder / "cut.vw").write_bytes(model_bytes[: len(model_bytes) // 2])
    (folder / "text.vw").write_text("a model")
    (folder / "link.vw").symlink_to("missing.vw")
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    before = os.getcwd()
    os.chdir(folder)
    environment = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "home")}
    with (
        mock.patch.dict(os.environ, environment),
        mock.patch("visualwords.apps.page.serving.serve", return_value=None),
        mock.patch("click.launch", return_value=None),
    ):
        yield folder
    os.chdir(before)


class HangError(BaseException):
    """No error of a command, and so not to be caught by one."""


def _stop(*_):
    raise HangError


def run(line):
    """Run a command line in this process; return its exit code and what it printed."""
    for name, content in line.files.items():
        with open(name, "wb") as file:
            file.write(content)
    printed = io.StringIO()
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        with (
            mock.patch.dict(os.environ, line.environment),
            mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"photos/sea/0.png\n"))),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            code = run_command(COMMANDS[line.command], line.command, line.arguments)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return code, printed.getvalue()


@pytest.mark.filterwarnings("default")  # warnings are sentences of a command
def test_no_command_line_ends_in_a_traceback_a_hang_or_much_memory(world):
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    @settings(
        max_examples=N_LINES,
        derandomize=not IS_LONG,
        database=None,
        deadline=None,
        phases=[Phase.generate] if IS_LONG else [Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(lines())
    def check(line):
        code, printed = run(line)
        assert code in (0, 1, 2, 3, 4), printed
        assert code != UNEXPECTED
        assert "Traceback" not in printed
        assert "\x1b[2J" not in printed

    check()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - taken
    assert grown * 1024 < MEMORY
