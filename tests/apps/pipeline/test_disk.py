"""Training on more images than memory holds gives the model of training in memory."""

from pathlib import Path

import numpy as np
import pytest

from visualwords import ImageClassifier, load
from visualwords.apps.pipeline import auto, similarity, stages
from visualwords.apps.pipeline.channel import Channel, Classifier, Fisher
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import LIBRARY, LINEAR
from visualwords.classifiers.solvers import byte_rows
from visualwords.errors import FolderError
from visualwords.folders import ImageFolder

FISHER = Channel("DenseSIFT", {"step": 8}, fisher=Fisher(4, 8))
BYTES = {
    "fisher": Recipe("fisher", "", (FISHER, LIBRARY[2]), classifier=LINEAR),
    "shape": Recipe("shape", "", LIBRARY[:1], classifier=LINEAR),  # no number is negative
}
TEXTURE = Recipe("texture", "", (Channel("Centrist", {"layout": "whole"}),))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(stages, "BLOCK", 5)


@pytest.mark.parametrize(("name", "learned_from"), [("fisher", 600), ("fisher", 7), ("shape", 600)])
def test_bytes_from_disk_give_the_same_model_file(
    photos, monkeypatch, tmp_path, name, learned_from
):
    monkeypatch.setattr(byte_rows, "gram_is_faster", lambda *shape: False)
    monkeypatch.setattr(similarity, "LEARN_FROM", learned_from)
    weight = np.where(np.arange(24) % 3, 1.0, 2.0)
    for memory in (None, 1):
        model = ImageClassifier(BYTES[name], memory=memory)
        model.fit(photos, sample_weight=weight).save(tmp_path / f"{memory}.vw")
    assert (tmp_path / "None.vw").read_bytes() == (tmp_path / "1.vw").read_bytes()


def test_the_bytes_do_not_depend_on_jobs_and_a_saved_model_gives_the_same(photos, tmp_path):
    for n_jobs in (1, 3):
        model = ImageClassifier("fast", n_words=8, memory=1, n_jobs=n_jobs).fit(photos)
        model.save(tmp_path / f"{n_jobs}.vw")
    assert (tmp_path / "1.vw").read_bytes() == (tmp_path / "3.vw").read_bytes()
    again, folder = load(tmp_path / "1.vw"), ImageFolder(photos)
    np.testing.assert_array_equal(again.decision_function(folder), model.decision_function(folder))
    assert model.score(folder) == 1.0
    (name, label, similarity), *_ = again.similar(folder.paths[0])
    assert name == f"{label}/{Path(folder.paths[0]).name}"
    assert similarity > 0.99
    noise = np.random.default_rng(0).integers(0, 256, (96, 96, 3), dtype=np.uint8)
    assert again.novelty(noise) > 0.9


def test_rows_that_fit_stay_in_memory(photos, tmp_path):
    ImageClassifier(TEXTURE).fit(photos).save(tmp_path / "unbounded.vw")
    ImageClassifier(TEXTURE, memory=10**9).fit(photos).save(tmp_path / "bounded.vw")
    assert (tmp_path / "unbounded.vw").read_bytes() == (tmp_path / "bounded.vw").read_bytes()


def test_unreadable_images_are_listed_by_their_names(photos):
    (photos / "sand" / "broken.png").write_bytes(b"nothing")
    with pytest.warns(UserWarning, match="1 of 25 images were left out"):
        model = ImageClassifier(TEXTURE, memory=1).fit(photos)
    assert [Path(one.source).name for one in model.skipped_] == ["broken.png"]
    assert model.class_counts_.tolist() == [8, 8, 8]


def test_recipes_of_other_rows_and_of_views_say_what_to_do(photos):
    for name in "pyramid-match", Recipe("k", "", TEXTURE.channels, classifier=Classifier("kernel")):
        with pytest.raises(FolderError, match=r"too many for recipe .* can train from disk"):
            ImageClassifier(name, memory=1).fit(photos)
    with pytest.raises(FolderError, match="allow more memory, or set views"):
        ImageClassifier(TEXTURE, memory=1, views="mirror").fit(photos)


def test_auto_searches_on_some_of_many_images(photos, monkeypatch):
    monkeypatch.setattr(auto, "SAMPLES", (12,))
    model = ImageClassifier(memory=1, budget=1).fit(photos)
    assert model.tried_
    assert model.class_counts_.sum() == 24
    assert model.score(photos) == 1.0
