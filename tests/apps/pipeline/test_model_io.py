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
from visualwords.errors import ModelFileError
from visualwords.folders import ImageFolder
from visualwords.model_file import read_model, write_model


def bytes_of(model, path):
    model.save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """Give the model that one job makes of the photographs, without a cache, and its bytes."""
    folder = tmp_path_factory.mktemp("a")
    model = ImageClassifier(budget=2, n_jobs=1).fit(write_photos(folder / "photos"))
    return model, bytes_of(model, folder / "1.vw")


HASHES = Recipe(
    "hashes", "", (Channel("ColorHistogram", hashes=Hashes(32)),), classifier=Classifier("linear")
)
KERNEL = Recipe(
    "kernel",
    "",
    (Channel("Centrist", {"layout": "whole"}),),
    classifier=Classifier("kernel", "gcs"),
)


@pytest.mark.parametrize("recipe", ["auto", "tiny", "fisher", "pyramid-match", HASHES, KERNEL])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_answers_after_reload_are_the_same_bit_for_bit(photos, tmp_path, recipe, n_classes):
    if n_classes == 2:
        shutil.rmtree(photos / "wood")
    options = {"n_gaussians": 4} if recipe == "fisher" else {}
    model = ImageClassifier(recipe, budget=1, unknown=0.05, thumbnails=True, **options).fit(photos)
    model.save(tmp_path / "m.vw")
    restored, folder = load(tmp_path / "m.vw"), ImageFolder(photos)
    for answer in ("decision_function", "predict_proba", "predict", "novelty"):
        np.testing.assert_array_equal(
            getattr(restored, answer)(folder), getattr(model, answer)(folder)
        )
    assert restored.similar(folder) == model.similar(folder)
    assert restored.recipe_ == model.recipe_
    assert bytes_of(restored, tmp_path / "again.vw") == (tmp_path / "m.vw").read_bytes()


def test_bytes_depend_neither_on_jobs_nor_on_the_order_of_files(photos, chosen, tmp_path):
    shuffled = tmp_path / "elsewhere" / "photos"  # a model keeps the name of its folder
    for path in sorted(photos.rglob("*.png"), key=lambda p: hash(p.name), reverse=True):
        target = shuffled / path.relative_to(photos)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    model = ImageClassifier(budget=2, n_jobs=3).fit(shuffled)
    assert bytes_of(model, tmp_path / "3.vw") == chosen[1]


def test_warm_and_cold_cache_give_the_same_bytes(photos, chosen, tmp_path):
    cache = tmp_path / "cache"
    for name in "cold", "warm":
        model = ImageClassifier(budget=2, cache_dir=cache).fit(photos)
        assert bytes_of(model, tmp_path / f"{name}.vw") == chosen[1]
        n_entries = sum(len(files) for *_, files in os.walk(cache))
        assert n_entries > 0


def test_a_model_can_forget_its_training_images(photos, tmp_path):
    model = ImageClassifier("tiny", keep_training=False).fit(photos)
    model.save(tmp_path / "m.vw")
    restored = load(tmp_path / "m.vw")
    assert restored.gallery_ is None
    np.testing.assert_array_equal(restored.novelty(photos), model.novelty(photos))
    assert b"0.png" not in (tmp_path / "m.vw").read_bytes()


def forged(path, change):
    """Write the model file again with a change of its manifest and arrays, and right checksums."""
    manifest, arrays = read_model(path)
    manifest.pop("arrays")
    change(manifest, arrays)
    target = path.with_name("forged.vw")
    write_model(target, manifest, arrays)
    return target


def test_golden_pairs_are_replayed(photos, tmp_path):
    path = tmp_path / "m.vw"
    ImageClassifier("tiny").fit(photos).save(path)
    replay = replay_golden(path, load(path))
    assert replay.agrees
    assert replay.largest_difference == 0

    def shift(manifest, arrays):
        arrays["golden/decisions"] = arrays["golden/decisions"] + 0.01

    target = forged(path, shift)
    assert not replay_golden(target, load(target)).agrees
    target = forged(path, lambda manifest, arrays: arrays.pop("golden/images"))
    with pytest.raises(ModelFileError, match="train it again"):
        replay_golden(target, load(target))


VICTIM = "__import__('os').system('touch victim')"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("kind",), "virus"),
        (("classes",), ["a", "b"]),
        (("recipe", "channels", 0, "extractor"), "os.system"),
        (("recipe", "channels", 0, "extractor"), "transformer:Pipeline-0"),
        (("recipe", "channels", 0, "params"), {"bins": VICTIM}),
        (("recipe", "channels", 0, "weight"), "heavy"),
        (("recipe", "classifier", "kind"), "builtins.eval"),
        (("recipe", "classifier", "kernel"), "os.system"),
        (("training",), None),
        (("about",), 3),
    ],
)
def test_forged_manifests_are_refused_with_a_sentence_and_nothing_runs(
    photos, tmp_path, monkeypatch, place, value
):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m.vw"
    ImageClassifier("tiny").fit(photos).save(path)

    def change(manifest, arrays):
        inside = manifest
        for key in place[:-1]:
            inside = inside[key]
        inside[place[-1]] = value

    target = forged(path, change)
    with pytest.raises(ModelFileError) as problem:
        load(target)
    assert str(problem.value).startswith(str(target))
    assert "\n" not in str(problem.value)
    assert not (tmp_path / "victim").exists()


@pytest.mark.parametrize(
    "name",
    ["novelty/spreads", "novelty/root", "calibration/offsets", "decision/thresholds"],
)
def test_forged_arrays_are_refused_with_a_sentence(photos, tmp_path, name):
    path = tmp_path / "m.vw"
    ImageClassifier("tiny").fit(photos).save(path)

    def shorten(manifest, arrays):
        arrays[name] = arrays[name][:-1]

    with pytest.raises(ModelFileError, match=r"forged\.vw: "):
        load(forged(path, shorten))
