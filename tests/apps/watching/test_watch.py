"""classify-images watch: each image once, whatever happens."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.apps.conftest import COLORS, noisy, write_png
from visualwords.apps.classify_images.main import main
from visualwords.apps.pipeline.image_classifier import ImageClassifier

WATCH = [sys.executable, "-m", "visualwords.apps.classify_images", "watch"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    import numpy as np

    rng = np.random.default_rng(1)
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(8)]
    labels = [name for name in COLORS for _ in range(8)]
    path = tmp_path_factory.mktemp("model") / "m.vw"
    ImageClassifier("color").fit(images, labels).save(path)
    return str(path)


@pytest.fixture
def inbox(tmp_path, rng):
    for i, (name, color) in enumerate(COLORS.items()):
        path = write_png(tmp_path / "in" / f"{name}.png", noisy(color, rng))
        os.utime(path, (1000 + i, 1000 + i))
    return tmp_path / "in"


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def wait_until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def test_json_lines_have_a_prediction_and_its_time(model, inbox, tmp_path):
    out = tmp_path / "out.jsonl"
    assert main(["watch", model, str(inbox), "--once", "-o", str(out), "-q"]) == 0
    found = lines_of(out)
    assert [(os.path.basename(f["path"]), f["label"]) for f in found] == [
        ("sand.png", "sand"),
        ("sea.png", "sea"),
        ("wood.png", "wood"),
    ]
    for one in found:
        assert {"time", "probability", "novelty", "scores", "probabilities", "confident"} <= set(
            one
        )


def test_a_second_run_adds_only_what_is_new_or_changed(model, inbox, tmp_path, rng):
    out = tmp_path / "out.csv"
    command = ["watch", model, str(inbox), "--once", "-o", str(out), "-q", "--settle", "0s"]
    assert main(command) == 0
    write_png(inbox / "new.png", noisy(COLORS["sea"], rng))
    shutil.copy(inbox / "wood.png", inbox / "sea.png")
    assert main(command) == 0
    rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    assert [(os.path.basename(row["path"]), row["label"]) for row in rows] == [
        ("sand.png", "sand"),
        ("sea.png", "sea"),
        ("wood.png", "wood"),
        ("new.png", "sea"),
        ("sea.png", "wood"),
    ]


def test_images_are_sorted_also_into_the_same_folder(model, inbox, tmp_path):
    command = ["watch", model, str(inbox), "--once", "-q", "--sort-into", str(inbox / "sorted")]
    command += ["--journal", str(tmp_path / "journal")]
    assert main(command) == 0
    assert main(command) == 0
    copies = sorted(str(p.relative_to(inbox)) for p in (inbox / "sorted").rglob("*.png"))
    assert copies == ["sorted/sand/sand.png", "sorted/sea/sea.png", "sorted/wood/wood.png"]


def test_what_is_no_image_has_a_line_with_the_reason_and_exit_code_3(model, inbox, tmp_path):
    (inbox / "broken.png").write_bytes(b"no image")
    os.utime(inbox / "broken.png", (1, 1))
    out = tmp_path / "out.jsonl"
    assert main(["watch", model, str(inbox), "--once", "-o", str(out), "-q"]) == 3
    (broken,) = [line for line in lines_of(out) if line["path"].endswith("broken.png")]
    assert "skipped" in broken
    assert main(["watch", model, str(inbox), "--once", "-o", str(out), "-q"]) == 0
    assert len(lines_of(out)) == 4


def test_printed_lines_are_results_only(model, inbox, tmp_path, capsys):
    command = ["watch", model, str(inbox), "--once", "--journal", str(tmp_path / "journal")]
    assert main([*command, "--json"]) == 0
    printed = capsys.readouterr()
    assert len([json.loads(line) for line in printed.out.splitlines()]) == 3
    assert "predicting the files of" in printed.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing"], "missing: not a folder; create it first"),
        (["in", "--csv", "--json"], "--csv and --json exclude each other"),
        (["in", "-o", "nowhere/out.csv"], "the folder nowhere does not exist"),
        (["in", "--settle", "soon"], "'soon' is not a duration"),
        (["in", "--unknown", "2"], "2.0 is not in the range"),
    ],
)
def test_wrong_input_gets_one_sentence(
    model, inbox, tmp_path, monkeypatch, capsys, arguments, sentence
):
    monkeypatch.chdir(tmp_path)
    assert main(["watch", model, *arguments]) in (1, 2)
    assert sentence in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_killed_thrice_in_bursts_every_image_has_one_line(model, tmp_path, rng):
    inbox, out = tmp_path / "in", tmp_path / "out.jsonl"
    inbox.mkdir()
    picture = write_png(tmp_path / "one.png", noisy(COLORS["sea"], rng)).read_bytes()
    n_bursts, size = 3, 60
    for burst in range(n_bursts):
        watch = subprocess.Popen([*WATCH, model, str(inbox), "-o", str(out), "-q"])
        try:
            for i in range(size):
                (inbox / f"{burst}-{i}.png").write_bytes(picture)
            some = f"{burst}-{rng.integers(size)}.png"
            wait_until(lambda name=some: out.exists() and name in out.read_text(encoding="utf-8"))
        finally:
            watch.send_signal(signal.SIGKILL)
            watch.wait()
        with open(out, "ab") as file:  # as if it was killed in the middle of a line
            file.write(b'{"path": "half')
    assert main(["watch", model, str(inbox), "-o", str(out), "--once", "-q"]) == 0
    found = [os.path.basename(line["path"]) for line in lines_of(out)]
    assert len(found) == len(set(found)) == n_bursts * size


def test_a_replaced_model_is_loaded_and_a_broken_one_is_not(model, tmp_path, rng):
    inbox, out, mine = tmp_path / "in", tmp_path / "out.jsonl", tmp_path / "m.vw"
    inbox.mkdir()
    shutil.copy(model, mine)
    watch = subprocess.Popen(
        [*WATCH, str(mine), str(inbox), "-o", str(out), "--reload"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert "watching" in watch.stderr.readline()
        for content, sentence in ((b"broken", "stays in use"), (None, "loaded again")):
            if content is None:
                os.replace(shutil.copy(model, tmp_path / "other.vw"), mine)
            else:
                mine.write_bytes(content)
            name = f"{sentence}.png"
            time.sleep(1.2)  # the file is looked at once a second
            write_png(inbox / name, noisy(COLORS["wood"], rng))
            wait_until(lambda n=name: out.exists() and n in out.read_text(encoding="utf-8"))
            while sentence not in (line := watch.stderr.readline()):
                assert line, f"no line says {sentence}"
    finally:
        watch.kill()
        watch.wait()
        watch.stderr.close()
    assert [line["label"] for line in lines_of(out)] == ["wood", "wood"]
