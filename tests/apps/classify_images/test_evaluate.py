"""classify-images evaluate, of one model and of two; what info shows of a model."""

import json

import pytest

from tests.apps.conftest import noisy, write_png
from visualwords import ImageClassifier
from visualwords.apps.classify_images.main import main
from visualwords.folders import ImageFolder


@pytest.fixture
def models(photos, tmp_path):
    """Give two models of the first half of the images, and the folder."""
    train, _ = ImageFolder(photos).split(0.5, seed=0)
    ImageClassifier("tiny").fit(train).save(tmp_path / "a.vw", name="colours", date="2020-02-20")
    ImageClassifier("fast").fit(train).save(tmp_path / "b.vw")
    return str(tmp_path / "a.vw"), str(tmp_path / "b.vw"), str(photos)


def test_two_models_are_compared_image_by_image(models, capsys):
    assert main(["evaluate", *models, "--no-cache", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    first, second = (one["test"]["accuracy"] for one in result["models"])
    found = result["comparison"]
    assert found["accuracy_difference"] == pytest.approx(second - first)
    assert found["only_second_right"] - found["only_first_right"] == round(24 * (second - first))
    changed = {one["path"] for one in found["changed"]}
    assert len(changed) >= found["only_first_right"] + found["only_second_right"]
    assert 0 < found["mcnemar_p_value"] <= 1
    assert main(["evaluate", *models, "--no-cache"]) == 0
    shown = capsys.readouterr().out
    assert "McNemar's exact test" in shown
    assert "of 24 right" in shown


def test_the_decision_can_be_another_than_the_models(models, capsys):
    first, _, folder = models
    arguments = ["evaluate", first, folder, "--no-cache", "--json"]
    assert main([*arguments, "--threshold", "sea=1", "--cost", "sea:sand=4"]) == 0
    test = json.loads(capsys.readouterr().out)["test"]
    assert test["classes"]["sea"]["recall"] == 0
    low, high = test["mean_cost_interval_95"]
    assert 0 < low < test["mean_cost"] < high
    assert main([*arguments, "--cost", "lake:sand=4"]) == 2
    assert "which is no class" in capsys.readouterr().err
    assert main([*arguments, "--cost", "sea"]) == 2
    assert "TRUE:SAID=COST, such as defect:ok=10" in capsys.readouterr().err


def test_thresholds_and_curves_are_in_json_and_in_the_report(models, tmp_path, capsys):
    first, _, folder = models
    page = tmp_path / "r.html"
    assert main(["evaluate", first, folder, "--no-cache", "--report", str(page), "--json"]) == 0
    sea = json.loads(capsys.readouterr().out)["test"]["classes"]["sea"]
    assert 0 < sea["operating_point"]["threshold"] <= 1
    assert 0.5 < sea["roc_area"] <= 1
    assert "ROC curve of sea" in page.read_text(encoding="utf-8")


def test_a_table_with_groups_gets_the_interval_of_groups(models, photos, capsys):
    folder = ImageFolder(photos)
    rows = [
        f"{path},{label},{label}{i % 2}"
        for i, (path, label) in enumerate(zip(folder.paths, folder.labels))
    ]
    table = photos.parent / "table.csv"
    table.write_text("\n".join(["path,label,group", *rows]))
    assert main(["evaluate", models[0], str(table), "--no-cache"]) == 0
    assert "over 6 groups" in capsys.readouterr().out


def test_train_keeps_name_note_and_day_and_says_what_it_optimises(
    photos, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    target = str(tmp_path / "m.vw")
    arguments = ["train", str(photos), "-o", target, "--no-cache", "--budget", "0.001s"]
    assert main([*arguments, "--name", "beach", "--note", "a try", "--metric", "accuracy"]) == 0
    assert "chosen by accuracy (--metric)" in capsys.readouterr().err
    assert main(["info", target]) == 0
    shown = capsys.readouterr().out
    for word in ("beach", "a try", "1970-01-02", "photos: 24 images", "by accuracy", "sea (8)"):
        assert word in shown
    assert "unknown images" in shown
    assert main(["info", target, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == ["sand", "sea", "wood"]
    assert main([*arguments, "--metric", "cost"]) == 2
    assert "--metric cost needs --cost" in capsys.readouterr().err


def test_train_says_where_unknown_images_can_not_be_told(photos, tmp_path, capsys, rng):
    for label in "abc":  # alike: no class is strange to the others
        for i in range(12):
            write_png(tmp_path / "alike" / label / f"{i}.png", noisy((90, 90, 90), rng, (24, 24)))
    flags = ["-o", str(tmp_path / "m.vw"), "--recipe", "tiny", "--no-cache", "--unknown", "0.05"]
    for folder, is_warned in ((photos, False), (tmp_path / "alike", True)):
        assert main(["train", str(folder), *flags]) == 0
        assert ("--unknown will miss most images" in capsys.readouterr().err) == is_warned
