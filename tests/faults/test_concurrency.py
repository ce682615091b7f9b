"""Many at once, and places where little may be written: the same answers everywhere."""

import multiprocessing
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

from tests.conftest import ROOT
from tests.faults.commands import Running, run_from_shell
from visualwords import load
from visualwords.cache import FeatureCache
from visualwords.folders import ImageFolder


def test_four_trainings_may_share_a_cache(photos, model_bytes, tmp_path):
    arguments = ["train", photos, "--recipe", "tiny", "--cache", tmp_path / "cache", "--quiet"]
    running = [
        Running([*arguments, "-o", tmp_path / f"{i}.vw"], log=tmp_path / f"log{i}")
        for i in range(4)
    ]
    for i, process in enumerate(running):
        done = process.wait()
        assert done.code == 0, done.output
        assert (tmp_path / f"{i}.vw").read_bytes() == model_bytes
    assert list(tmp_path.rglob(".writing-*")) == []
    assert FeatureCache(tmp_path / "cache").size()[0]


def answer(path, photos, queue):
    queue.put(load(path).decision_function(ImageFolder(photos).paths))


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_model_gives_the_same_scores_in_threads_and_in_processes_of_any_kind(model, photos):
    classifier, paths = load(model), ImageFolder(photos).paths
    expected = classifier.decision_function(paths)
    for method in "fork", "spawn", "forkserver":
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        child = context.Process(target=answer, args=(model, photos, queue))
        child.start()
        np.testing.assert_array_equal(queue.get(timeout=120), expected)
        child.join(timeout=120)
        assert child.exitcode == 0
    for backend in "loky", "threading":
        with joblib.parallel_config(backend, n_jobs=2):
            np.testing.assert_array_equal(classifier.decision_function(paths), expected)
    orders = [np.random.default_rng(i).permutation(len(paths)) for i in range(32)]

    def ask(order):
        return classifier.decision_function([paths[i] for i in order])

    with ThreadPoolExecutor(16) as pool:
        for order, scores in zip(orders, pool.map(ask, orders)):
            np.testing.assert_array_equal(scores, expected[order])


@pytest.fixture
def read_only_site(small_disk):
    """Give a folder with a copy of the package, where nothing can be written."""
    site = small_disk(1 << 16)
    for folder in "vision", "features", "codebook", "classifiers", "apps":
        target = site / "visualwords" / ("" if folder == "vision" else folder)
        shutil.copytree(
            ROOT / folder, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    subprocess.run(["mount", "-o", "remount,ro", site], check=True)
    return site


def homeless(**more):
    """An environment without a home, and without any other place to write."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "XDG_", "HOME"))}
    return kept | {"HOME": os.devnull} | more  # not even root can write below a file


@pytest.mark.slow
def test_a_read_only_installation_without_a_home_predicts_with_one_warning(
    read_only_site, model, photos, tmp_path
):
    image = photos / "sea" / "0.png"
    expected = run_from_shell("predict", model, image, "--no-cache", "--csv", "--quiet").output
    done = run_from_shell(
        *("predict", model, image, "--csv", "--quiet"),
        environment=homeless(PYTHONPATH=str(read_only_site), PYTHONDONTWRITEBYTECODE="1"),
        cwd=tmp_path,
    )
    assert done.code == 0, done.output
    assert expected in done.output
    assert done.output.count("warning:") == 1, done.output
    assert "Set NUMBA_CACHE_DIR" in done.output
    assert sorted(os.listdir(tmp_path)) == ["disk0", "photos.vw"]
