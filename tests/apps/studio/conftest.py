"""A studio whose models are trained in a thread, and a client that asks it."""

import threading
import time

import httpx
import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy
from tests.apps.page.conftest import running
from visualwords.apps.page.limits import Limits
from visualwords.apps.page.served_models import ServedModels
from visualwords.apps.studio import learning as learning_module
from visualwords.apps.studio.learning import Learning
from visualwords.apps.studio.studio_server import create_studio
from visualwords.apps.studio.trainer import News, run
from visualwords.apps.studio.workspace import Workspace
from visualwords.images import encode_image

LIMITS = Limits(max_bytes=2_000_000, max_pixels=1_000_000)
TOKEN = "0123456789abcdef"


class Thread:
    """Trains in a thread of the same process; has the methods of `TrainingProcess`."""

    def __init__(self, news):
        self.news = news

    def send(self, job=None):
        if job is not None:
            threading.Thread(target=self._run, args=(dict(job),), daemon=True).start()

    def stop(self):
        pass

    def _run(self, job):
        number = job.pop("number")
        teller = News(number)
        teller.tell = lambda **news: self.news({"job": number, **news})
        try:
            run(teller, **job)
        except Exception as problem:  # a test sees it in the status
            teller.tell(failed=repr(problem))


class Studio:
    """A studio and a client of it."""

    def __init__(self, root, cache_dir=None):
        self.workspace = Workspace(root)
        self.learning = Learning(
            self.workspace,
            ServedModels({}),
            max_pixels=LIMITS.max_pixels,
            n_jobs=1,
            cache_dir=cache_dir,
        )
        app = create_studio(self.workspace, self.learning, limits=LIMITS)
        self._server = running(app, LIMITS)

    def __enter__(self):
        host, port = self._server.__enter__()
        self.address = f"http://{host}:{port}/"
        self.client = httpx.Client(base_url=self.address, timeout=30, trust_env=False)
        return self

    def __exit__(self, *_):
        self.client.close()
        self._server.__exit__(None, None, None)
        self.learning.close()
        self.workspace.close()

    def get(self, path):
        return self.client.get(path)

    def post(self, path, **asked):
        return self.client.post(path, json=asked)

    def add(self, label, name, data, token=TOKEN):
        query = {"class": label, "name": name, "change": token}
        return self.client.post("/studio/add", params=query, content=data)

    def images(self):
        """Class → list of (name, id)."""
        found = self.get("/studio/images").json()
        listed = {one["name"]: [] for one in found["classes"]}
        for number, place, name, _ in found["images"]:
            listed[found["classes"][place]["name"]].append((name, number))
        return listed

    def wait_for(self, wanted, pause=0.05):
        """Wait until something is true of the status; return the status."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            status = self.get("/studio/status").json()
            assert not any(one["failed"] for one in status["training"].values()), status
            if wanted(status):
                return status
            time.sleep(pause)
        raise AssertionError(f"did not come in time; last: {status}")

    def wait_until_tested(self, kind="quick", after=0):
        """Wait for a model of all images that has a higher number than another one."""
        n = sum(map(len, self.images().values()))

        def is_tested(status):
            models = [one for one in status["models"] if one["kind"] == kind]
            is_new = bool(models) and models[-1]["number"] > after and models[-1]["images"] == n
            return is_new and not status["training"][kind]["on"]

        return self.wait_for(is_tested)


@pytest.fixture
def open_studio(monkeypatch, tmp_path):
    """Give ``open(root)`` → a studio that trains in threads; all are closed at the end."""
    monkeypatch.setattr(learning_module, "TrainingProcess", Thread)
    monkeypatch.setattr("visualwords.apps.studio.trainer.NICENESS", 0)  # of this process
    opened = []

    def open_it(root, **options):
        opened.append(Studio(root, **options).__enter__())
        return opened[-1]

    yield open_it
    for studio in opened:
        studio.__exit__()


@pytest.fixture
def studio(open_studio, tmp_path):
    """Give an empty studio."""
    return open_studio(tmp_path / "mine")


@pytest.fixture(scope="session")
def pictures():
    """Give ``picture(class, number)`` → the bytes of a PNG."""

    def picture(label, number):
        rng = np.random.default_rng([list(COLORS).index(label), number])
        return encode_image(noisy(COLORS[label], rng))

    return picture
