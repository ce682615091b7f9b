"""Work on a Dask cluster: the same bytes as on one machine, and a sentence for what goes wrong."""

import logging
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import joblib
import numpy as np
import pytest
from PIL import Image

from tests.apps.cluster.conftest import QUIET, a_killed_worker, local_workers
from tests.apps.detection.figures import scene
from tests.apps.detection.figures import train as train_detector
from visualwords import ImageClassifier
from visualwords.apps.classify_images.main import main
from visualwords.apps.cluster import connection
from visualwords.apps.cluster.connection import on_cluster
from visualwords.classifiers import ICDClassifier
from visualwords.classifiers.linear import ByteLinearClassifier
from visualwords.codebook import HIKCodebook, KMeansCodebook
from visualwords.errors import ClusterError
from visualwords.parallel import map_on_workers

dask = pytest.importorskip("dask", reason="needs visualwords[distributed]")

pytestmark = [pytest.mark.slow, QUIET]


def rows_of(n, d):
    """Rows of ten classes, which overlap, and their classes."""
    random = np.random.default_rng(0)
    y = np.arange(n) % 10
    return random.gamma(0.4, 1.0 + (y[:, None] == np.arange(d) % 10)), y


def state_of(model, X, y):
    return {name: value.tobytes() for name, value in model.fit(X, y).get_state().items()}


def bytes_held_out(X, y):
    X = np.clip(10 * X, 0, 127).astype(np.int8)
    model = ByteLinearClassifier()
    held_out = model.fit_and_hold_out(X, y, np.arange(len(X)) % 5)
    return [held_out.tobytes(), model.weights_.tobytes(), model.factors_.tobytes()]


LEARNED = {
    "dual": lambda X, y: state_of(ICDClassifier(solver="dual"), X, y),
    "folds": lambda X, y: state_of(ICDClassifier(solver="gram", probability=True), X, y),
    "blocks": lambda X, y: state_of(ICDClassifier(solver="blocks"), X, y),
    "bytes": bytes_held_out,
    "k-means": lambda X, _: state_of(KMeansCodebook(7, random_state=0), X.astype("f4"), None),
    "HIK words": lambda X, _: state_of(HIKCodebook(7, random_state=0), X.astype("f4"), None),
}
RECIPES = {
    "words": {"recipe": "words", "n_words": 16},
    "words from disk": {"recipe": "fast", "n_words": 8, "memory": 1},
    "pyramid-match": {"recipe": "pyramid-match"},
    "auto": {"recipe": "auto", "budget": 0.001},
}


@pytest.mark.parametrize("name", LEARNED)
def test_what_is_learned_is_the_same_and_a_killed_worker_changes_nothing(name):
    data = rows_of(800, 120)
    expected = LEARNED[name](*data)
    with local_workers() as client:
        with on_cluster(client):
            assert LEARNED[name](*data) == expected
        with on_cluster(client), a_killed_worker(client):
            assert LEARNED[name](*data) == expected


def trained(images, path, **settings):
    ImageClassifier(**settings).fit(str(images)).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("name", RECIPES)
def test_models_have_the_same_bytes_also_when_a_worker_is_killed(name, client, images, tmp_path):
    expected = trained(images, tmp_path / "here.vw", **RECIPES[name])
    cache = tmp_path / "cache"
    with on_cluster(client):
        assert trained(images, tmp_path / "m.vw", cache_dir=cache, **RECIPES[name]) == expected
        for k, file in enumerate(sorted(p for p in cache.rglob("*.vwc") if p.is_file())):
            file.write_bytes(b"" if k % 2 else file.read_bytes()[:100])  # recomputed, never used
        assert trained(images, tmp_path / "m.vw", cache_dir=cache, **RECIPES[name]) == expected
    if name == "words":
        with local_workers() as two, on_cluster(two), a_killed_worker(two):
            assert trained(images, tmp_path / "there.vw", **RECIPES[name]) == expected


def sources_of(images, *others):
    """The paths and labels of all images, and of others whose label is the first one."""
    sources = sorted(str(path) for path in images.glob("*/*.png"))
    labels = [Path(source).parent.name for source in sources]
    return [*sources, *map(str, others)], labels + labels[:1] * len(others)


def test_files_that_workers_cannot_read_are_skipped_and_those_they_lack_refused(
    client, images, tmp_path, monkeypatch
):
    sources, labels = sources_of(images, tmp_path / "cut.png", tmp_path / "gone.png")
    (tmp_path / "cut.png").write_bytes(Path(sources[0]).read_bytes()[:200])
    here = ImageClassifier("tiny").fit(sources, labels, warn=False)
    with on_cluster(client):
        there = ImageClassifier("tiny").fit(sources, labels, warn=False)
    assert there.skipped_ == here.skipped_
    assert [one.source for one in there.skipped_] == sources[-2:]
    assert np.array_equal(there.decision_function(sources[:5]), here.decision_function(sources[:5]))
    monkeypatch.setattr(connection, "exists", lambda path: True)
    with pytest.raises(ClusterError, match=r"a worker lacks .*gone\.png"), on_cluster(client):
        ImageClassifier("tiny").fit(sources, labels)


def test_a_detector_learns_and_detects_the_same(client):
    here = train_detector(n_rounds=1)
    with on_cluster(client):
        there = train_detector(n_rounds=1)
    image = scene(np.random.default_rng(3), [[40, 60, 64, 132]])
    for found, expected in zip(there.detect(image), here.detect(image)):
        np.testing.assert_array_equal(found, expected)


class Counted:
    """Knows how often one was made from what was sent to this process."""

    made = 0

    def __reduce__(self):
        return make_counted, ()


def make_counted():
    Counted.made += 1
    return Counted()


def count(shared, number):
    return os.getpid(), type(shared) is Counted, Counted.made


def test_what_is_shared_reaches_each_worker_once(client):
    with on_cluster(client):
        found = list(map_on_workers(count, [(i,) for i in range(40)], shared=[Counted()]))
    assert len({process for process, *_ in found}) == 2
    assert {tuple(seen) for _, *seen in found} == {(True, 1)}


# what goes wrong


@contextmanager
def started_by_hand(folder):
    """Run a scheduler and two workers as processes of their own; yield the address and these."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"tcp://127.0.0.1:{port}"
    commands = [["scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"]]
    commands += 2 * [["worker", address, "--nthreads", "1", "--no-dashboard"]]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    running = [subprocess.Popen([sys.executable, "-m", "dask", *c], **quiet) for c in commands]
    try:
        yield address, running
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_workers_started_by_hand_give_the_same_and_their_lost_scheduler_a_sentence(tmp_path):
    data = rows_of(200, 40)
    with started_by_hand(tmp_path) as (address, running):  # noqa: SIM117
        with pytest.raises(ClusterError, match="connection to the cluster was lost"):  # noqa: PT012
            with on_cluster(address) as client:
                client.wait_for_workers(2)
                assert LEARNED["dual"](*data) == state_of(ICDClassifier(solver="dual"), *data)
                threading.Timer(1.0, running[0].kill).start()
                joblib.Parallel(n_jobs=2)(joblib.delayed(time.sleep)(0.2) for _ in range(100))


def test_what_is_no_scheduler_or_not_there_is_told_and_dask_logs_nothing(monkeypatch):
    for address in ("nonsense", "local:0", "local:", "local:many", "local:none"):
        with pytest.raises(ClusterError, match="local:4"), on_cluster(address):
            pass
    names = ("distributed", "distributed.client", "distributed.scheduler")
    assert not any(logging.getLogger(name).isEnabledFor(logging.ERROR) for name in names)
    monkeypatch.setattr(connection, "PATIENCE", 1)
    with pytest.raises(ClusterError, match="no scheduler answers"), on_cluster("tcp://127.0.0.1:9"):
        pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match="pip install dask distributed"), on_cluster("local:2"):
        pass


def test_a_worker_out_of_memory_is_told_and_with_more_it_works(images, tmp_path):
    huge = np.zeros((9000, 11000, 3), np.uint8)
    huge[::50] = 255
    Image.fromarray(huge).save(tmp_path / "huge.png", compress_level=1)
    sources, labels = sources_of(images, tmp_path / "huge.png")
    model = ImageClassifier("tiny", cache_dir=tmp_path / "cache")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        local_workers(1, memory_limit="450 MB") as client,
        pytest.raises(ClusterError, match="tried it; give them more memory"),
        on_cluster(client),
    ):
        model.fit(sources, labels)
    with local_workers(1) as client, on_cluster(client):
        model.fit(sources, labels)
    assert model.skipped_ == []


def test_the_command_trains_and_predicts_on_a_cluster(images, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def classify_images(*words):
        code = main([str(word) for word in words])
        return code, capsys.readouterr().err

    common = ("--recipe", "tiny", "--no-cache", images)
    assert classify_images("train", *common, "-o", "a.vw")[0] == 0
    code, said = classify_images("train", *common, "-o", "b.vw", "--scheduler", "local:2")
    assert (code, "cluster dashboard: http://127.0.0.1:" in said) == (0, True)
    assert (tmp_path / "a.vw").read_bytes() == (tmp_path / "b.vw").read_bytes()
    lost = "predict", "b.vw", images, "--scheduler", "tcp://127.0.0.1:9"
    code, said = classify_images(*lost)
    assert (code, "no scheduler answers" in said) == (1, True)
