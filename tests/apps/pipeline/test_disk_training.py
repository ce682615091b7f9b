from pathlib import Path

import click
import numpy as np
import pytest

import visualwords
from visualwords import ImageClassifier
from visualwords.apps.command_line.options import SIZE
from visualwords.apps.pipeline import disk_training, similarity
from visualwords.classifiers.solvers import byte_rows
from visualwords.errors import FolderError
from visualwords.folders import ImageFolder


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(disk_training, "BLOCK", 5)


def test_training_from_disk_learns_what_memory_would(photos, small_blocks):
    folder = ImageFolder(photos)
    model = ImageClassifier("texture", memory=1).fit(folder)
    assert model.recipe_.classifier == "ICDClassifier"
    assert model.score(folder) == 1.0
    assert model.class_counts_.tolist() == [8, 8, 8]


def test_rows_that_fit_stay_in_memory(photos, tmp_path):
    ImageClassifier("texture").fit(photos).save(tmp_path / "unbounded.vw")
    ImageClassifier("texture", memory=10**9).fit(photos).save(tmp_path / "bounded.vw")
    assert (tmp_path / "unbounded.vw").read_bytes() == (tmp_path / "bounded.vw").read_bytes()


def test_the_bytes_do_not_depend_on_jobs(photos, small_blocks, tmp_path):
    for n_jobs in (1, 3):
        model = ImageClassifier("words", n_words=8, memory=1, n_jobs=n_jobs).fit(photos)
        model.save(tmp_path / f"{n_jobs}.vw")
    assert (tmp_path / "1.vw").read_bytes() == (tmp_path / "3.vw").read_bytes()


def test_a_saved_model_gives_the_same_scores_and_evidence(photos, small_blocks, tmp_path):
    model = ImageClassifier("words", n_words=8, memory=1).fit(photos)
    model.save(tmp_path / "m.vw")
    again = visualwords.load(tmp_path / "m.vw")
    paths = ImageFolder(photos).paths[::5]
    np.testing.assert_array_equal(again.decision_function(paths), model.decision_function(paths))
    found = again.explain(paths[0])
    for label, score in zip(found.classes, found.scores):
        total = found.heat_map(label).sum(dtype=np.float64)
        offset = found.offsets[list(found.classes).index(label)]
        assert total + offset == pytest.approx(score, abs=1e-5)


def test_unreadable_images_are_listed_by_their_names(photos, small_blocks):
    (photos / "sand" / "broken.png").write_bytes(b"nothing")
    with pytest.warns(UserWarning, match="1 of 25 images left out"):
        model = ImageClassifier("texture", memory=1).fit(photos)
    assert [name.endswith("broken.png") for name, _ in model.skipped_] == [True]


@pytest.mark.parametrize("learned_from", [600, 7])
def test_fisher_vectors_from_disk_give_the_same_model_file(
    photos, small_blocks, monkeypatch, tmp_path, learned_from
):
    monkeypatch.setattr(byte_rows, "gram_is_faster", lambda *shape: False)
    monkeypatch.setattr(disk_training, "LEARN_FROM", learned_from)
    monkeypatch.setattr(similarity, "LEARN_FROM", learned_from)
    for memory in (None, 1):
        model = ImageClassifier("photo", n_gaussians=4, memory=memory).fit(photos)
        model.save(tmp_path / f"{memory}.vw")
    assert (tmp_path / "None.vw").read_bytes() == (tmp_path / "1.vw").read_bytes()


@pytest.mark.parametrize("recipe", ["photo", "words"])
def test_a_model_from_disk_knows_similar_images_and_strange_ones(photos, small_blocks, recipe):
    folder = ImageFolder(photos)
    sizes = {"n_gaussians": 4} if recipe == "photo" else {"n_words": 8}
    model = ImageClassifier(recipe, memory=1, **sizes).fit(folder)
    (name, label, similarity), *_ = model.similar(folder.paths[0])
    assert name == f"{label}/{Path(folder.paths[0]).name}"
    assert label == folder.labels[0]
    assert similarity > 0.99
    noise = np.random.default_rng(0).integers(0, 256, (96, 96, 3), dtype=np.uint8)
    assert model.novelty([noise])[0] > 0.9


def test_recipes_of_other_rows_say_what_to_do(photos):
    with pytest.raises(FolderError, match=r"for recipe 'pyramid-match' .* can train from disk"):
        ImageClassifier("pyramid-match", memory=1).fit(photos)


def test_auto_compares_recipes_on_some_of_many_images(photos, small_blocks, monkeypatch):
    monkeypatch.setattr(disk_training, "TRIAL", 12)
    model = ImageClassifier(memory=1).fit(photos)
    assert model.tried_
    assert model.recipe_.classifier in disk_training.FROM_DISK
    assert model.gallery_ is not None


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("2GB", 2 * 10**9), ("1.5 GiB", 3 * 2**29), ("500mb", 5 * 10**8), ("7", 7)],
)
def test_amounts_of_memory_are_read(text, n_bytes):
    assert SIZE.convert(text, None, None) == n_bytes


@pytest.mark.parametrize("text", ["much", "GB", "2 boxes", "1.2.3GB"])
def test_what_is_no_amount_of_memory_is_refused(text):
    with pytest.raises(click.BadParameter, match="write it like 500MB or 2GB"):
        SIZE.convert(text, None, None)
