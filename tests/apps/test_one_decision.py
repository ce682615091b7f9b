"""One rule makes the label: in Python, CSV, JSON, page, report, explain and sorted copies."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import visualwords
from tests.apps.conftest import write_png
from visualwords import ImageClassifier
from visualwords.apps.classify_images.main import main
from visualwords.apps.page.questions import Question
from visualwords.apps.page.served_models import answers_of

COUNTS = {"common": 60, "rare": 20, "seldom": 15}


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """Give a model of uneven classes that overlap, its file, and images with their labels."""
    folder = tmp_path_factory.mktemp("uneven")
    rng = np.random.default_rng(3)
    for kind, least in (("train", 0), ("test", 6)):
        for level, (name, count) in zip((110, 135, 160), COUNTS.items()):
            for i in range(max(count, least)):
                image = rng.normal(level + rng.normal(0, 22), 25, (40, 50, 3))
                write_png(folder / kind / name / f"{name}{i}.png", image.clip(0, 255).astype("u1"))
    model = ImageClassifier("tiny").fit(folder / "train")
    model.save(folder / "model.vw")
    paths = sorted(str(path) for path in (folder / "test").rglob("*.png"))
    found = model.score_images(paths)
    labels, chances, *_ = model.decide(found)
    most = model.classes_[chances.argmax(axis=1)]
    assert labels.tolist() == most.tolist()
    assert (found.values.argmax(axis=1) != chances.argmax(axis=1)).any()  # or nothing is tested
    return folder, paths, dict(zip(paths, labels.tolist())), dict(zip(paths, chances))


def run(capsys, *arguments):
    assert main([str(one) for one in arguments]) == 0
    return capsys.readouterr().out


def test_predict_in_csv_and_json_names_the_most_probable_class(case, capsys):
    folder, _, labels, _ = case
    arguments = ["predict", folder / "model.vw", folder / "test", "--no-cache", "--top", "3"]
    rows = list(csv.DictReader(io.StringIO(run(capsys, *arguments, "--csv"))))
    assert {row["path"]: row["label"] for row in rows} == labels
    for row in json.loads(run(capsys, *arguments, "--json"))["predictions"]:
        assert row["label"] == labels[row["path"]] == next(iter(row["probabilities"]))
        shown = list(row["probabilities"].values())
        assert shown == sorted(shown, reverse=True)
        assert list(row["scores"]) == list(row["probabilities"])


def test_evaluate_and_the_report_count_the_same_labels(case, capsys):
    folder, _, labels, _ = case
    report = folder / "report.html"
    arguments = ["evaluate", folder / "model.vw", folder / "test", "--no-cache"]
    result = json.loads(run(capsys, *arguments, "--json", "--report", report))["test"]
    right = np.mean([f"/{label}/" in path for path, label in labels.items()])
    assert result["accuracy"] == pytest.approx(right)
    assert f"<b>{100 * right:.1f}\xa0%</b> right" in report.read_text().replace(" %", "\xa0%")


def test_explain_the_page_and_sorted_copies_name_the_same_class(case, capsys, tmp_path):
    folder, paths, labels, chances = case
    answers = answers_of(folder / "model.vw", max_pixels=100_000)
    run(capsys, "predict", folder / "model.vw", *paths, "--no-cache", "--sort-into", tmp_path)
    copies = {path.name: path.parent.name for path in tmp_path.rglob("*.png")}
    for path, label in labels.items():
        assert copies[path.rsplit("/", 1)[1]] == label
        answer = answers.predict(Path(path).read_bytes(), Question(top=3))
        shown = [one["probability"] for one in answer["classes"]]
        assert answer["label"] == answer["classes"][0]["label"] == label
        assert shown == sorted(shown, reverse=True)
        assert shown == pytest.approx(sorted(chances[path], reverse=True), abs=1e-4)
    for path in paths[::5]:
        explained = json.loads(run(capsys, "explain", folder / "model.vw", path, "--json"))
        assert explained["label"] == labels[path]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--cost", "lake:rare=3"], "a cost is given for 'lake', which is no class"),
        (["--cost", "rare:common=-1"], "it must be 0 or more"),
        (["--threshold", "rare=1.2"], "the threshold of rare is 1.2; a probability is 0 to 1"),
        (["--threshold", "lake=0.2"], "a threshold is given for 'lake', which is no class"),
        (["--unknown", "1.5"], "1.5 is not in the range"),
    ],
)
def test_wrong_options_get_one_sentence(arguments, sentence, case, capsys):
    folder, paths, _, _ = case
    model = str(folder / "model.vw")
    assert main(["predict", model, paths[0], "--no-cache", *arguments]) == 2
    assert sentence in capsys.readouterr().err.strip().splitlines()[-1]


def test_a_single_class_gets_one_sentence(case, tmp_path, capsys):
    folder, _, _, _ = case
    (tmp_path / "one").mkdir()
    (folder / "train" / "rare").rename(tmp_path / "one" / "rare")
    try:
        arguments = [tmp_path / "one", "-o", tmp_path / "m.vw", "--recipe", "tiny", "--no-cache"]
        assert main(["train", *(str(one) for one in arguments)]) != 0
    finally:
        (tmp_path / "one" / "rare").rename(folder / "train" / "rare")
    assert "class" in capsys.readouterr().err.strip().splitlines()[-1]
    assert not (tmp_path / "m.vw").exists()


def test_a_file_without_novelty_says_that_it_can_not_tell_unknown_images(case, tmp_path, capsys):
    folder, paths, labels, _ = case
    model = visualwords.load(folder / "model.vw")
    model.novelty_ = None  # as in files of older versions
    model.save(tmp_path / "old.vw")
    arguments = ["predict", tmp_path / "old.vw", paths[0], "--no-cache", "--json"]
    row = json.loads(run(capsys, *arguments))["predictions"][0]
    assert (row["label"], row["novelty"]) == (labels[paths[0]], None)
    assert main([*(str(one) for one in arguments), "--unknown", "0.05"]) == 1
    assert "can't detect unknown images" in capsys.readouterr().err
