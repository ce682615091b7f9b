import logging
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import joblib
import numpy as np
import pytest
from PIL import Image

from tests.apps.cluster.conftest import QUIET, a_killed_worker, local_workers
from tests.apps.detection.figures import scene
from tests.apps.detection.figures import train as train_detector
from visualwords import ImageClassifier
from visualwords.apps.cluster import connection
from visualwords.apps.cluster.connection import on_cluster
from visualwords.apps.detect_pedestrians.result_files import ResultFiles
from visualwords.apps.detect_pedestrians.searching import Searching
from visualwords.cache import FeatureCache
from visualwords.errors import ClusterError
from visualwords.folders import ImageFolder

pytestmark = [pytest.mark.slow, QUIET]


@pytest.fixture(scope="module")
def local_bytes(images, tmp_path_factory):
    return trained(images, tmp_path_factory.mktemp("models") / "local.vw")


def trained(images, path, **settings):
    """Train on a folder and return the bytes of the model file."""
    ImageClassifier("words", n_words=16, **settings).fit(str(images)).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("stage", ["run_elsewhere", "label_and_sum", "score_fold"])
def test_a_killed_worker_changes_nothing(stage, mortals, images, local_bytes, tmp_path):
    with on_cluster(mortals), a_killed_worker(mortals, stage):
        found = trained(images, tmp_path / "m.vw")
    assert found == local_bytes


@contextmanager
def started_by_hand(folder, *options):
    """Run a scheduler and two workers as processes of their own; yield the address and these."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"tcp://127.0.0.1:{port}"
    commands = [["scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"]]
    commands += 2 * [["worker", address, "--nthreads", "1", "--no-dashboard", *options]]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    running = [subprocess.Popen([sys.executable, "-m", "dask", *c], **quiet) for c in commands]
    try:
        yield address, running
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


def test_the_same_bytes_from_workers_started_by_hand_and_on_joblibs_own_backend(
    images, local_bytes, tmp_path
):
    with started_by_hand(tmp_path) as (address, _), on_cluster(address) as client:
        client.wait_for_workers(2)
        assert trained(images, tmp_path / "m.vw") == local_bytes
        with joblib.parallel_config("dask"):
            assert trained(images, tmp_path / "j.vw") == local_bytes


def sleep_there(in_a_second=lambda: None):
    """Let workers sleep for ten seconds each, and do something while they do."""
    timer = threading.Timer(1.0, in_a_second)
    timer.start()
    try:
        joblib.Parallel(n_jobs=2)(joblib.delayed(time.sleep)(0.2) for _ in range(100))
    finally:
        timer.cancel()


def test_a_lost_scheduler_is_told_in_a_sentence(tmp_path):
    with (
        started_by_hand(tmp_path) as (address, running),
        pytest.raises(ClusterError, match="connection to the cluster was lost"),
        on_cluster(address),
    ):
        sleep_there(in_a_second=running[0].kill)


def test_dask_logs_no_tracebacks_of_what_is_told_in_a_sentence():
    with pytest.raises(ClusterError), on_cluster("local:none"):
        pass
    names = ("distributed", "distributed.client", "distributed.utils", "distributed.scheduler")
    assert not any(logging.getLogger(name).isEnabledFor(logging.ERROR) for name in names)


def test_work_that_ends_every_worker_is_told_in_a_sentence():
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        local_workers(1, threads_per_worker=2) as client,
        pytest.raises(ClusterError, match="ended every worker that tried"),
        on_cluster(client),
    ):
        joblib.Parallel(n_jobs=2)([joblib.delayed(os._exit)(1)])


def test_workers_that_do_not_see_the_images_are_refused(client, images, monkeypatch):
    paths = [*ImageFolder(images).paths, "/only/here/0.png"]
    labels = [*ImageFolder(images).labels, "brick"]
    monkeypatch.setattr(connection, "exists", lambda path: True)
    with (
        pytest.raises(ClusterError, match=r"a worker lacks /only/here/0\.png"),
        on_cluster(client),
    ):
        ImageClassifier("texture").fit(paths, labels)


@pytest.mark.parametrize("address", ["nonsense", "local:0", "local:", "local:many"])
def test_what_is_no_scheduler_is_refused(address):
    with pytest.raises(ClusterError, match="local:4"), on_cluster(address):
        pass


def test_a_scheduler_that_does_not_answer_is_told(monkeypatch):
    monkeypatch.setattr(connection, "PATIENCE", 1)
    with pytest.raises(ClusterError, match="no scheduler answers"), on_cluster("tcp://127.0.0.1:9"):
        pass


def test_a_missing_package_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match="pip install dask distributed"), on_cluster("local:2"):
        pass


def test_the_command_trains_and_predicts_on_a_cluster(images, tmp_path):
    def classify_images(*arguments):
        command = [sys.executable, "-m", "visualwords.apps.classify_images", *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    common = ("--recipe", "texture", "--no-cache", images)
    assert classify_images("train", *common, "-o", "a.vw").returncode == 0
    done = classify_images("train", *common, "-o", "b.vw", "--scheduler", "local:2")
    assert (done.returncode, "cluster dashboard: http://127.0.0.1:" in done.stderr) == (0, True)
    assert (tmp_path / "a.vw").read_bytes() == (tmp_path / "b.vw").read_bytes()
    lost = classify_images("predict", "b.vw", images, "--scheduler", "tcp://127.0.0.1:9")
    assert lost.returncode == 1
    assert "no scheduler answers" in lost.stderr
    assert "Traceback" not in lost.stderr


def test_workers_leave_rows_in_a_shared_cache_and_send_keys(client, images, local_bytes, tmp_path):
    place = tmp_path / "cache"
    with on_cluster(client):
        assert trained(images, tmp_path / "a.vw", cache_dir=place) == local_bytes
    assert FeatureCache(tmp_path / "cache").size()[0] >= 36
    assert trained(images, tmp_path / "b.vw", cache_dir=tmp_path / "cache") == local_bytes


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs Linux")
def test_workers_send_arrays_where_they_do_not_share_the_cache(
    client, images, local_bytes, tmp_path
):
    folder = os.open(tmp_path, os.O_RDONLY)
    only_here = 1000  # a number that no worker has open
    os.dup2(folder, only_here)
    cache_dir = f"/proc/self/fd/{only_here}/cache"
    model = ImageClassifier("words", n_words=16, cache_dir=cache_dir)
    with on_cluster(client):
        model.fit(str(images))
    model.save(tmp_path / "m.vw")
    assert (tmp_path / "m.vw").read_bytes() == local_bytes
    n_channels = len(model.recipe_.channels)
    assert FeatureCache(cache_dir).size()[0] > 18 * n_channels  # they are kept here
    for number in folder, only_here:
        os.close(number)


def test_a_detector_learns_the_same_on_a_cluster(client):
    here = train_detector(n_rounds=1)
    with on_cluster(client):
        there = train_detector(n_rounds=1)
    image = scene(np.random.default_rng(3), [[40, 60, 64, 132]])
    for found, expected in zip(there.detect(image), here.detect(image)):
        np.testing.assert_array_equal(found, expected)


def test_a_folder_is_searched_the_same_on_a_cluster(client, tmp_path):
    detector = train_detector(n_rounds=0)
    random = np.random.default_rng(5)
    (tmp_path / "scenes").mkdir()
    for number in range(3):
        picture = scene(random, [[40, 60, 64, 132]])
        Image.fromarray(picture).save(tmp_path / "scenes" / f"{number}.png")
    (tmp_path / "scenes" / "broken.png").write_bytes(b"no image")

    def searched(output):
        files = ResultFiles(detector.label)
        searching = Searching(detector, str(output), "json", quiet=True, files=files)
        searching.folder(str(tmp_path / "scenes"))
        pictures = {path.name: path.read_bytes() for path in output.iterdir()}
        return repr(searching.found), searching.skipped, searching.n_searched, pictures

    here = searched(tmp_path / "here")
    with on_cluster(client):
        there = searched(tmp_path / "there")
    assert there == here
    assert here[0].count("BoxedImage(") > 0
    assert (len(here[1]), here[2], len(here[3])) == (1, 3, 3)


def test_frames_of_a_video_stay_here_and_that_is_said(client, tmp_path, capsys):
    from tests.apps.detect_pedestrians.test_detect_pedestrians import write_video

    write_video(tmp_path / "walk.avi", 2)
    files = ResultFiles("person")
    searching = Searching(train_detector(n_rounds=0), None, "table", quiet=True, files=files)
    with on_cluster(client):
        searching.video(str(tmp_path / "walk.avi"), every=1)
    assert searching.n_searched == 2
    assert "frames are searched on this machine" in capsys.readouterr().err
