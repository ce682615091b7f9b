"""classify-images watch: each image once, whatever happens."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy, write_png
from visualwords import ImageClassifier
from visualwords.apps.classify_images.main import main

WATCH = [sys.executable, "-m", "visualwords.apps.classify_images", "watch"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rng = np.random.default_rng(1)
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(8)]
    labels = [name for name in COLORS for _ in range(8)]
    path = tmp_path_factory.mktemp("model") / "m.vw"
    ImageClassifier("tiny").fit(images, labels).save(path)
    return str(path)


@pytest.fixture
def inbox(tmp_path, rng):
    """Give a folder of three images, and a file that is none."""
    for name, color in COLORS.items():
        write_png(tmp_path / "in" / f"{name}.png", noisy(color, rng))
    (tmp_path / "in" / "broken.png").write_bytes(b"no image")
    for i, path in enumerate((tmp_path / "in").iterdir()):
        os.utime(path, (1000 + i, 1000 + i))
    return tmp_path / "in"


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def wait_until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def test_json_lines_have_a_prediction_or_a_reason_and_the_time(model, inbox, tmp_path, capsys):
    command = ["watch", model, str(inbox), "--once", "--json"]
    assert main([*command, "-o", str(tmp_path / "out.jsonl"), "-q"]) == 3
    broken, *found = lines_of(tmp_path / "out.jsonl")
    assert "skipped" in broken
    assert [one["label"] for one in found] == ["sand", "sea", "wood"]
    keys = {"time", "path", "probability", "novelty", "scores", "probabilities", "confident"}
    assert keys <= set(found[0])
    capsys.readouterr()
    assert main([*command, "--journal", str(tmp_path / "journal")]) == 3
    printed = capsys.readouterr()
    assert [json.loads(line).get("label") for line in printed.out.splitlines()][1:] == list(
        sorted(COLORS)
    )
    assert "predicting the files of" in printed.err


def test_a_second_run_adds_only_what_is_new_or_changed_and_sorts_copies(
    model, inbox, tmp_path, rng
):
    out = tmp_path / "out.csv"
    command = ["watch", model, str(inbox), "--once", "-o", str(out), "-q", "--settle", "0s"]
    command += ["--sort-into", str(inbox / "sorted")]  # the copies are not looked at
    assert main(command) == 3
    write_png(inbox / "new.png", noisy(COLORS["sea"], rng))
    shutil.copy(inbox / "wood.png", inbox / "sea.png")
    assert main(command) == 0
    rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    assert [(os.path.basename(row["path"]), row["label"]) for row in rows[1:]] == [
        *((f"{name}.png", name) for name in sorted(COLORS)),
        ("new.png", "sea"),
        ("sea.png", "wood"),
    ]
    copies = {str(p.relative_to(inbox / "sorted")) for p in inbox.rglob("*/*/*.png")}
    assert copies == {f"{n}/{n}.png" for n in COLORS} | {"sea/new.png", "wood/sea.png"}


WRONG = {  # words after the model → what is said
    "missing": "missing: not a folder; create it first",
    "in --csv --json": "--json and --csv exclude each other",
    "in -o nowhere/out.csv": "the folder nowhere does not exist",
    "in --settle soon": "'soon' is not a duration",
    "in --unknown 2": "2.0 is not in the range",
}


def test_wrong_input_gets_one_sentence(model, inbox, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for words, sentence in WRONG.items():
        assert main(["watch", model, *words.split()]) in (1, 2)
        assert sentence in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_killed_thrice_in_bursts_every_image_has_one_line_also_of_a_new_model(model, tmp_path, rng):
    inbox, out, mine = tmp_path / "in", tmp_path / "out.jsonl", tmp_path / "m.vw"
    inbox.mkdir()
    shutil.copy(model, mine)
    picture = write_png(tmp_path / "one.png", noisy(COLORS["sea"], rng)).read_bytes()
    n_bursts, size = 3, 60
    for burst in range(n_bursts):
        watch = subprocess.Popen([*WATCH, mine, inbox, "-o", out, "-q", "--reload"])
        try:
            for i in range(size):
                (inbox / f"{burst}-{i}.png").write_bytes(picture)
            some = f"{burst}-{rng.integers(size)}.png"
            wait_until(lambda name=some: out.exists() and name in out.read_text(encoding="utf-8"))
            os.replace(shutil.copy(model, tmp_path / "other.vw"), mine)
        finally:
            watch.send_signal(signal.SIGKILL)
            watch.wait()
        with open(out, "ab") as file:  # as if it was killed in the middle of a line
            file.write(b'{"path": "half')
    assert main(["watch", str(mine), str(inbox), "-o", str(out), "--once", "-q"]) == 0
    found = [os.path.basename(line["path"]) for line in lines_of(out)]
    assert len(found) == len(set(found)) == n_bursts * size
