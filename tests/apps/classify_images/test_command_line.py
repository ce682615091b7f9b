"""classify-images as people run it: real files, exit codes and both outputs, some processes."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy, write_photos, write_png
from visualwords import ImageClassifier, Recipe
from visualwords.apps.classify_images.main import main
from visualwords.apps.pipeline import fitted_classifier
from visualwords.apps.pipeline.recipes import RECIPES
from visualwords.cache import FeatureCache

NUMBER = r"\d+\.\d+(e-\d+)?"
IMAGE = "photos/sea/0.png"
COMMAND = [sys.executable, "-m", "visualwords.apps.classify_images"]


def run_process(*arguments, environment=None):
    """Run the command as a process of its own."""
    return subprocess.run(
        [*COMMAND, *map(os.fsencode, arguments)],
        capture_output=True,
        env={**os.environ, **(environment or {})},
        timeout=600,
    )


def run(*arguments):
    """Run the command in this process, which has imported everything, with outputs of its own."""
    outputs = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    with redirect_stdout(outputs[0]), redirect_stderr(outputs[1]):
        code = main([os.fsdecode(argument) for argument in arguments])
    return subprocess.CompletedProcess(arguments, code, *(o.buffer.getvalue() for o in outputs))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Give a model file, which is trained once."""
    folder = tmp_path_factory.mktemp("trained")
    ImageClassifier("tiny").fit(write_photos(folder / "photos")).save(folder / "photos.vw")
    return (folder / "photos.vw").read_bytes()


@pytest.fixture
def model(trained, tmp_path):
    """Give a trained model file beside the photographs."""
    (tmp_path / "photos.vw").write_bytes(trained)
    return tmp_path / "photos.vw"


@pytest.mark.parametrize(
    ("flags", "n_tested"), [(["--test-size", "0.25", "--seed", "1"], 6), (["--folds", "4"], 24)]
)
def test_train_tests_on_a_held_out_share_or_by_folds(photos, tmp_path, flags, n_tested):
    target, report = tmp_path / "m.vw", tmp_path / "r.html"
    done = run(
        "train", photos, "-o", target, *flags, "--report", report, "--json", "--recipe", "tiny",
        "--cache", tmp_path / "cache", "--jobs", "2",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["test"]["images"] == n_tested
    assert summary["test"]["mean_per_class_accuracy"] == 1.0
    assert summary["skipped"] == []
    n_learned = 24 if n_tested == 24 else 18  # by folds, the model learns from all
    assert f"{n_learned} images of 3 classes" in done.stderr.decode()
    assert b"training set too" not in done.stderr
    page = report.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert " ".join(flags[:2]) in page


def test_train_without_a_test_prints_the_figure_of_its_folds(photos, tmp_path, capsys):
    arguments = ["train", str(photos), "-o", str(tmp_path / "m.vw"), "--recipe", "tiny"]
    assert main([*arguments, "--no-cache"]) == 0
    printed = capsys.readouterr()
    assert re.search(
        r"on folds of the training images: 2\d of 24 right: .*95 % interval", printed.out
    )
    assert "--test-size 0.2" in printed.err
    assert main([*arguments, "--no-cache", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)["held_out"]
    assert figures["images"] == 24
    assert figures["accuracy_interval_95"][0] < figures["accuracy"]


def test_predict_prints_a_table_csv_and_json(model, photos):
    image = photos / "sea" / "0.png"
    table = run("predict", model, image, "--no-cache")
    assert b"sea" in table.stdout
    assert b"novelty: share of known images that are less strange" in table.stdout
    rows = list(csv.DictReader(io.StringIO(run("predict", model, image, "--csv").stdout.decode())))
    assert (rows[0]["path"], rows[0]["label"]) == (str(image), "sea")
    assert float(rows[0]["probability"]) > 0.5
    for top, n in (([], 3), (["--top", "2"], 2)):
        answers = json.loads(run("predict", model, photos / "sea", "--json", *top).stdout)
        assert [a["label"] for a in answers["predictions"]] == ["sea"] * 8
        for one in answers["predictions"]:
            assert len(one["scores"]) == len(one["probabilities"]) == n
            chances = list(one["probabilities"].values())
            assert chances == sorted(chances, reverse=True)
            assert n < 3 or sum(chances) == pytest.approx(1)


def test_what_is_not_probable_enough_is_unknown(model, photos, tmp_path):
    odd = write_png(tmp_path / "odd" / "noise.png", np.random.default_rng(0).integers(
        0, 256, (48, 64, 3), dtype=np.uint8))  # fmt: skip
    out = tmp_path / "sorted"
    done = run(
        "predict", model, photos / "sea", odd, "--min-confidence", "0.75", "--no-cache",
        "--sort-into", out, "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = {Path(a["path"]).name: a for a in json.loads(done.stdout)["predictions"]}
    assert answers["noise.png"]["label"] == "unknown"
    assert not answers["noise.png"]["confident"]
    assert answers["0.png"]["label"] == "sea"
    assert (out / "unknown" / "noise.png").read_bytes() == odd.read_bytes()
    assert len(list((out / "sea").iterdir())) == 8
    assert b"9 images in 2 folders" in done.stderr


def test_copies_of_an_earlier_run_are_not_sorted_again(model, photos, capsys):
    out = photos / "sea" / "sorted"
    for _ in range(2):
        arguments = ["predict", str(model), str(photos / "sea"), "--sort-into", str(out), "--csv"]
        assert main(arguments) == 0
        assert len(capsys.readouterr().out.splitlines()) == 9
    assert len(list(out.rglob("*.png"))) == 8


@pytest.mark.slow
def test_a_second_train_starts_from_the_features_of_an_interrupted_one(tmp_path, rng):
    for name, color in COLORS.items():
        for i in range(40):
            write_png(tmp_path / "large" / name / f"{i}.png", noisy(color, rng, (600, 800)))
    cache, target = tmp_path / "cache", tmp_path / "m.vw"
    arguments = ["train", str(tmp_path / "large"), "-o", str(target), "--cache", str(cache)]
    process = subprocess.Popen([*COMMAND, *arguments, "--jobs", "1"], stderr=subprocess.PIPE)
    while not cache.is_dir() or FeatureCache(cache).size()[0] < 20:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    kept = {path: path.read_bytes() for path in cache.glob("segment-*.vwc")}
    n_kept = FeatureCache(cache).size()[0]
    assert run(*arguments, "--recipe", "tiny").returncode == 0
    assert all(path.read_bytes() == content for path, content in kept.items())
    assert FeatureCache(cache).size()[0] > n_kept


def test_skipped_files_are_listed_and_end_in_exit_code_3(model, photos, tmp_path):
    (photos / "sea" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 cut off")
    (photos / "sea" / "notes.txt").write_text("ignored without a word")
    done = run("evaluate", model, photos, "--no-cache")
    assert done.returncode == 3
    assert b"24 of 24 test images were in the training set" in done.stderr
    assert b"1 file skipped" in done.stderr
    assert b"broken.jpg" in done.stderr
    strict = run("evaluate", model, photos, "--no-cache", "--strict")
    assert strict.returncode == 1
    assert b"--strict forbids" in strict.stderr


def test_odd_names_are_processed(model, tmp_path, rng):
    names = ["two\nlines.png", "🌊.png", "-leading.png", "no extension"]
    names.append(os.fsdecode(b"latin\xe9.png"))
    paths = [write_png(tmp_path / name, noisy(COLORS["sea"], rng)) for name in names]
    done = run_process("predict", model, "--json", "--no-cache", "--", *paths)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)["predictions"]
    assert [a["path"] for a in answers] == [str(p) for p in paths]
    assert {a["label"] for a in answers} == {"sea"}
    for form in ([], ["--csv"]):
        assert run("predict", model, "--no-cache", *form, "--", *paths).returncode == 0


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", b"\x80\x04N."])
def test_a_file_that_is_no_model_ends_in_exit_code_4(content, photos, tmp_path, capsys):
    (tmp_path / "m.vw").write_bytes(content)
    for verb, *extra in (["info"], ["predict", str(photos)], ["evaluate", str(photos)]):
        assert main([verb, str(tmp_path / "m.vw"), *extra]) == 4
        assert "m.vw" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["predict", "evaluate", "explain"])
def test_a_detector_is_not_taken_for_a_classifier(verb, photos, capsys):
    image = "" if verb == "evaluate" else "sea/0.png"
    assert main([verb, "pedestrian", str(photos / image)]) == 4
    assert "finds objects; use it with detect-pedestrians run --model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["train", "nowhere", "-o", "m.vw"], 1, "nowhere: no such folder"),
        (["train", "photos", "-o", "no/such/m.vw"], 1, "the folder no/such does not exist"),
        (["train", "photos", "-o", "m.vw", "--test-size", "2"], 2, "--test-size"),
        (["train", "photos"], 2, "--output"),
        (["train", "photos/sea", "-o", "m.vw"], 1, "8 files but no folders"),
        (["predict", "nowhere.vw", "photos"], 4, "nowhere.vw: no such file"),
        (["train", "photos", "-o", "m.vw", "--folds", "1"], 2, "--folds"),
        (["train", "photos", "-o", ""], 2, "names no file to write"),
        (["train", "photos", "-o", "m.vw", "--report", "pages/"], 2, "names no file to write"),
        (["train", "photos/../one", "-o", "m.vw"], 1, "only class 'sea'; at least two classes"),
        (["recipes", "word"], 2, "did you mean 'words'"),
        (["recipes", "tiny", "--show", "tiny"], 2, "name one recipe"),
        (["compare", "photos"], 2, "nothing to compare"),
        (["compare", "photos", "--vary", "kernel=hik,chi3"], 2, "did you mean 'chi2'"),
        (["evaluate", *["photos.vw"] * 3, "photos"], 2, "compares one or two"),
        (["evaluate", *["photos.vw"] * 2, "photos", "--report", "r.html"], 2, "that of one model"),
        (["predict", "photos.vw", "rtsp://camera/1"], 2, "give --allow-url to open it"),
        (["predict", "photos.vw", "v.avi", "photos"], 2, "give them in separate commands"),
        (["predict", "photos.vw", "v.avi", "-o", "out.csv"], 2, "omit -o and --sort-into"),
        (["explain", "photos.vw", IMAGE, "--label", "mud"], 2, "it knows sand, sea, wood"),
        (["explain", "photos.vw", "nowhere.png"], 1, "nowhere.png: no such file"),
        (["explain", "photos.vw", IMAGE, "-o", "x.pdf"], 2, "ending in .png, .jpg, .jpeg"),
        (["export", "photos.vw", "-o", "x.onnx", "--size", "9"], 2, "such as 384x256"),
    ],
)
def test_wrong_input_gets_one_sentence_and_the_right_code(
    photos, model, arguments, code, sentence, capsys, monkeypatch
):
    monkeypatch.chdir(photos.parent)
    (photos.parent / "one").mkdir()
    (photos / "../one/sea").symlink_to(photos / "sea")
    assert main(arguments) == code
    told = capsys.readouterr().err
    assert sentence in " ".join(told.split())
    assert "recipe 1 of" not in told  # nothing was planned


def test_recipes_are_listed_with_what_they_reached(capsys):
    assert main(["recipes"]) == 0
    shown = capsys.readouterr().out
    assert main(["recipes", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["recipes"]
    assert [one["name"] for one in listed] == list(RECIPES)
    assert main(["recipes", "tiny"]) == 0
    assert Recipe.from_toml(capsys.readouterr().out) == RECIPES["tiny"]
    for one in listed:
        assert one["name"] in shown
        for figures in one["results"].values():
            assert f"{figures['mean_per_class_accuracy']:.1%}" in shown


@pytest.mark.slow
def test_demo_beats_ninety_per_cent_on_every_class(tmp_path):
    done = run_process("demo", "-o", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    for line in done.stdout.decode().splitlines():
        if line.startswith("│"):
            recall = float(line.split("│")[5].strip().rstrip("%"))
            assert recall > 90, line
    assert (tmp_path / "demo" / "tiles.html").exists()
    assert b" train PHOTOS -o photos.vw" in done.stderr
    example = next(Path(tmp_path, "demo", "tiles", "test", "brick").glob("*.png"))
    answer = run_process("predict", tmp_path / "demo" / "tiles.vw", example, "--json", "--no-cache")
    assert json.loads(answer.stdout)["predictions"][0]["label"] == "brick"


def test_predictions_are_printed_as_they_come(model, photos, monkeypatch, capsys):
    from visualwords.apps.pipeline import predictions

    class Seen(io.StringIO):
        def flush(self):
            seen.append(self.getvalue())

    arguments = ["predict", str(model), str(photos), "--no-cache", "--top", "2", "--quiet"]
    whole = []
    for form in ([], ["--csv"], ["--json"]):
        assert main([*arguments, *form]) == 0
        whole.append(capsys.readouterr().out)
    monkeypatch.setattr(fitted_classifier, "AT_ONCE", 2)
    monkeypatch.setattr(predictions, "PART", 7)
    for form, expected in zip(([], ["--csv"], ["--json"]), whole):
        seen = []
        with redirect_stdout(Seen(newline="")):
            assert main([*arguments, *form]) == 0
        assert re.sub(NUMBER, "", seen[-1]) == re.sub(NUMBER, "", expected)  # sums in other orders
        assert len(set(seen)) > (5 if form else 0)  # a table waits for its widths
    assert json.loads(whole[2])["skipped"] == []
    assert whole[2] == json.dumps(json.loads(whole[2]), indent=1) + "\n"


def test_strict_prints_nothing_if_a_file_is_skipped(model, photos, tmp_path, capsys):
    (photos / "sea" / "zz.png").write_bytes(b"no picture")
    arguments = ["predict", str(model), str(photos), "--no-cache", "--csv", "--strict"]
    assert main(arguments) == 1
    assert capsys.readouterr().out == ""
    (photos / "sea" / "zz.png").unlink()
    assert main(arguments) == 0
    assert capsys.readouterr().out.count("\n") == 25
    assert main([*arguments, "-o", str(tmp_path / "all.csv")]) == 0
    assert (tmp_path / "all.csv").read_bytes().count(b"\r\n") == 25
