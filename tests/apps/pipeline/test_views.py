"""Sizes that a recipe brings images to, and views of them to train on."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from tests.apps.conftest import COLORS, noisy, write_png
from visualwords import ImageClassifier, Recipe, load
from visualwords.apps.classify_images.main import main
from visualwords.apps.pipeline import contents, training
from visualwords.apps.pipeline.contents import Content, OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipes import RECIPES, change_recipe
from visualwords.apps.pipeline.stages import EncodedChannels, Environment
from visualwords.apps.pipeline.training import Training
from visualwords.apps.pipeline.view import LARGEST_FACTOR, View
from visualwords.cache import open_cache
from visualwords.errors import RecipeError

ALL = ("mirror", "rotations")


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
@pytest.mark.parametrize("side", [100, 128, 200, 256, 300])
def test_a_decoded_image_serves_other_sizes_as_the_decoder_would(kind, side, rng, monkeypatch):
    pixels = rng.integers(0, 256, (side // 2, side, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    sides = (128, 640, None, 96)
    alone = [OpenedImage(Content(file.getvalue(), "i"), 10**6) for _ in sides]
    expected = [one.pixels("rgb", View(max_side)) for one, max_side in zip(alone, sides)]
    decoded = []
    read = contents.read_image
    monkeypatch.setattr(contents, "read_image", lambda *a, **k: decoded.append(1) or read(*a, **k))
    opened = OpenedImage(Content(file.getvalue(), "i"), 10**6)
    for wanted, max_side in zip(expected, sides):
        np.testing.assert_array_equal(opened.pixels("rgb", View(max_side)), wanted)
    assert len(decoded) == (1 if side < 128 else 2 if side < 192 else 3)


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
    views = [View(), *View().others(ALL)]
    made = [view.of(image) for view in views]
    assert len({pixels.tobytes() for pixels in made}) == 8
    assert all(pixels.flags.c_contiguous for pixels in made)
    np.testing.assert_array_equal(View(turn=1).of(image), np.rot90(image))
    np.testing.assert_array_equal(View(turn=4).of(image), np.fliplr(image))


def test_a_recipe_with_sides_and_views_is_the_same_in_all_its_forms():
    recipe = replace(RECIPES["fast"], min_side=96, views=ALL)
    assert Recipe.from_toml(recipe.to_toml()) == recipe
    assert Recipe.from_json(recipe.to_json()) == recipe
    assert change_recipe(RECIPES["fast"], min_side=96, views=ALL) == recipe
    assert change_recipe(recipe, views="none").views == ()
    assert not {"min_side", "views"} & RECIPES["fast"].to_json().keys()  # as in older files


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('views = "flip"', 'must be "mirror", "rotations"'),
        ("views = 3", 'must be "mirror"'),
        ("min_side = 0", "min_side = 0 must be a whole number"),
        ("min_side = 800", "at most max_side = 640"),
    ],
)
def test_wrong_sides_and_views_are_one_sentence(text, complaint):
    with pytest.raises(RecipeError, match=complaint):
        Recipe.from_toml(f'{text}\n[[channels]]\nextractor = "HOG"\n')


def test_views_stay_in_the_fold_of_their_original_and_figures_are_those_of_originals(
    leaning, monkeypatch
):
    data, seen = Dataset.of(*leaning), []
    original = training.fit_and_hold_out

    def noted(classifier, X, y, folds):
        scores = original(classifier, X, y, folds)
        seen.append((X, y, folds, scores))
        return scores

    monkeypatch.setattr(training, "fit_and_hold_out", noted)
    recipe = replace(RECIPES["shape"], views=("mirror",))
    trained = Training(data, 0, Environment()).train(recipe)
    ((X, y, folds, scores),) = seen
    assert X.shape[0] == 2 * len(data)
    np.testing.assert_array_equal(y, [*data.labels] * 2)
    np.testing.assert_array_equal(folds[: len(data)], folds[len(data) :])
    np.testing.assert_array_equal(trained.held_out, scores[: len(data)])
    assert len(trained.held_out_labels) == len(trained.kept) == len(data)
    mirrored = ImageClassifier(RECIPES["shape"]).fit(*leaning)
    flipped = np.stack([mirrored.transform([image[:, ::-1]])[0] for image in leaning[0]])
    encoder = mirrored.encoders_[0]
    np.testing.assert_allclose(
        X[len(data) :] * trained.encoders[0].scale, flipped * encoder.scale, rtol=1e-5
    )


def test_what_a_copy_contradicts_is_not_learned(leaning):
    plain = ImageClassifier("shape").fit(*leaning)
    mirrored = ImageClassifier("shape", views="mirror").fit(*leaning)
    assert plain.cross_validated_ == 1.0
    assert mirrored.cross_validated_ < 0.8


@pytest.mark.parametrize("name", ["tiny", "fast", "photo"])
def test_evidence_still_sums_to_the_scores(leaning, name):
    images = [np.repeat(image[:, :, None], 3, axis=2) for image in leaning[0]]
    model = ImageClassifier(name, min_side=72, views=ALL).fit(images, leaning[1])
    explanation = model.explain(images[0])
    scores = model.decision_function(images[:1])
    sums = explanation.heat_map("rises").sum() + explanation.offsets[1]
    assert sums == pytest.approx(scores[0], abs=1e-5)


def test_models_keep_sides_and_views(leaning, tmp_path):
    model = ImageClassifier("tiny", min_side=60, views="mirror").fit(*leaning)
    model.save(tmp_path / "m.vw")
    again = load(tmp_path / "m.vw")
    assert (again.recipe_.min_side, again.recipe_.views) == (60, ("mirror",))
    np.testing.assert_array_equal(
        again.decision_function(leaning[0]), model.decision_function(leaning[0])
    )


def test_views_are_encoded_once(tmp_path, rng, monkeypatch):
    paths = [write_png(tmp_path / f"{i}.png", noisy(COLORS["sea"], rng)) for i in range(6)]
    data = Dataset.of(paths, ["a", "b"] * 3)
    env = Environment(open_cache(tmp_path / "cache"))
    recipe = replace(RECIPES["color"], views=ALL)
    first = EncodedChannels(data, 0, env)
    rows = first.rows(recipe, first.learn(recipe))
    monkeypatch.setattr(View, "of", lambda self, pixels: pytest.fail("looked at again"))
    monkeypatch.setattr("visualwords.apps.pipeline.encoding.kind_of_encoded", lambda *_: None)
    second = EncodedChannels(data, 0, env)
    np.testing.assert_array_equal(second.rows(recipe, second.learn(recipe)), rows)


def test_the_command_asks_for_sides_and_views(photos, tmp_path, capsys):
    target = str(tmp_path / "m.vw")
    flags = ["--recipe", "color", "--min-side", "80", "--views", "all"]
    assert main(["train", str(photos), "-o", target, *flags]) == 0
    recipe = load(target).recipe_
    assert (recipe.min_side, recipe.views) == (80, ALL)
