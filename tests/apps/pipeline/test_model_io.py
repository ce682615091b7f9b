"""Model files: the same answers bit for bit, and nothing that was forged."""

import os
import shutil

import numpy as np
import pytest

from tests.apps.conftest import write_photos
from visualwords import ImageClassifier, load
from visualwords.apps.pipeline.channel import Channel, Classifier, Hashes
from visualwords.apps.pipeline.model_io import replay_golden
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import RECIPES
from visualwords.errors import ModelFileError
from visualwords.folders import ImageFolder
from visualwords.model_file import read_model, write_model


def bytes_of(model, path):
    model.save(path)
    return path.read_bytes()


HASHES = Recipe(
    "hashes", "", (Channel("ColorHistogram", hashes=Hashes(32)),), classifier=Classifier("linear")
)
KERNEL = Recipe(
    "kernel",
    "",
    (Channel("Centrist", {"layout": "whole"}),),
    classifier=Classifier("kernel", "gcs"),
)


KINDS = {"auto": "auto", **RECIPES, "hashes": HASHES, "kernel": KERNEL}
OF_TWO = {"tiny of two": "tiny", "kernel of two": KERNEL, "pyramid-match of two": "pyramid-match"}


@pytest.mark.parametrize("name", [*KINDS, *OF_TWO])
def test_every_recipe_learns_classes_and_answers_the_same_bit_for_bit_after_reload(
    photos, tmp_path, name
):
    if name in OF_TWO:
        shutil.rmtree(photos / "wood")
    train, test = ImageFolder(photos).split(0.25, seed=0)
    options = {"budget": 1, "unknown": 0.05, "thumbnails": True}
    model = ImageClassifier((KINDS | OF_TWO)[name], **options).fit(train)
    assert model.classes_.tolist() == ImageFolder(photos).classes
    assert (model.classes_[model.predict_proba(test).argmax(axis=1)] == test.labels).all()
    model.save(tmp_path / "m.vw")
    restored = load(tmp_path / "m.vw")
    for answer in ("decision_function", "predict_proba", "predict", "novelty"):
        np.testing.assert_array_equal(getattr(restored, answer)(test), getattr(model, answer)(test))
    assert restored.similar(test) == model.similar(test)
    assert restored.recipe_ == model.recipe_
    assert bytes_of(restored, tmp_path / "again.vw") == (tmp_path / "m.vw").read_bytes()


def test_bytes_depend_neither_on_jobs_nor_on_order_of_files_nor_on_the_cache(photos, tmp_path):
    expected = bytes_of(ImageClassifier(budget=2, n_jobs=1).fit(photos), tmp_path / "1.vw")
    shuffled = tmp_path / "elsewhere" / "photos"  # a model keeps the name of its folder
    for path in sorted(photos.rglob("*.png"), key=lambda p: hash(p.name), reverse=True):
        target = shuffled / path.relative_to(photos)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    for folder in shuffled, photos:  # the cache is empty, then filled
        model = ImageClassifier(budget=2, n_jobs=3, cache_dir=tmp_path / "cache").fit(folder)
        assert bytes_of(model, tmp_path / "3.vw") == expected
        assert any(files for *_, files in os.walk(tmp_path / "cache"))


def test_a_model_can_forget_its_training_images(photos, tmp_path):
    model = ImageClassifier("tiny", keep_training=False).fit(photos)
    model.save(tmp_path / "m.vw")
    restored = load(tmp_path / "m.vw")
    assert restored.gallery_ is None
    np.testing.assert_array_equal(restored.novelty(photos), model.novelty(photos))
    assert b"0.png" not in (tmp_path / "m.vw").read_bytes()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Give the file of a model that tests only read."""
    folder = tmp_path_factory.mktemp("tiny")
    ImageClassifier("tiny").fit(write_photos(folder / "photos")).save(folder / "m.vw")
    return folder / "m.vw"


def forged(path, target, manifest=None, arrays=None):
    """Write a model file again with other values and arrays (None: left out), checksums right."""
    values, members = read_model(path)
    values.pop("arrays")
    for place, value in (manifest or {}).items():
        inside = values
        for key in place[:-1]:
            inside = inside[key]
        inside[place[-1]] = value
    members = {**members, **(arrays or {})}
    write_model(target, values, {k: array for k, array in members.items() if array is not None})
    return target


def test_golden_pairs_are_replayed(tiny, tmp_path):
    replay = replay_golden(tiny, load(tiny))
    assert replay.agrees
    assert replay.largest_difference == 0
    shifted = {"golden/decisions": read_model(tiny)[1]["golden/decisions"] + 0.01}
    target = forged(tiny, tmp_path / "f.vw", arrays=shifted)
    assert not replay_golden(target, load(target)).agrees
    target = forged(tiny, tmp_path / "f.vw", arrays={"golden/images": None})
    with pytest.raises(ModelFileError, match="train it again"):
        replay_golden(target, load(target))


VICTIM = "__import__('os').system('touch victim')"
FORGED = {
    ("kind",): "virus",
    ("classes",): ["a", "b"],
    ("recipe", "channels", 0, "extractor"): "os.system",
    ("recipe", "channels", 0, "params"): {"bins": VICTIM},
    ("recipe", "channels", 0, "weight"): "heavy",
    ("recipe", "classifier", "kind"): "builtins.eval",
    ("recipe", "classifier", "kernel"): "os.system",
    ("training",): None,
    ("about",): 3,
}
CUT = ["novelty/spreads", "novelty/root", "calibration/offsets", "decision/thresholds"]


def test_forged_files_are_refused_with_a_sentence_and_nothing_runs(tiny, tmp_path, monkeypatch):
    """Of values and arrays that change no sentence, `tests.faults.test_model_files` has more."""
    monkeypatch.chdir(tmp_path)
    arrays = read_model(tiny)[1]
    changes = [{"manifest": {place: value}} for place, value in FORGED.items()]
    changes += [{"manifest": {("recipe", "channels", 0, "extractor"): "transformer:Pipeline-0"}}]
    changes += [{"arrays": {name: arrays[name][:-1]}} for name in CUT]
    for change in changes:
        target = forged(tiny, tmp_path / "forged.vw", **change)
        with pytest.raises(ModelFileError) as problem:
            load(target)
        assert str(problem.value).startswith(str(target)), change
        assert "\n" not in str(problem.value)
    assert not (tmp_path / "victim").exists()
