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
def a_killed_worker(client):
    """Send SIGKILL to the first worker that is busy."""
    processes, killed, done = client.run(os.getpid), [], threading.Event()

    def kill():
        while not (killed or done.is_set()):
            busy = [w for w, tasks in client.processing().items() if tasks and w in processes]
            for worker in busy[:1]:
                os.kill(processes[worker], signal.SIGKILL)
                killed.append(worker)
            time.sleep(0.002)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    yield
    done.set()
    killer.join()
    assert killed, "no worker was busy"


@pytest.fixture(scope="session")
def client():
    """Give a client of two workers."""
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
