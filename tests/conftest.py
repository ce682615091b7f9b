"""Shared fixtures: where real data is, and a seeded random generator."""

import os
import signal
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
# Programs that are started in the background ignore Ctrl-C, and so would all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["SOURCE_DATE_EPOCH"] = "1600000000"  # model files of two runs bear the same day

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0

DATA = Path(os.environ.get("VISUALWORDS_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def data_folder():
    """Give ``find(name)`` → the folder of that real data set, or skip the test."""

    def find(name: str) -> Path:
        if not (DATA / name).is_dir():
            pytest.skip(
                f"needs the {name} images; point VISUALWORDS_DATA at the folder that has them"
            )
        return DATA / name

    return find


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Start three workers for two processors: many tests wait, for servers, signals and limits."""
    n_workers = yield
    return n_workers if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else n_workers * 3 // 2


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what takes long unless it is asked for, and what needs POSIX where there is none."""
    if not (config.option.markexpr or os.environ.get("VISUALWORDS_LONG_TESTS") == "1"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="takes long: pytest -m slow"))
    if not hasattr(os, "mkfifo"):
        for item in items:
            if item.get_closest_marker("posix"):
                item.add_marker(pytest.mark.skip(reason="needs a POSIX system"))
