"""Sizes that a recipe brings images to, and views of them to train on."""

import io

import numpy as np
import pytest
from PIL import Image

from tests.apps.conftest import COLORS, noisy
from visualwords import ImageClassifier
from visualwords.apps.pipeline.contents import Content, OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import LIBRARY, LINEAR
from visualwords.apps.pipeline.stages import Environment, encode, learn
from visualwords.apps.pipeline.training import train
from visualwords.apps.pipeline.view import LARGEST_FACTOR, View

ALL = ("mirror", "rotations")
SHAPE = Recipe("shape", "", LIBRARY[:1], classifier=LINEAR)


@pytest.fixture
def leaning(rng):
    """Give images of stripes that rise or fall to the right, and labels."""
    across = np.add.outer(np.arange(40), np.arange(40)) % 10 < 5
    images = []
    for i in range(16):
        stripes = np.roll(across, rng.integers(10), axis=1)
        pixels = np.where(stripes if i % 2 else stripes[:, ::-1], 180, 60)
        images.append((pixels + rng.integers(-20, 20, pixels.shape)).astype(np.uint8))
    return images, ["falls" if i % 2 == 0 else "rises" for i in range(16)]


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("side", [100, 200, 300])
def test_a_decoded_image_serves_other_sizes_as_the_decoder_would(kind, side, rng):
    file = io.BytesIO()
    Image.fromarray(rng.integers(0, 256, (side // 2, side, 3), dtype=np.uint8)).save(file, kind)
    opened = OpenedImage(Content(file.getvalue(), "i"), 10**6)
    for max_side in (128, 640, None, 96):
        alone = OpenedImage(Content(file.getvalue(), "i"), 10**6)
        view = View(max_side)
        np.testing.assert_array_equal(opened.pixels("rgb", view), alone.pixels("rgb", view))


def test_images_are_shrunk_or_enlarged_to_the_sides_of_a_view():
    view = View(max_side=64, min_side=32)
    sizes = {
        (16, 24): (21, 32),
        (128, 100): (64, 50),
        (40, 50): (40, 50),
        (1, 1): (LARGEST_FACTOR, LARGEST_FACTOR),
    }
    for shape, expected in sizes.items():
        opened = OpenedImage(Content(np.zeros(shape, np.uint8), "image"), 10**6)
        assert opened.pixels("grey", view).shape == expected
        assert opened.pixels("rgb", view).shape == (*expected, 3)


def test_eight_views_are_the_symmetries_of_a_square(rng):
    image = rng.integers(0, 256, (5, 7, 3), dtype=np.uint8)
    made = [view.of(image) for view in [View(), *View().others(ALL)]]
    assert len({pixels.tobytes() for pixels in made}) == 8
    assert all(pixels.flags.c_contiguous for pixels in made)
    np.testing.assert_array_equal(View(turn=1).of(image), np.rot90(image))
    np.testing.assert_array_equal(View(turn=4).of(image), np.fliplr(image))


def test_rows_of_views_follow_those_of_all_originals_and_figures_are_of_originals(leaning):
    recipe = Recipe("mirrored", "", SHAPE.channels, views=("mirror",), classifier=LINEAR)
    data, env = Dataset.of(*leaning), Environment()
    encoders = learn(recipe.channels, data, recipe.view, env, 0)
    rows = encode(recipe, encoders, data, env).rows
    flipped = Dataset.of([image[:, ::-1] for image in leaning[0]], leaning[1])
    np.testing.assert_array_equal(rows[: len(data)], encode(SHAPE, encoders, data, env).rows)
    np.testing.assert_array_equal(rows[len(data) :], encode(SHAPE, encoders, flipped, env).rows)
    folds = data.folds_of_all_classes(4, seed=0)
    _, scores = train(recipe, rows, data, env, folds=folds)
    assert len(scores) == len(data)
    for fold in range(4):  # an original is scored by what learned neither from it nor its view
        others = np.tile(folds != fold, 2)
        apart = recipe.build_classifier().fit(rows[others], np.tile(data.labels, 2)[others])
        here = folds == fold
        expected = apart.decision_function(rows[: len(data)][here])
        np.testing.assert_allclose(scores[here].ravel(), expected.ravel(), atol=0.02)


def test_what_a_view_contradicts_is_not_learned(leaning):
    assert ImageClassifier(SHAPE).fit(*leaning).cross_validated_ == 1.0
    assert ImageClassifier(SHAPE, views="mirror").fit(*leaning).cross_validated_ < 0.8


@pytest.mark.parametrize("name", ["tiny", "fast"])
def test_evidence_sums_to_the_scores_of_enlarged_images_with_views(rng, name):
    images = [noisy(color, rng, (40, 40)) for color in COLORS.values() for _ in range(4)]
    labels = [label for label in COLORS for _ in range(4)]
    model = ImageClassifier(name, min_side=72, views="mirror").fit(images, labels)
    assert (model.recipe_.min_side, model.recipe_.views) == (72, ("mirror",))
    explanation = model.explain(images[0])
    for number, label in enumerate(explanation.classes):
        total = explanation.heat_map(label).sum(dtype=float) + explanation.offsets[number]
        assert total == pytest.approx(explanation.scores[number], abs=1e-4)
