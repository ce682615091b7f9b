"""Evidence: it adds up to the score, and it lies where it should."""

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy, write_photos
from visualwords import ImageClassifier, features
from visualwords.apps.explanation.explaining import share_second_order
from visualwords.apps.pipeline.channel import Channel, SecondOrder, Words
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import LINEAR, RECIPES
from visualwords.codebook import SecondOrderPooling
from visualwords.features.extractor import Extractor, as_grey, places_of_pixels
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets
from visualwords.folders import ImageFolder


@pytest.fixture
def sets(rng):
    """Give local features of four images."""
    images = [
        LocalFeatures(rng.random((n, 5)), rng.random((n, 2)), np.full(n, 8.0))
        for n in (400, 60, 70, 80)
    ]
    return LocalFeatureSets.concatenate(images)


PYRAMID = Recipe(
    "windows",
    "colours and census in windows",
    (
        Channel("ColorHistogram", {"bins": 3, "space": "hsv", "windows": [2, 3]}, power=0.25),
        Channel("Centrist", {"layout": "pyramid"}),
        Channel("Centrist", {"layout": "whole", "sobel": True}),
    ),
)

SECOND_ORDER = Recipe(
    "second moments",
    "",
    (Channel("DenseSIFT", {"step": 8}, second_order=SecondOrder(8), linear=True),),
    classifier=LINEAR,
)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Give ``fitted(recipe)`` → its model of the photographs, which is trained once."""
    folder, models = write_photos(tmp_path_factory.mktemp("fitted") / "photos"), {}

    def fit(recipe):
        name = recipe if isinstance(recipe, str) else recipe.name
        if name not in models:
            models[name] = ImageClassifier(recipe).fit(folder)
        return models[name]

    return fit


def total(explanation):
    return explanation.offsets + sum(c.evidence.sum(axis=0) for c in explanation.channels)


def decision(model, image):
    return model.decision_function([image])[0]


@pytest.mark.parametrize("recipe", [*RECIPES.values(), PYRAMID, SECOND_ORDER], ids=lambda r: r.name)
@pytest.mark.parametrize("shape", [(48, 64), (51, 77)])
def test_evidence_adds_up_to_the_score(fitted, recipe, shape, rng):
    model = fitted(recipe)
    image = noisy(COLORS["sea"], rng, shape)
    found = model.explain(image)
    np.testing.assert_allclose(found.scores, decision(model, image), rtol=0, atol=1e-9)
    np.testing.assert_allclose(total(found), found.scores, rtol=0, atol=1e-5)
    for label, score, offset in zip(found.classes, found.scores, found.offsets):
        assert abs(found.heat_map(label).sum(dtype=float) + offset - score) < 1e-5
        enlarged = found.heat_map(label, (200, 300))
        assert enlarged.shape == (200, 300)
        assert abs(enlarged.sum(dtype=float) + offset - score) < 1e-5


@pytest.mark.parametrize("recipe", ["tiny", "fast", "words", PYRAMID, "pyramid-match"])
def test_evidence_of_counts_leaves_nothing_over(fitted, photos, recipe):
    found = fitted(recipe).explain(ImageFolder(photos).paths[0])
    assert found.exact == (recipe != "pyramid-match")
    np.testing.assert_allclose(found.offsets, 0, atol=1e-5)
    assert np.abs(found.channels[0].evidence).max() > 0
    assert found.method[0].isupper()
    assert found.method.endswith(".")


def test_evidence_of_second_moments_follows_their_gradient(sets, rng):
    encoder, step = SecondOrderPooling(3, pyramid=1, power=1.0).fit(sets), 1e-6
    mixed = 3 * sets[0].descriptors @ rng.normal(size=(5, 5))  # its moments are not the usual ones
    one = LocalFeatures(mixed, sets[0].positions, sets[0].sizes)
    numbers = encoder.unfold(logarithm(encoder, encoder.moments(one)[0]))[0]
    weights = np.where(np.abs(numbers) > 0.5, np.linspace(-1, 1, 6), 0)[:, None]  # δ is 0.05
    assert np.count_nonzero(weights) >= 3
    shares, components = share_second_order(encoder, one, weights * numbers[:, None])
    np.testing.assert_allclose(shares.sum(), (weights[:, 0] * numbers).sum(), rtol=1e-6)
    np.testing.assert_allclose(components.sum(), shares.sum(), rtol=1e-6)
    x, moments = encoder.whitened(one.descriptors).astype(float), encoder.moments(one)[0]
    before = logarithm(encoder, moments.astype(float))
    gains = [  # of the score, by a little more of one patch
        (encoder.unfold(logarithm(encoder, moments + step * np.outer(p, p)) - before) @ weights)[0]
        for p in x[:50]
    ]
    assert np.corrcoef(np.ravel(gains), shares[:50, 0])[0, 1] > 0.999


def logarithm(encoder, moments):
    values, vectors = encoder.eigen(moments)
    return (vectors * np.log(values)[:, None]) @ vectors.transpose(0, 2, 1)


def test_evidence_lies_where_the_colour_is(fitted, rng):
    model = fitted("tiny")
    image = noisy(COLORS["sand"], rng)
    image[:, :32] = noisy(COLORS["sea"], rng)[:, :32]
    heat = model.explain(image).heat_map("sea")
    assert heat.shape == (48, 64)
    assert heat[:, :32].sum() > heat[:, 32:].sum()
    with pytest.raises(ValueError, match="no class 'moon'; it knows sand, sea, wood"):
        model.explain(image).heat_map("moon")


def test_discriminative_words_are_sorted_by_absolute_value(fitted, photos):
    found = fitted("words").explain(ImageFolder(photos).paths[0])
    words = found.discriminative_words(found.label, 5)
    values = [abs(one.value) for one in words]
    assert len(words) == 5
    assert values == sorted(values, reverse=True)
    assert words[0].name.split(" word ")[0] in ("DenseSIFT", "Centrist")
    channel = found.channels[0]
    for k, column in [(int(channel.words[0]), 0), (int(channel.words[-1]), 1)]:
        of_patches = channel.evidence[channel.words == k, column].sum()
        assert of_patches == pytest.approx(channel.values[k, column], abs=1e-5)


def test_an_image_without_patches_has_no_evidence(photos, rng):
    words = Recipe("w", "", (Channel("DenseSIFT", {}, words=Words(n_words=20)),))
    model = ImageClassifier(words).fit(photos)
    found = model.explain(noisy(COLORS["sea"], rng, (9, 9)))
    assert found.channels[0].evidence.shape == (0, 3)
    assert not found.heat_map("sea").any()
    np.testing.assert_array_equal(found.offsets, found.scores)


class Halves(Extractor):
    """Dark and light pixels: a descriptor of a plugin."""

    def describe(self, image):
        return np.bincount(self._codes(image).ravel(), minlength=2)

    def column_places(self, image):
        bounds = np.array([[0, 0, image.shape[1], image.shape[0]]])
        return places_of_pixels(self._codes(image), bounds, ["dark", "light"])

    def _codes(self, image):
        return as_grey(image) >> 7


def test_a_new_descriptor_is_explained_without_a_change_elsewhere(photos, rng, monkeypatch):
    monkeypatch.setitem(features.EXTRACTORS, "Halves", __name__)
    model = ImageClassifier(Recipe("halves", "", (Channel("Halves", {}),))).fit(photos)
    image = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
    found = model.explain(image)
    assert found.exact
    assert found.channels[0].names == ["dark", "light"]
    np.testing.assert_allclose(
        found.channels[0].evidence.sum(axis=0), found.scores - found.offsets, atol=1e-6
    )
