"""Checks find what was planted, and nothing in a clean folder."""

import csv
import json

import cv2
import numpy as np
import pytest

from tests.apps.conftest import COLORS, write_png
from visualwords import ImageClassifier
from visualwords.apps.classify_images.main import main
from visualwords.apps.evaluation.checking import check_folder, suspicious_labels
from visualwords.apps.evaluation.trial import Trial
from visualwords.classifiers import ICDClassifier
from visualwords.folders import ImageFolder
from visualwords.images import read_image


def picture(rng):
    """A picture like no other: smooth noise."""
    rough = rng.integers(0, 256, (9, 12, 3), dtype=np.uint8)
    return cv2.resize(rough, (120, 90), interpolation=cv2.INTER_CUBIC)


def write_jpeg(path, image):
    path.write_bytes(cv2.imencode(".jpg", image[:, :, ::-1])[1].tobytes())


def tinted(color, rng):
    return np.clip(picture(rng) * 0.5 + np.array(color) * 0.5, 0, 255).astype(np.uint8)


@pytest.fixture
def clean(tmp_path):
    """Give a folder of train and test images with nothing wrong."""
    rng = np.random.default_rng(3)
    for split, n in (("train", 10), ("test", 2)):
        for name, color in COLORS.items():
            for i in range(n):
                write_png(tmp_path / "clean" / split / name / f"{i}.png", tinted(color, rng))
    return tmp_path / "clean"


def found(folder, **options):
    findings = check_folder(ImageFolder(folder), ImageClassifier("tiny"), **options)
    return {f.kind: f for f in findings}, findings


def test_nothing_is_wrong_with_a_clean_folder(clean):
    assert found(clean)[1] == []


def test_what_was_planted_is_found(clean, rng):
    def name(split, label, file):
        return clean / split / label / file

    (name("train", "sea", "broken.png")).write_bytes(b"\x89PNG\r\n cut")
    leak = name("train", "sea", "3.png").read_bytes()
    name("test", "sea", "leak.png").write_bytes(leak)
    near = read_image(name("train", "sand", "4.png"))
    write_jpeg(name("test", "sand", "near.jpg"), near)
    twice = name("train", "wood", "5.png").read_bytes()
    name("train", "wood", "again.png").write_bytes(twice)
    both = name("train", "wood", "6.png").read_bytes()
    name("train", "sand", "wrong.png").write_bytes(both)
    write_png(name("train", "sea", "tiny.png"), tinted(COLORS["sea"], rng)[:30, :40])
    write_png(name("train", "lonely", "0.png"), picture(rng))
    kinds, _ = found(clean, labels=False)
    assert set(kinds) == {
        "unreadable", "in several splits", "nearly the same in several splits", "duplicate",
        "in several classes", "tiny image", "class of one image", "folder",
    }  # fmt: skip
    assert "test has no images of 'lonely'" in kinds["folder"].sentence
    assert kinds["unreadable"].about == [str(name("train", "sea", "broken.png"))]
    assert kinds["in several splits"].about == [
        str(name("train", "sea", "3.png")),
        str(name("test", "sea", "leak.png")),
    ]
    assert str(name("test", "sand", "near.jpg")) in kinds["nearly the same in several splits"].about
    assert kinds["tiny image"].sentence == "40×30 pixels"


def test_wrong_labels_are_suspicious_and_most_right_ones_are_not(clean, rng):
    for i, (label, truth) in enumerate([("sea", "sand"), ("wood", "sea")]):
        write_png(clean / "train" / label / f"swapped{i}.png", tinted(COLORS[truth], rng))
    findings = [f for f in found(clean)[1] if f.kind == "suspicious label"]
    assert len(findings) <= 4
    assert {f.about[0].rpartition("/")[2] for f in findings} >= {"swapped0.png", "swapped1.png"}
    assert "looks like" in findings[0].sentence


def test_confident_disagreement_is_what_the_definition_says():
    probabilities = np.array(
        [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8], [0.1, 0.9], [0.45, 0.55]]
    )
    truth = ["a", "a", "b", "b", "a", "a"]
    trial = Trial(["a", "b"], list("123456"), truth, truth, probabilities, probabilities, [])
    # mean of a on images labelled a: 0.5625; of b on those labelled b: 0.85
    assert [f.about for f in suspicious_labels(trial)] == [["5"]]


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda folder: None, 0),
        (lambda folder: (folder / "train" / "sea" / "b.png").write_bytes(b"?"), 3),
        (
            lambda folder: (folder / "test" / "sea" / "leak.png").write_bytes(
                (folder / "train" / "sea" / "0.png").read_bytes()
            ),
            1,
        ),
    ],
)
def test_exit_codes_tell_what_was_found(clean, spoil, code, capsys):
    spoil(clean)
    arguments = ["check", str(clean), "--recipe", "tiny", "--no-cache", "--no-labels"]
    assert main(arguments) == code
    assert f"{37 if code else 36} images" in capsys.readouterr().out
    assert main([*arguments, "--json"]) == code
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert bool(findings) == bool(code)


def test_a_model_is_checked_by_its_golden_pairs(photos, tmp_path, capsys, monkeypatch):
    path = tmp_path / "m.vw"
    ImageClassifier("tiny").fit(photos).save(path)
    assert main(["check", str(path)]) == 0
    assert "the same scores" in capsys.readouterr().out
    right = ICDClassifier.decision_function
    monkeypatch.setattr(ICDClassifier, "decision_function", lambda self, X: right(self, X) + 0.01)
    assert main(["check", str(path), "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["agrees"] is False


@pytest.mark.slow
def test_the_known_duplicates_of_scene15_are_found(data_folder):
    root = data_folder("scene15")
    with open(root / "known_duplicates.csv", encoding="utf-8") as file:
        pairs = [{str(root / r["file_a"]), str(root / r["file_b"])} for r in csv.DictReader(file)]
    findings = check_folder(ImageFolder(root), ImageClassifier(n_jobs=2), labels=False)
    groups = [set(f.about) for f in findings if len(f.about) > 1]
    missed = [pair for pair in pairs if not any(pair <= group for group in groups)]
    assert missed == []
