"""Real workers in processes of their own, which tests share: starting one takes seconds."""

import os
import signal
import threading
import time
from contextlib import contextmanager

import pytest
from PIL import Image

from visualwords.apps.classify_images.demo_images import texture_tiles

QUIET = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore:.*unclosed.*"
)  # of Dask itself


@contextmanager
def local_workers(n_workers=2, **settings):
    """Start workers of one thread each; yield a client."""
    distributed = pytest.importorskip("distributed", reason="needs visualwords[distributed]")
    settings = {"threads_per_worker": 1, "host": "127.0.0.1"} | settings
    with (
        distributed.LocalCluster(
            n_workers=n_workers, dashboard_address="127.0.0.1:0", **settings
        ) as started,
        distributed.Client(started) as client,
    ):
        yield client


@contextmanager
def a_killed_worker(client, stage):
    """Send SIGKILL to a worker as soon as it has work whose name has the stage in it."""
    done = threading.Event()
    killer = threading.Thread(target=_kill_a_busy_worker, args=(client, stage, done), daemon=True)
    killer.start()
    yield
    killed = done.is_set()
    done.set()
    killer.join()
    assert killed, f"no worker was busy with {stage}"


def _kill_a_busy_worker(client, stage, done):
    processes = client.run(os.getpid)
    while not done.is_set():
        for worker, tasks in client.processing().items():
            if any(stage in str(task) for task in tasks) and worker in processes:
                os.kill(processes[worker], signal.SIGKILL)
                done.set()
                return
        time.sleep(0.002)


@pytest.fixture(scope="session")
def client():
    """Give a client of two workers."""
    with local_workers() as found:
        yield found


@pytest.fixture
def mortals():
    """Give a client of two workers of a test's own, which may kill them."""
    with local_workers() as found:
        yield found


@pytest.fixture(scope="session")
def images(tmp_path_factory):
    """Give a folder of nine classes, four small images each."""
    folder = tmp_path_factory.mktemp("tiles")
    for tile, label in zip(*texture_tiles("train")):
        (folder / label).mkdir(exist_ok=True)
        if len(os.listdir(folder / label)) < 4:
            Image.fromarray(tile).save(folder / label / f"{len(os.listdir(folder / label))}.png")
    return folder
