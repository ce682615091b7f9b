"""How images look as a whole, and what does not look like the training images."""

import numpy as np
import pytest
from skimage import data

from tests.apps.conftest import COLORS, noisy
from tests.reference import appearance as reference
from visualwords import ImageClassifier, load
from visualwords.apps.pipeline.appearance import EXAMPLES, N_STATISTICS, Appearance, measure
from visualwords.apps.pipeline.channel import Channel
from visualwords.apps.pipeline.recipe import Recipe

TEXTURE = Recipe("texture", "", (Channel("Centrist", {"layout": "whole"}),))


@pytest.mark.parametrize("shape", [(1, 1), (1, 128), (2, 5), (3, 3), (40, 61), (128, 97)])
def test_statistics_match_their_definition(shape, rng):
    noise = rng.integers(0, 256, (*shape, 3), dtype=np.uint8)
    ramp = (5 * (np.arange(shape[1]) % 50)).astype(np.uint8)  # at no limit of dark and bright
    slope = np.tile(ramp[None, :, None], (shape[0], 1, 3))
    white = np.full_like(noise, 255)
    for image in (noise, slope, np.zeros_like(noise), white, noise[:, ::-1]):
        np.testing.assert_allclose(measure(image), reference.statistics(image), atol=2e-4)


def test_statistics_hardly_depend_on_the_size_of_a_photograph():
    picture = data.astronaut()
    whole, half = measure(picture), measure(picture[::2, ::2])
    noise = measure(np.random.default_rng(0).integers(0, 256, picture.shape, dtype=np.uint8))
    assert np.isfinite(measure(np.zeros((1, 5000, 3), np.uint8))).all()
    assert np.linalg.norm(whole - half) < 0.1 * np.linalg.norm(whole - noise)


def test_distances_are_mahalanobis_distances_to_the_nearest_class(rng):
    codes = np.repeat([0, 1], 400)
    spread = np.diag(rng.uniform(5, 9, N_STATISTICS))  # no direction hardly varies
    statistics = rng.normal(size=(800, N_STATISTICS)) @ spread + 50 * codes[:, None]
    found = Appearance.fit(statistics, codes, keep_images=False)
    means = found.examples.astype(np.float64)
    within = np.cov((statistics - means[codes]).T)
    inverse = np.linalg.inv(within)
    for row, distance in zip(statistics[::100], found.distances(statistics[::100])):
        expected = min(np.sqrt((row - m) @ inverse @ (row - m)) for m in means)
        assert distance == pytest.approx(expected, rel=0.2)


def test_distances_are_those_to_the_nearest_image_where_images_are_kept(rng):
    statistics, codes = rng.normal(0, 9, (90, N_STATISTICS)), np.arange(90) % 3
    found = Appearance.fit(statistics, codes)
    others = rng.normal(0, 9, (5, N_STATISTICS))
    apart = (others[:, None] - found.examples.astype(np.float64)[None]) @ found.root
    expected = np.linalg.norm(apart, axis=2).min(axis=1)
    np.testing.assert_allclose(found.distances(others), expected)
    np.testing.assert_allclose(found.distances(statistics), 0, atol=0.1)


def test_of_many_images_some_are_kept(rng):
    found = Appearance.fit(rng.normal(size=(2 * EXAMPLES + 1, N_STATISTICS)), np.arange(2049) % 2)
    assert EXAMPLES / 2 < len(found.examples) <= EXAMPLES


def test_one_image_is_learned_from_without_a_warning(rng):
    statistics = rng.normal(size=(1, N_STATISTICS)).astype(np.float16)
    found = Appearance.fit(statistics, np.zeros(1, int))
    assert found.distances(statistics) < 1e-3 < found.distances(statistics + 1)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Give a model of striped photographs, and new images of its classes."""
    rng = np.random.default_rng(5)
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(16)]
    labels = [name for name in COLORS for _ in range(16)]
    model = ImageClassifier(TEXTURE).fit(images, labels)
    path = tmp_path_factory.mktemp("model") / "m.vw"
    model.save(path)
    return model, load(path), [noisy(color, rng) for color in COLORS.values() for _ in range(8)]


def test_noise_blank_images_and_photographs_are_stranger_than_known_ones(trained, rng):
    model, restored, usual = trained
    noise = [rng.integers(0, 256, (48, 64, 3), dtype=np.uint8) for _ in range(3)]
    blank = [np.full((48, 64, 3), value, np.uint8) for value in (0, 255)]
    photographs = [data.astronaut()[:200, :200], data.coffee()[:200, :200]]
    strange = noise + blank + photographs
    assert model.novelty(strange).min() > model.novelty(usual).max()
    np.testing.assert_array_equal(restored.novelty(strange), model.novelty(strange))
    assert model.explain(usual[0]).novelty == pytest.approx(model.novelty(usual[:1])[0])


def test_what_never_varied_in_training_may_vary_a_little(rng):
    statistics = rng.normal(100, 20, (60, N_STATISTICS))
    statistics[:, 7] = 0.0  # no image has a very bright pixel
    found = Appearance.fit(statistics, np.arange(60) % 3)
    other = statistics[:1].copy()
    other[0, 7] = 0.02
    assert found.distances(other)[0] < found.distances(statistics[:1])[0] + 1
