"""The stages of a recipe: samples by content, small rows, what is learned once is remembered."""

import shutil

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy
from visualwords import ImageClassifier
from visualwords.apps.pipeline import sampling, scoring, training
from visualwords.apps.pipeline.encoding import ChannelEncoder
from visualwords.apps.pipeline.reading import OpenedImage, Reader
from visualwords.apps.pipeline.recipes import RECIPES, Channel, Fisher, Recipe
from visualwords.codebook import FisherVectors
from visualwords.features.local_features import LocalFeatureSets
from visualwords.folders import ImageFolder
from visualwords.progress import Silent

FISHER = RECIPES["scene"].channels[0]


@pytest.fixture
def learned(photos):
    """Give the encoder of scene's SIFT channel, learned from all photos."""
    paths = ImageFolder(photos).paths
    (sample,) = sampling.sample_patches(paths, [FISHER], Reader(640), Silent())
    return ChannelEncoder(FISHER, 0).learn(sample), OpenedImage(paths[0], Reader(640))


def test_a_sample_depends_on_the_content_of_each_image_alone(photos, monkeypatch):
    monkeypatch.setattr(sampling, "LEAST", 20)
    monkeypatch.setattr(sampling, "PATCHES", 0)
    paths = ImageFolder(photos).paths
    (one,) = sampling.sample_patches(paths, [FISHER], Reader(640), Silent())
    (other,) = sampling.sample_patches(paths[::-1], [FISHER], Reader(640, n_jobs=3), Silent())
    assert np.diff(one.offsets).tolist() == [20] * len(paths)
    np.testing.assert_array_equal(one[0].descriptors, other[len(paths) - 1].descriptors)
    everything = OpenedImage(paths[0], Reader(640)).features(FISHER)
    assert len(everything) > 20
    assert {d.tobytes() for d in one[0].descriptors} <= {
        d.tobytes() for d in everything.descriptors
    }


def test_images_to_sample_from_are_equal_shares_of_the_classes():
    codes = np.repeat([0, 1, 2], [2, 50, 60])
    chosen = sampling.chosen_images(codes, seed=0, n_images=10)
    assert np.bincount(codes[chosen]).tolist() == [2, 4, 4]
    assert (np.diff(chosen) > 0).all()


def test_rows_are_bytes_that_keep_the_products_of_fisher_vectors(learned):
    encoder, image = learned
    exact = encoder.stage.encode(image.features(FISHER)).astype(float)
    row = encoder.encode(image.features(FISHER))
    assert row.dtype == np.int8
    cosine = exact @ row / np.linalg.norm(exact) / np.linalg.norm(row.astype(float))
    assert cosine > 0.999


def test_an_image_without_patches_has_a_row_of_zeros(learned, rng):
    encoder, image = learned
    tiny = OpenedImage(noisy(COLORS["sea"], rng, (9, 9)), Reader(640))
    row = encoder.encode(tiny.features(FISHER))
    assert row.shape == encoder.encode(image.features(FISHER)).shape
    assert not row.any()


def test_a_restored_encoder_has_the_same_rows_and_fingerprint(learned):
    encoder, image = learned
    again = ChannelEncoder(FISHER, 0).set_state(encoder.get_state())
    found = image.features(FISHER)
    np.testing.assert_array_equal(again.encode(found), encoder.encode(found))
    assert again.fingerprint() == encoder.fingerprint()
    assert ChannelEncoder(FISHER, 0).fingerprint() != encoder.fingerprint()


def test_what_was_learned_is_remembered(photos, tmp_path, monkeypatch):
    cold = ImageClassifier("scene", cache_dir=tmp_path / "cache").fit(photos)
    cold.save(tmp_path / "cold.vw")

    def refuse(*_, **__):
        raise AssertionError("learned again")

    monkeypatch.setattr(FisherVectors, "fit", refuse)
    monkeypatch.setattr(FisherVectors, "encode", refuse)
    warm = ImageClassifier("scene", cache_dir=tmp_path / "cache").fit(photos)
    monkeypatch.undo()
    warm.save(tmp_path / "warm.vw")
    assert (tmp_path / "warm.vw").read_bytes() == (tmp_path / "cold.vw").read_bytes()


def test_channels_may_take_square_roots_of_counts(photos):
    channel = Channel(
        "Centrist", {"layout": "dense"}, fisher=Fisher(4, 5, 1, None, root=True), linear=True
    )
    model = ImageClassifier(Recipe("r", "", (channel,), classifier="ByteLinearClassifier"))
    model.fit(photos)
    found = OpenedImage(ImageFolder(photos).paths[0], Reader(640)).features(channel)
    encoder = model.encoders_[0]
    roots = encoder.prepared(LocalFeatureSets.concatenate([found])).descriptors
    np.testing.assert_allclose(roots, np.sqrt(found.descriptors.astype(float)), rtol=1e-6)
    assert model.score(photos) == 1.0


@pytest.mark.parametrize("recipe", ["color", "fast"])
def test_a_classifier_is_not_fitted_twice_to_the_same_rows(photos, tmp_path, monkeypatch, recipe):
    paths, labels = ImageFolder(photos).paths, ImageFolder(photos).labels
    model = ImageClassifier(recipe, cache_dir=tmp_path / "cache")
    first = model.fit(photos).decision_function(paths)
    monkeypatch.setattr(training, "fit_and_hold_out", _refuse)
    again = ImageClassifier(recipe, cache_dir=tmp_path / "cache").fit(photos)
    np.testing.assert_array_equal(again.decision_function(paths), first)
    np.testing.assert_array_equal(again.predict_proba(paths), model.predict_proba(paths))
    for changed in ({"random_state": 1}, {"C": 0.5}):
        with pytest.raises(AssertionError, match="fitted"):
            ImageClassifier(recipe, cache_dir=tmp_path / "cache", **changed).fit(photos)
    with pytest.raises(AssertionError, match="fitted"):
        ImageClassifier(recipe, cache_dir=tmp_path / "cache").fit(paths, labels[::-1])


def _refuse(*_):
    raise AssertionError("fitted")


def test_many_images_are_decided_in_parts(photos, monkeypatch):
    model = ImageClassifier("fast").fit(photos)
    paths = ImageFolder(photos).paths
    whole = model.decision_function(paths)
    monkeypatch.setattr(scoring, "AT_ONCE", 5)
    np.testing.assert_array_equal(model.decision_function(paths), whole)


def test_a_file_that_changes_meanwhile_is_not_remembered_by_its_old_content(photos, tmp_path):
    class Replacing(Silent):
        """Replaces a file once all have been looked at."""

        def start(self, stage, total):
            if stage == "reading images":
                shutil.copy(changing.with_name("1.png"), changing)

    changing = next((photos / "sea").glob("0.png"))
    before = changing.read_bytes()
    cache = tmp_path / "cache"
    replaced = ImageClassifier("color", cache_dir=cache).fit(photos, progress=Replacing())
    changing.write_bytes(before)
    again = ImageClassifier("color", cache_dir=cache).fit(photos)
    expected = ImageClassifier("color").fit(photos)
    paths = ImageFolder(photos).paths
    scores = [model.decision_function(paths) for model in (replaced, again, expected)]
    np.testing.assert_array_equal(scores[1], scores[2])
    assert not np.array_equal(scores[0], scores[2])


def test_what_was_learned_without_a_file_is_not_recalled_when_it_is_back(photos, tmp_path):
    file = photos / "sea" / "0.png"
    cache, good = tmp_path / "cache", file.read_bytes()

    class Breaking(Silent):
        """Breaks a file once all have been looked at."""

        def start(self, stage, total):
            if stage == "reading images":
                file.write_bytes(b"no image")

    with pytest.warns(UserWarning, match="1 of 24 images left out"):
        ImageClassifier("color", cache_dir=cache).fit(photos, progress=Breaking())
    file.write_bytes(good)
    again = ImageClassifier("color", cache_dir=cache).fit(photos)
    assert again.skipped_ == []
    assert again.class_counts_.sum() == 24
