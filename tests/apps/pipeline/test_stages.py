"""Stages: passes over images, samples by content, what is learned once, and encoding."""

from dataclasses import replace

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy
from visualwords import ImageClassifier
from visualwords.apps.pipeline import stages
from visualwords.apps.pipeline.channel import Channel, Classifier, Fisher, Words
from visualwords.apps.pipeline.contents import Content, OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoder import ChannelEncoder, weighted
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import LINEAR
from visualwords.apps.pipeline.similarity import make_thumbnails
from visualwords.apps.pipeline.stages import (
    Environment,
    chosen_images,
    encode,
    learn,
    sample,
)
from visualwords.apps.pipeline.view import View
from visualwords.cache import open_cache
from visualwords.codebook import FisherVectors, KMeansCodebook
from visualwords.errors import FolderError
from visualwords.features import ColorHistogram
from visualwords.features.local_features import LocalFeatureSets
from visualwords.folders import ImageFolder
from visualwords.images import MAX_PIXELS

FISHER = Channel("DenseSIFT", {"bin_size": [4, 6], "step": 8}, fisher=Fisher(4, 8), linear=True)
COLOR = Channel("ColorHistogram", {"bins": 2}, weight=2.0, linear=True)
BOTH = Recipe("both", "", (FISHER, COLOR), classifier=LINEAR)
WORDS = Recipe("words", "", (Channel("DenseSIFT", words=Words(n_words=9, pyramid=1)),))
VIEW = View(640)


def opened(source):
    return OpenedImage(Content(source, "image"), MAX_PIXELS)


def made(recipe, data, env=None, views=()):
    env = env or Environment()
    return encode(
        replace(recipe, views=views), learn(recipe.channels, data, VIEW, env, 0), data, env
    )


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_each_image_gives_the_same_for_any_number_of_jobs_and_names_what_is_left_out(
    photos, n_jobs
):
    (photos / "sand" / "3.png").write_bytes(b"no image")
    (photos / "sea" / "5.png").write_bytes(b"")
    data, env = Dataset.of(photos), Environment(n_jobs=n_jobs)
    encoded = made(BOTH, data, env)
    left_out = {one.source.removeprefix(str(photos)): str(one) for one in encoded.skipped}
    assert list(left_out) == ["/sand/3.png", "/sea/5.png"]
    assert "the file is empty" in left_out["/sea/5.png"]
    kept = data.part(encoded.kept)
    np.testing.assert_array_equal(encoded.rows, made(BOTH, kept).rows)
    for content, row in zip(kept.contents, encoded.rows):
        expected = ChannelEncoder(COLOR, 0).encode(opened(content.source).features(COLOR, VIEW))
        np.testing.assert_array_equal(row[-8:], weighted(expected, 2.0))
    pictures = make_thumbnails(data, env)
    assert [bool(one) for one in pictures] == [k in encoded.kept for k in range(len(data))]


def test_a_sample_depends_on_the_content_of_each_image_alone(photos, monkeypatch):
    monkeypatch.setattr(stages, "LEAST", 20)
    monkeypatch.setattr(stages, "PATCHES", 0)
    paths = ImageFolder(photos).paths
    (one,) = sample([FISHER], Dataset.of(paths, paths), VIEW, Environment())
    (other,) = sample([FISHER], Dataset.of(paths[::-1], paths), VIEW, Environment(n_jobs=3))
    assert np.diff(one.offsets).tolist() == [20] * len(paths)
    np.testing.assert_array_equal(one[0].descriptors, other[len(paths) - 1].descriptors)
    everything = {d.tobytes() for d in opened(paths[0]).features(FISHER, VIEW).descriptors}
    assert {d.tobytes() for d in one[0].descriptors} < everything


def test_images_to_sample_from_are_equal_shares_of_the_classes():
    codes = np.repeat([0, 1, 2], [2, 50, 60])
    chosen = chosen_images(codes, seed=0, n_images=10)
    assert np.bincount(codes[chosen]).tolist() == [2, 4, 4]
    assert (np.diff(chosen) > 0).all()


def refuse(*_, **__):
    raise AssertionError("learned again")


def test_codebooks_and_rows_are_read_from_the_cache_and_damaged_entries_made_again(
    photos, tmp_path
):
    cache = tmp_path / "cache"
    cold = made(BOTH, Dataset.of(photos), Environment(open_cache(cache)), ("mirror",)).rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FisherVectors, "fit", refuse)
        patch.setattr(View, "of", refuse)  # no pixel is looked at either
        env = Environment(open_cache(cache))
        np.testing.assert_array_equal(made(BOTH, Dataset.of(photos), env, ("mirror",)).rows, cold)
    entries = [path for path in cache.rglob("*") if path.is_file()]
    for number, path in enumerate(entries):
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content if number % 2 else content[: len(content) // 2])
    fresh = made(BOTH, Dataset.of(photos), Environment(open_cache(cache)), ("mirror",)).rows
    np.testing.assert_array_equal(fresh, cold)


def test_what_is_learned_depends_on_images_view_seed_and_settings_but_not_on_jobs_or_weight(
    photos, tmp_path
):
    data, channel = Dataset.of(photos), WORDS.channels[0]
    cases = [
        (channel, data, VIEW, 0),
        (channel, data, VIEW, 1),
        (channel, data, View(50), 0),
        (channel, data.part(range(3, 24)), VIEW, 0),
        (replace(channel, words=Words("hik", 9)), data, VIEW, 0),
        (replace(channel, params={"step": 7}), data, VIEW, 0),
    ]
    found = set()
    for channel, images, view, seed in cases * 2:  # read from the cache the second time
        env = Environment(open_cache(tmp_path))
        known = learn([channel], images, view, env, seed)[0].fingerprint()
        heavier = replace(channel, weight=3.0)
        fresh = learn([heavier], images, view, Environment(n_jobs=3), seed)[0]
        assert fresh.channel == heavier
        assert known == fresh.fingerprint()
        found.add(known)
    assert len(found) == len(cases)


def test_rows_are_bytes_that_keep_the_products_of_fisher_vectors(photos):
    data, channel = Dataset.of(photos), replace(FISHER, fisher=Fisher(32, 32))
    (encoder,) = learn([channel], data, VIEW, Environment(), 0)
    features = opened(data.names[0]).features(FISHER, VIEW)
    exact, row = encoder.codebook.encode(features).astype(float), encoder.encode(features)
    assert row.dtype == np.int8
    assert exact @ row / np.linalg.norm(exact) / np.linalg.norm(row.astype(float)) > 0.999
    again = ChannelEncoder(channel, 0).set_state(encoder.get_state())
    np.testing.assert_array_equal(again.encode(features), row)
    assert again.fingerprint() == encoder.fingerprint()
    tiny = opened(noisy(COLORS["sea"], np.random.default_rng(0), (7, 7)))
    blank = encoder.encode(tiny.features(FISHER, VIEW))
    assert blank.shape == row.shape
    assert not blank.any()


def test_weights_multiply_the_bytes_of_their_channel(photos):
    data = Dataset.of(photos)
    rows, plain = made(BOTH, data).rows, replace(BOTH, channels=(FISHER, COLOR.unweighted))
    width = rows.shape[1] - 8
    unweighted = made(plain, data).rows
    np.testing.assert_array_equal(rows[:, :width], unweighted[:, :width])
    doubled = np.clip(2 * unweighted[:, width:].astype(int), -127, 127)
    np.testing.assert_array_equal(rows[:, width:], doubled)
    large = np.array([[100, -100, 1]], np.int8)
    assert weighted(large, 1.5).tolist() == [[127, -127, 2]]
    assert weighted(large, 1) is large


def test_channels_may_take_square_roots_of_counts(photos):
    channel = Channel("Centrist", {"layout": "dense"}, fisher=Fisher(4, 5, 1, None, root=True))
    data = Dataset.of(photos)
    (encoder,) = learn([channel], data, VIEW, Environment(), 0)
    found = opened(data.names[0]).features(channel, VIEW)
    roots = encoder.prepared(LocalFeatureSets.concatenate([found])).descriptors
    np.testing.assert_allclose(roots, np.sqrt(found.descriptors.astype(float)), rtol=1e-6)


def test_scales_are_learned_from_the_images_that_were_asked_for(photos):
    data, env = Dataset.of(photos), Environment()
    recipe = Recipe("r", "", (replace(COLOR, linear=False),), classifier=Classifier("icd"))
    some = np.arange(24) < 8
    encoders = learn(recipe.channels, data, VIEW, env, 0)
    rows = encode(recipe, encoders, data, env, learn_from=some).rows
    alone = made(recipe, data.part(np.flatnonzero(some))).rows
    np.testing.assert_array_equal(rows[some], alone)


def test_images_smaller_than_a_patch_are_described_by_the_other_channels(rng):
    images = [noisy(color, rng, (7, 7)) for color in COLORS.values() for _ in range(4)]
    labels = [name for name in COLORS for _ in range(4)]
    model = ImageClassifier(BOTH).fit(images, labels)
    assert model.transform(images).shape == (12, 8)
    assert model.score(images, labels) == 1.0
    for recipe in (WORDS, replace(BOTH, channels=(FISHER,))):
        with pytest.raises(FolderError, match="no image has a patch for recipe"):
            ImageClassifier(recipe).fit(images, labels)


@pytest.mark.parametrize("kind", ["icd", "linear"])
def test_rows_that_differ_in_length_are_refused_with_a_sentence(rng, monkeypatch, kind):
    monkeypatch.setattr(ColorHistogram, "describe", lambda self, image: image.ravel())
    images = [noisy(color, rng, (40 + 8 * i, 48)) for i, color in enumerate(COLORS.values())]
    recipe = Recipe("r", "", (Channel("ColorHistogram"),), classifier=Classifier(kind))
    with pytest.raises(FolderError, match="bring all images to one size"):
        ImageClassifier(recipe).fit(images, list(COLORS))


def test_signed_numbers_keep_their_signs(photos, monkeypatch):
    def describe(self, image):
        means = image.mean(axis=(0, 1))
        return means - means.mean()

    monkeypatch.setattr(ColorHistogram, "describe", describe)
    model = ImageClassifier(Recipe("r", "", (Channel("ColorHistogram"),))).fit(photos)
    assert (model.transform(ImageFolder(photos)) < 0).any()
    assert model.score(photos) == 1


def test_a_fault_of_our_own_is_never_taken_for_a_stale_cache(photos, tmp_path, monkeypatch):
    def fault(*_, **__):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(KMeansCodebook, "fit", fault)
    with pytest.raises(ZeroDivisionError, match="ours"):
        ImageClassifier(WORDS, cache_dir=tmp_path).fit(photos)
