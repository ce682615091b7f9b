"""The stages of a recipe: samples by content, small rows, what is learned once is remembered."""

from dataclasses import replace

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy
from visualwords import ImageClassifier
from visualwords.apps.pipeline import (
    contents,
    encoded_channels,
    encoding,
    predictions,
    stage,
    training,
)
from visualwords.apps.pipeline.channel import Channel, Fisher
from visualwords.apps.pipeline.contents import Content, OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoder import ChannelEncoder
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import RECIPES
from visualwords.apps.pipeline.stages import EncodedChannels, Environment
from visualwords.apps.pipeline.training import Training
from visualwords.apps.pipeline.view import View
from visualwords.cache import open_cache
from visualwords.classifiers import calibration
from visualwords.codebook import FisherVectors
from visualwords.features.local_features import LocalFeatureSets
from visualwords.folders import ImageFolder
from visualwords.images import MAX_PIXELS
from visualwords.progress import Silent

FISHER = RECIPES["scene"].channels[0]
VIEW = View(640)


@pytest.fixture
def learned(photos):
    """Give the encoder of scene's SIFT channel, learned from all photos."""
    paths = ImageFolder(photos).paths
    return ChannelEncoder(FISHER, 0).learn(sampled(paths)), opened(paths[0])


def opened(source):
    return OpenedImage(Content(source, "image"), MAX_PIXELS)


def sampled(paths, n_jobs=None):
    data, env = Dataset.of(paths, paths), Environment(n_jobs=n_jobs)
    (patches,) = encoding.sample_patches([FISHER], data, VIEW, env).patches
    return patches


def test_a_sample_depends_on_the_content_of_each_image_alone(photos, monkeypatch):
    monkeypatch.setattr(encoding, "LEAST", 20)
    monkeypatch.setattr(encoding, "PATCHES", 0)
    paths = ImageFolder(photos).paths
    one, other = sampled(paths), sampled(paths[::-1], n_jobs=3)
    assert np.diff(one.offsets).tolist() == [20] * len(paths)
    np.testing.assert_array_equal(one[0].descriptors, other[len(paths) - 1].descriptors)
    everything = opened(paths[0]).features(FISHER, VIEW)
    assert len(everything) > 20
    assert {d.tobytes() for d in one[0].descriptors} <= {
        d.tobytes() for d in everything.descriptors
    }


def test_images_to_sample_from_are_equal_shares_of_the_classes():
    codes = np.repeat([0, 1, 2], [2, 50, 60])
    chosen = encoding.chosen_images(codes, seed=0, n_images=10)
    assert np.bincount(codes[chosen]).tolist() == [2, 4, 4]
    assert (np.diff(chosen) > 0).all()


def test_rows_are_bytes_that_keep_the_products_of_fisher_vectors(learned):
    encoder, image = learned
    exact = encoder.stage.encode(image.features(FISHER, VIEW)).astype(float)
    row = encoder.encode(image.features(FISHER, VIEW))
    assert row.dtype == np.int8
    cosine = exact @ row / np.linalg.norm(exact) / np.linalg.norm(row.astype(float))
    assert cosine > 0.999


def test_an_image_without_patches_has_a_row_of_zeros(learned, rng):
    encoder, image = learned
    tiny = opened(noisy(COLORS["sea"], rng, (9, 9)))
    row = encoder.encode(tiny.features(FISHER, VIEW))
    assert row.shape == encoder.encode(image.features(FISHER, VIEW)).shape
    assert not row.any()


def test_a_restored_encoder_has_the_same_rows_and_fingerprint(learned):
    encoder, image = learned
    again = ChannelEncoder(FISHER, 0).set_state(encoder.get_state())
    found = image.features(FISHER, VIEW)
    np.testing.assert_array_equal(again.encode(found), encoder.encode(found))
    assert again.fingerprint() == encoder.fingerprint()
    assert ChannelEncoder(FISHER, 0).fingerprint() != encoder.fingerprint()


def test_what_was_learned_is_remembered(photos, tmp_path, monkeypatch):
    cold = ImageClassifier("scene", cache_dir=tmp_path / "cache").fit(photos)
    cold.save(tmp_path / "cold.vw")

    def refuse(*_, **__):
        raise AssertionError("learned again")

    encoded = []
    encode = FisherVectors.encode
    monkeypatch.setattr(FisherVectors, "fit", refuse)
    monkeypatch.setattr(
        FisherVectors, "encode", lambda self, *args: encoded.append(1) or encode(self, *args)
    )
    warm = ImageClassifier("scene", cache_dir=tmp_path / "cache").fit(photos)
    monkeypatch.undo()
    assert len(encoded) < 8  # entries are tried on one small image; there are 24 photos
    warm.save(tmp_path / "warm.vw")
    assert (tmp_path / "warm.vw").read_bytes() == (tmp_path / "cold.vw").read_bytes()


def test_channels_may_take_square_roots_of_counts(photos):
    channel = Channel(
        "Centrist", {"layout": "dense"}, fisher=Fisher(4, 5, 1, None, root=True), linear=True
    )
    model = ImageClassifier(Recipe("r", "", (channel,), classifier="ByteLinearClassifier"))
    model.fit(photos)
    found = opened(ImageFolder(photos).paths[0]).features(channel, VIEW)
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
    monkeypatch.setattr(predictions, "AT_ONCE", 5)
    np.testing.assert_array_equal(model.decision_function(paths), whole)


class Replacing(Silent):
    """Writes another content to a file once all have been looked at."""

    def __init__(self, path, content):
        self.path, self.content = path, content

    def start(self, stage, total):
        if stage == "reading images":
            self.path.write_bytes(self.content)


@pytest.mark.parametrize("recipe", ["color", "fast"])
def test_a_file_that_changes_meanwhile_is_learned_as_it_was(photos, tmp_path, recipe):
    changing = photos / "sea" / "0.png"
    before, other = changing.read_bytes(), changing.with_name("1.png").read_bytes()
    model = ImageClassifier(recipe, cache_dir=tmp_path / "cache")
    model.fit(photos, progress=Replacing(changing, other))
    changing.write_bytes(before)
    expected = ImageClassifier(recipe).fit(photos)
    paths = ImageFolder(photos).paths
    np.testing.assert_array_equal(model.decision_function(paths), expected.decision_function(paths))


@pytest.mark.parametrize("content", ["another image", "no image"])
def test_a_file_that_changes_and_was_not_kept_is_left_out_and_learned_when_it_is_back(
    photos, tmp_path, monkeypatch, content
):
    monkeypatch.setattr(contents, "MOST_BYTES", 0)
    changing, cache = photos / "sea" / "0.png", tmp_path / "cache"
    before = changing.read_bytes()
    other = changing.with_name("1.png").read_bytes() if content == "another image" else b"none"
    model = ImageClassifier("color", cache_dir=cache)
    with pytest.warns(UserWarning, match="1 of 24 images left out"):
        model.fit(photos, progress=Replacing(changing, other))
    assert [(one.source, one.kind) for one in model.skipped_] == [(str(changing), "changed")]
    changing.write_bytes(before)
    again = ImageClassifier("color", cache_dir=cache).fit(photos)
    assert again.skipped_ == []
    assert again.class_counts_.sum() == 24


def test_bytes_of_all_channels_are_kept_once(photos):
    recipe, data = RECIPES["photo"], Dataset.of(photos)
    unweighted = replace(recipe, channels=tuple(c.unweighted for c in recipe.channels))
    together = EncodedChannels(data, 0, Environment())
    encoders = together.learn(unweighted)
    rows = together.rows(unweighted, encoders)
    assert rows is together.rows(unweighted, encoders)
    one_by_one = EncodedChannels(data, 0, Environment())
    for channel in recipe.channels:
        alone = replace(recipe, channels=(channel,))
        one_by_one.encode(alone, one_by_one.learn(alone))
    apart = one_by_one.rows(recipe, one_by_one.learn(recipe))
    weighted = together.rows(recipe, together.learn(recipe))
    np.testing.assert_array_equal(weighted, apart)
    assert weighted is not rows
    assert weighted.dtype == apart.dtype == np.int8
    in_place = together.rows(recipe, together.learn(recipe), last=True)
    assert np.shares_memory(in_place, rows)
    np.testing.assert_array_equal(in_place, apart)
    np.testing.assert_array_equal(together.rows(recipe, encoders), apart)


def test_channels_of_other_weights_are_not_encoded_again(photos, monkeypatch):
    recipe, data = RECIPES["photo"], Dataset.of(photos)
    channels = EncodedChannels(data, 0, Environment())
    channels.rows(recipe, channels.learn(recipe))
    monkeypatch.setattr(encoded_channels, "encode", _refuse)
    monkeypatch.setattr(encoded_channels, "learn", _refuse)
    first, second = recipe.channels
    other = replace(recipe, channels=(first, replace(second, weight=1.5)))
    rows = channels.rows(other, channels.learn(other))
    width = rows.shape[1] - channels.rows(*_alone(channels, recipe, second)).shape[1]
    unit = channels.rows(*_alone(channels, recipe, second.unweighted))
    np.testing.assert_array_equal(rows[:, width:], np.clip(np.rint(1.5 * unit), -127, 127))


def _alone(channels, recipe, channel):
    alone = replace(recipe, channels=(channel,))
    return alone, channels.learn(alone)


def test_products_are_those_of_rows(photos):
    recipe, data = RECIPES["photo"], Dataset.of(photos)
    channels = EncodedChannels(data, 0, Environment())
    rows = channels.rows(recipe, channels.learn(recipe)).astype(float)
    found = channels.products(recipe)
    np.testing.assert_array_equal(found, rows @ rows.T)
    mirrored = replace(recipe, views=("mirror",))
    rows = channels.rows(mirrored, channels.learn(mirrored)).astype(float)
    assert len(rows) == 2 * len(data)
    np.testing.assert_array_equal(channels.products(mirrored), rows @ rows.T)


def test_a_recipe_that_was_tried_is_finished_as_if_trained_at_once(photos):
    recipe, data = RECIPES["photo"], Dataset.of(photos)
    tried, at_once = Training(data, 0, Environment()), Training(data, 0, Environment())
    found = tried.try_recipe(recipe)
    assert found.coefficients is not None
    finished, expected = tried.finish(found), at_once.train(recipe)
    np.testing.assert_array_equal(finished.classifier.weights_, expected.classifier.weights_)
    np.testing.assert_array_equal(finished.signed[1], expected.signed[1])


def test_what_workers_give_is_taken_to_its_end(photos, monkeypatch):
    """Workers of other processes warn where the last result is taken and the end is not awaited."""
    begun, ended = [], []
    give = stage.map_on_workers

    def watched(function, *arguments, **options):
        begun.append(function)
        yield from give(function, *arguments, **options)
        ended.append(function)

    for module in (stage, calibration):
        monkeypatch.setattr(module, "map_on_workers", watched)
    ImageClassifier("color").fit(photos).predict(ImageFolder(photos))
    assert begun == ended
    assert {one.__module__ for one in begun} == {stage.__name__, calibration.__name__}


def test_a_try_of_the_cache_is_finished_by_another_training(photos, tmp_path):
    recipe = replace(RECIPES["photo"], views=("mirror",))
    data, env = Dataset.of(photos), Environment(open_cache(tmp_path / "cache"))
    Training(data, 0, env).try_recipe(recipe)
    second = Training(data, 0, env)
    found = second.try_recipe(recipe)
    assert found.coefficients is not None
    expected = Training(data, 0, Environment()).train(recipe)
    finished = second.finish(found)
    np.testing.assert_array_equal(finished.classifier.weights_, expected.classifier.weights_)
    assert Training(data, 0, env).try_recipe(recipe).coefficients is None


def test_a_try_of_the_cache_that_is_not_of_the_images_is_not_used(photos, tmp_path, monkeypatch):
    recipe, data = RECIPES["photo"], Dataset.of(photos)
    env = Environment(open_cache(tmp_path / "cache"))
    first = Training(data, 0, env).try_recipe(recipe)
    read = training.trained_of

    def shortened(*given):
        found = read(*given)
        fewer = found.coefficients._replace(values=found.coefficients.values[:, 1:])
        return replace(found, coefficients=fewer)

    monkeypatch.setattr(training, "trained_of", shortened)
    again = Training(data, 0, env).try_recipe(recipe)
    assert again.coefficients.values.shape == first.coefficients.values.shape


@pytest.mark.parametrize("name", ["tiny", "photo"])
def test_a_recipe_can_be_trained_twice(photos, name):
    both = Training(Dataset.of(photos), 0, Environment())
    first, second = both.train(RECIPES[name]), both.train(RECIPES[name])
    assert [e.scale for e in first.encoders] == [e.scale for e in second.encoders]
    np.testing.assert_array_equal(first.held_out, second.held_out)
    for one, other in zip(
        first.classifier.get_state().values(), second.classifier.get_state().values()
    ):
        np.testing.assert_array_equal(one, other)


def test_weighted_bytes_in_blocks_are_in_memory_once(photos, monkeypatch):
    recipe, data, seen = RECIPES["photo"], Dataset.of(photos), []
    monkeypatch.setattr(training, "are_shared", lambda *_: False)
    weigh = encoded_channels.weigh_side_by_side
    monkeypatch.setattr(
        encoded_channels,
        "weigh_side_by_side",
        lambda rows, *more: seen.append(rows) or weigh(rows, *more),
    )
    one = Training(data, 0, Environment())
    encoders = one.channels.learn(recipe)
    one.channels.encode(recipe, encoders)
    (table,) = one.channels._tables.values()
    trained = one.train(recipe)
    assert len(seen) == 1
    assert seen[0] is table
    assert trained.classifier.weights_.shape[1] == table.shape[1]


def test_a_channel_without_patches_adds_nothing_to_products(photos):
    large = Channel("DenseSIFT", {"bin_size": 60}, fisher=Fisher(), linear=True, weight=0.5)
    recipe, data = RECIPES["photo"], Dataset.of(photos)
    both = replace(recipe, channels=(*recipe.channels, large))
    found = Training(data, 0, Environment()).train(both)
    alone = Training(data, 0, Environment()).train(recipe)
    np.testing.assert_array_equal(found.held_out, alone.held_out)
    np.testing.assert_array_equal(found.classifier.weights_, alone.classifier.weights_)


@pytest.mark.parametrize("name", ["tiny", "photo"])
def test_few_images_are_divided_several_times_where_recipes_are_compared(photos, tmp_path, name):
    recipe, data = RECIPES[name], Dataset.of(photos)
    env = Environment(open_cache(tmp_path / "cache"))
    trained = Training(data, 0, env).train(recipe)
    assert trained.held_out_again == ()
    tried = Training(data, 0, env).try_recipe(recipe)  # what is in the cache does not suffice
    assert len(tried.held_out_again) == training.n_divisions(len(data)) - 1 == 4
    np.testing.assert_array_equal(tried.held_out, trained.held_out)
    for seed, scores in enumerate(tried.held_out_again, start=1):
        folds = data.folds_of_all_classes(training.FOLDS, seed)
        if name == "tiny":
            rows = Training(data, 0, Environment()).channels
            X = rows.rows(recipe, rows.learn(recipe))
            classifier = recipe.build_classifier()
            expected = training.fit_and_hold_out(classifier, X, data.labels, folds)
            np.testing.assert_allclose(scores, expected, atol=1e-6)
        assert not np.array_equal(scores, tried.held_out)
    again = Training(data, 0, env).try_recipe(recipe)
    np.testing.assert_array_equal(again.held_out_again, tried.held_out_again)
