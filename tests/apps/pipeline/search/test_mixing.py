"""How much each channel counts, chosen on folds."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.mixing import Held, held_out_scores, mix, mixed
from visualwords.apps.pipeline.recipes import RECIPES
from visualwords.apps.pipeline.search import mixing
from visualwords.apps.pipeline.stages import Environment
from visualwords.apps.pipeline.training import Training

CODES = np.arange(90) % 3
FOLDS = np.arange(90) // 3 % 5


def kernel(rng, strength, n_columns=40):
    """Return the kernel of rows that depend on the class so much, the mean of its diagonal 1."""
    rows = rng.normal(size=(len(CODES), n_columns))
    rows += strength * rng.normal(size=(3, n_columns))[CODES]
    products = rows @ rows.T
    return products / np.diagonal(products).mean()


def test_held_out_scores_are_those_of_a_regression_without_the_fold(rng):
    total, ridge = kernel(rng, 0.3), rng.uniform(0.1, 0.4, len(CODES))
    other = np.roll(FOLDS, 7)
    found, again = held_out_scores(total, Held(CODES, [FOLDS, other]), ridge)
    np.testing.assert_array_equal(again, held_out_scores(total, Held(CODES, [other]), ridge)[0])
    targets = np.where(CODES[:, None] == np.arange(3), 1.0, -1.0)
    for fold in range(5):
        train, test = np.flatnonzero(fold != FOLDS), np.flatnonzero(fold == FOLDS)
        # a ridge of its own for each image is its weight, with one ridge of 1
        peer = KernelRidge(alpha=1.0, kernel="precomputed")
        peer.fit(total[np.ix_(train, train)], targets[train], sample_weight=1 / ridge[train])
        expected = peer.predict(total[np.ix_(test, train)])
        np.testing.assert_allclose(found[test], expected, atol=1e-8)


def test_a_kernel_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match="positive"):
        held_out_scores(-np.eye(len(CODES)), Held(CODES, [FOLDS]), np.full(len(CODES), 0.1))


def test_what_helps_gets_a_larger_share_and_noise_none(rng):
    kernels = np.stack([kernel(rng, 0.15), kernel(rng, 0), kernel(rng, 0.6)])
    shares = mix(kernels, [0.5, 0.5, 0], Held(CODES, [FOLDS]))
    assert shares.sum() == pytest.approx(1)
    assert shares[1] <= 0.2
    assert shares[2] >= 0.4
    np.testing.assert_array_equal(shares, mix(kernels, [0.5, 0.5, 0], Held(CODES, [FOLDS])))


def test_a_single_kernel_that_does_not_help_ends_it(rng, monkeypatch):
    kernels, tried = np.stack([kernel(rng, 0.6), kernel(rng, 0.3), kernel(rng, 0)]), []
    scores = mixing.held_out_scores
    monkeypatch.setattr(
        mixing, "held_out_scores", lambda *given: tried.append(given) or scores(*given)
    )
    shares = mix(kernels, [0.9, 0.1, 0], Held(CODES, [FOLDS]))
    np.testing.assert_allclose(shares, [0.9, 0.1, 0])
    assert len(tried) == 1 + len(mixing.ENTRIES)


def test_classes_count_alike_whatever_their_number_of_images(rng):
    few = np.flatnonzero((CODES < 2) | (np.arange(len(CODES)) < 30))
    kernels = np.stack([kernel(rng, 0.4)])[:, few][:, :, few]
    weights = mixing._of_images(CODES[few])
    assert weights.mean() == pytest.approx(1)
    sums = np.bincount(CODES[few], weights)
    np.testing.assert_allclose(sums, len(few) / 3)
    np.testing.assert_allclose(mix(kernels, [3.0], Held(CODES[few], [FOLDS[few]])), [1])


@pytest.fixture
def textures(rng):
    """Images of two textures, in colours that have nothing to do with them."""
    images, labels = [], []
    for k in range(36):
        place = np.indices((48, 48))[k % 2] + rng.integers(9)
        waves = 0.5 + 0.5 * np.sin(place * rng.uniform(0.5, 1.2))
        color, noise = rng.integers(60, 250, 3), rng.integers(0, 60, (48, 48, 3))
        images.append((waves[:, :, None] * color * 0.7 + noise).astype(np.uint8))
        labels.append(["across", "down"][k % 2])
    return Dataset.of(images, labels)


def test_weights_of_a_recipe_have_the_shares_that_were_chosen(textures, monkeypatch):
    shares = np.array([0.25, 0.0, 0.75])
    monkeypatch.setattr(mixing, "mix", lambda kernels, start, held: shares)
    training, recipe = Training(textures, 0, Environment()), RECIPES["photo"]
    found = mixed(recipe, RECIPES["moments"].channels[2:3], training)
    assert [channel.extractor for channel in found.channels] == ["DenseSIFT", "HOG"]
    assert found.channels[0] == recipe.channels[0]  # patches, which keep their weight
    kept = np.arange(len(textures))
    products = [training.channels.products_of(c, [recipe.view], kept) for c in found.channels]
    means = np.array([np.diagonal(one).mean() for one in products])
    np.testing.assert_allclose(means / means.sum(), [0.25, 0.75], atol=0.05)  # bytes are rounded


def test_a_recipe_of_colors_that_gains_by_shapes_gets_them(textures):
    training = Training(textures, 0, Environment())
    recipe = replace(RECIPES["photo"], channels=RECIPES["photo"].channels[1:])
    found = mixed(recipe, RECIPES["moments"].channels[2:3], training)
    assert found.channels[-1].extractor == "HOG"
    assert training.try_recipe(found).recipe == found


def test_nothing_is_mixed_where_a_class_has_one_image(textures):
    few = textures.part([0, 2, 4, 1])
    recipe, others = RECIPES["photo"], RECIPES["scene"].channels[1:]
    assert mixed(recipe, others, Training(few, 0, Environment())) is None


def test_of_many_images_some_are_mixed(textures, monkeypatch):
    seen = []
    monkeypatch.setattr(mixing, "MIXED_IMAGES", 10)
    monkeypatch.setattr(
        mixing, "mix", lambda kernels, start, held: seen.append((kernels, held)) or start
    )
    for shared in (True, False):  # products of all images, by classifiers
        monkeypatch.setattr(mixing, "are_shared", lambda *_, shared=shared: shared)
        training = Training(textures, 0, Environment())
        assert mixed(RECIPES["photo"], RECIPES["scene"].channels[1:], training) is None
    (first, held), (second, _) = seen
    assert first.shape[0] == 3
    assert len(held.codes) < len(textures)
    np.testing.assert_array_equal(first, second)
    means = [np.diagonal(one).mean() for one in first]
    np.testing.assert_allclose(means, 1)
