"""A process that is killed, interrupted or out of disk loses nothing that was there before."""

import os
import shutil
import signal
import time

import numpy as np
import pytest

from tests.faults.commands import Running, run, server, wait_until
from tests.faults.conftest import IS_LONG
from visualwords import ImageClassifier, folders
from visualwords.apps.classify_images.main import main
from visualwords.cache import FeatureCache

N_KILLS = 30 if IS_LONG else 4


@pytest.fixture
def target(tmp_path):
    return tmp_path / "out" / "m.vw"


@pytest.fixture
def training(photos, target, tmp_path):
    """Give the arguments of a training that writes a model file and a cache."""
    target.parent.mkdir()
    arguments = ["train", photos, "-o", target, "--recipe", "tiny", "--quiet", "--jobs", "2"]
    return [*map(str, arguments), "--cache", str(tmp_path / "cache")]


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


def litter(folder):
    return [name for *_, names in os.walk(folder) for name in names if name.startswith(".writing")]


@pytest.fixture(scope="module")
def seconds(photos, tmp_path_factory):
    """Give how long a training takes here and now."""
    folder = tmp_path_factory.mktemp("timed")
    train = ["train", photos, "-o", folder / "m.vw", "--recipe", "tiny", "--jobs", "2"]
    for _ in range(2):  # the server starts with the first
        start = time.monotonic()
        assert run(*train, "--no-cache", log=folder / "log").code == 0
    return time.monotonic() - start


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT", "SIGTERM", "SIGHUP"])
def test_a_training_ended_at_any_moment_leaves_nothing_wrong(
    name, training, target, log, model_bytes, seconds, tmp_path
):
    number = getattr(signal, name)
    expected = 130 if name == "SIGINT" else -number
    n_kills = N_KILLS if name == "SIGKILL" else 2
    moments = np.random.default_rng(14).uniform(0.1, 0.8, n_kills) * seconds
    codes = []
    for moment in [0, *moments[1:]]:  # at once, when it can't have ended
        process = Running(training, log)
        time.sleep(moment)
        process.send(number)
        done = process.wait()
        codes.append(done.code)
        assert done.code in (expected, 0), done.output
        assert "Traceback" not in done.output
        assert not target.exists() or target.read_bytes() == model_bytes
        assert main(training) == 0
        assert target.read_bytes() == model_bytes
        assert litter(tmp_path) == []
        shutil.rmtree(tmp_path / "cache")
        target.unlink()
    assert expected in codes


def test_a_training_that_is_stopped_and_resumed_goes_on(training, target, log, model_bytes):
    process = Running(training, log)
    for _ in range(3):
        time.sleep(0.1)
        process.send(signal.SIGSTOP)
        time.sleep(0.1)
        process.send(signal.SIGCONT)
    assert process.wait().code == 0
    assert target.read_bytes() == model_bytes


def put_for_ever(folder):
    cache = FeatureCache(folder)
    for turn in range(10**9):
        cache.put(cache.key(b"%d" % (turn % 7), {}), np.full(300_000, turn % 7))


def test_a_cache_write_killed_at_any_moment_leaves_no_wrong_entry(tmp_path):
    for turn, moment in enumerate(np.random.default_rng(14).uniform(0, 0.1, N_KILLS)):
        folder = tmp_path / str(turn)
        process = server.Process(target=put_for_ever, args=(folder,))
        process.start()
        wait_until(folder.exists)
        time.sleep(moment)
        process.kill()
        process.join()
        cache = FeatureCache(folder)
        for number in range(7):
            found = cache.get(cache.key(b"%d" % number, {}))
            assert found is None or (found == number).all()
        cache.put(cache.key(b"another", {}), np.arange(3))
        assert litter(folder) == []


def test_a_full_disk_leaves_the_old_model_and_no_litter(training, small_disk, log, model_bytes):
    disk = small_disk(256)
    target = disk / "m.vw"
    training[training.index("-o") + 1] = str(target)
    target.write_bytes(b"the old model")
    filler = disk / "filler"
    filler.write_bytes(bytes(256 * 1024 - len(model_bytes) // 2))
    done = run(*training, log=log)
    assert done.code == 1
    assert f"error: {target}: no space left on device" in done.output
    assert "Traceback" not in done.output
    assert target.read_bytes() == b"the old model"
    assert sorted(os.listdir(disk)) == ["filler", "m.vw"]
    filler.unlink()
    assert main(training) == 0
    assert target.read_bytes() == model_bytes


def test_a_cache_on_a_full_disk_costs_nothing_but_time(
    training, small_disk, target, log, model_bytes
):
    disk = small_disk(64)
    (disk / "filler").write_bytes(bytes(60 * 1024))
    training[training.index("--cache") + 1] = str(disk / "cache")
    done = run(*training, log=log)
    assert done.code == 0, done.output
    assert target.read_bytes() == model_bytes
    assert litter(disk) == []


def test_an_output_that_can_not_be_written_is_said_before_the_work(training, small_disk, log):
    disk = small_disk(64)
    os.system(f"mount -o remount,ro '{disk}'")
    training[training.index("-o") + 1] = str(disk / "m.vw")
    done = run(*training, log=log)
    assert done.code == 1
    assert f"the folder {disk} is not writable" in done.output
    assert os.listdir(disk) == []


def test_an_output_folder_that_vanishes_during_the_work_is_an_error_that_names_it(
    training, target, monkeypatch, capsys, model_bytes
):
    fit = ImageClassifier.fit

    def fit_and_lose_the_folder(self, *arguments, **options):
        fit(self, *arguments, **options)
        shutil.rmtree(target.parent)
        return self

    with monkeypatch.context() as patch:
        patch.setattr(ImageClassifier, "fit", fit_and_lose_the_folder)
        assert main(training) == 1
    assert f"error: {target}: no such file or directory" in capsys.readouterr().err
    assert main(training) == 1
    assert "create it first" in capsys.readouterr().err
    target.parent.mkdir()
    assert main(training) == 0
    assert target.read_bytes() == model_bytes


def test_images_that_vanish_or_change_after_they_were_listed_are_skipped_or_read_as_they_are(
    photos, tmp_path, monkeypatch, capsys
):
    copy = tmp_path / "photos"
    shutil.copytree(photos, copy)
    items_of = folders.ImageFolder.items.fget

    def list_a_changing_folder(folder):
        items = items_of(folder)
        (copy / "sea" / "0.png").unlink(missing_ok=True)
        shutil.copy(copy / "sea" / "1.png", copy / "sea" / "2.png")
        (copy / "sand" / "0.png").write_bytes(b"")
        return items

    monkeypatch.setattr(folders.ImageFolder, "items", property(list_a_changing_folder))
    arguments = ["train", copy, "-o", tmp_path / "m.vw", "--recipe", "tiny", "--no-cache"]
    assert main([str(argument) for argument in arguments]) == 3
    errors = capsys.readouterr().err
    assert "2 files skipped" in errors
    assert "no such file" in errors
    assert "the file is empty" in errors
