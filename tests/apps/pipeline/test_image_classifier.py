"""The whole path from folders of images to labels."""

import os
import shutil

import cv2
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from tests.apps.conftest import COLORS, noisy, write_photos
from visualwords import ImageClassifier, load
from visualwords.apps.pipeline.channel import Channel
from visualwords.apps.pipeline.model_io import replay_golden
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import RECIPES
from visualwords.errors import FolderError, ImageError
from visualwords.features import ColorHistogram
from visualwords.folders import ImageFolder
from visualwords.images import read_image
from visualwords.model_file import read_model, write_model


def bytes_of(model, path):
    model.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("recipe", [*RECIPES, "auto"])
def test_separable_classes_are_learned_by_every_recipe(photos, recipe):
    train, test = ImageFolder(photos).split(0.25, seed=0)
    model = ImageClassifier(recipe).fit(train)
    assert model.classes_.tolist() == sorted(COLORS)
    assert model.score(test) == 1.0


def test_folder_paths_and_arrays_give_the_same_model(photos, tmp_path):
    folder = ImageFolder(photos)
    arrays = [read_image(path) for path in folder.paths]
    from_folder = ImageClassifier("color").fit(str(photos)).decision_function(folder)
    from_paths = ImageClassifier("color").fit(folder.paths, folder.labels)
    from_arrays = ImageClassifier("color").fit(arrays, folder.labels)
    np.testing.assert_array_equal(from_folder, from_paths.decision_function(folder.paths))
    np.testing.assert_array_equal(from_folder, from_arrays.decision_function(arrays))


def test_the_bytes_of_a_file_give_the_same_as_the_file(photos, tmp_path, rng):
    jpeg = tmp_path / "sea.jpg"
    pixels = noisy(COLORS["sea"], rng)
    jpeg.write_bytes(cv2.imencode(".jpg", pixels[:, :, ::-1])[1].tobytes())
    model = ImageClassifier("words").fit(photos)
    of_file, of_bytes = (model.explain(source) for source in (jpeg, jpeg.read_bytes()))
    np.testing.assert_array_equal(of_file.scores, of_bytes.scores)
    assert model.similar(jpeg) == model.similar(jpeg.read_bytes())
    np.testing.assert_array_equal(
        model.decision_function([jpeg]), model.decision_function([jpeg.read_bytes()])
    )


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """Give the model that one job makes of the photographs, without a cache."""
    return ImageClassifier("auto", n_jobs=1).fit(
        write_photos(tmp_path_factory.mktemp("a") / "photos")
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_after_reload_are_the_same_bit_for_bit(photos, tmp_path, chosen, n_classes):
    model = chosen
    if n_classes == 2:
        shutil.rmtree(photos / "wood")
        model = ImageClassifier(chosen.recipe_).fit(photos)
    model.save(tmp_path / "m.vw")
    restored = load(tmp_path / "m.vw")
    folder = ImageFolder(photos)
    np.testing.assert_array_equal(
        model.decision_function(folder), restored.decision_function(folder)
    )
    assert restored.predict(folder).tolist() == model.predict(folder).tolist()
    assert bytes_of(restored, tmp_path / "again.vw") == (tmp_path / "m.vw").read_bytes()


@pytest.fixture(scope="module")
def expected(chosen, tmp_path_factory):
    """Give the bytes of that model."""
    return bytes_of(chosen, tmp_path_factory.mktemp("expected") / "1.vw")


def test_model_bytes_depend_neither_on_jobs_nor_on_the_order_of_files(photos, expected, tmp_path):
    shuffled = tmp_path / "elsewhere" / "photos"  # a model keeps the name of its folder
    files = sorted(photos.rglob("*.png"), key=lambda p: hash(p.name))
    for path in reversed(files):
        target = shuffled / path.relative_to(photos)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    assert bytes_of(ImageClassifier("auto", n_jobs=3).fit(shuffled), tmp_path / "3.vw") == expected


def test_warm_and_cold_cache_give_the_same_model(photos, expected, tmp_path):
    cache = tmp_path / "cache"
    filling = bytes_of(ImageClassifier("auto", cache_dir=cache).fit(photos), tmp_path / "a.vw")
    n_entries = sum(len(files) for *_, files in os.walk(cache))
    warm = bytes_of(ImageClassifier("auto", cache_dir=cache).fit(photos), tmp_path / "b.vw")
    assert expected == filling == warm
    assert n_entries == sum(len(files) for *_, files in os.walk(cache)) > 0


def test_unreadable_training_images_are_left_out_and_listed(photos):
    (photos / "sea" / "broken.png").write_bytes(b"no image")
    with pytest.warns(UserWarning, match=r"1 of 25 images left out .*broken\.png"):
        model = ImageClassifier("color").fit(photos)
    (name, reason), *rest = model.skipped_
    assert name.endswith("broken.png")
    assert "not an image" in reason
    assert not rest


def test_an_unreadable_image_to_predict_is_an_error_that_names_it(photos, tmp_path):
    model = ImageClassifier("color").fit(photos)
    (tmp_path / "x.jpg").write_bytes(b"")
    with pytest.raises(ImageError, match=r"x\.jpg: the file is empty"):
        model.predict([tmp_path / "x.jpg"])


def test_one_class_is_refused_with_a_sentence(photos):
    for name in ("sand", "wood"):
        shutil.rmtree(photos / name)
    with pytest.raises(FolderError, match="only class 'sea'; at least two classes"):
        ImageClassifier("color").fit(photos)


def test_images_smaller_than_a_patch_leave_words_out_of_the_choice(rng):
    images = [noisy(color, rng, (10, 12)) for color in COLORS.values() for _ in range(4)]
    labels = [name for name in COLORS for _ in range(4)]
    model = ImageClassifier("auto", min_side=1).fit(images, labels)
    assert "words" not in model.tried_
    assert model.score(images, labels) == 1.0
    with pytest.raises(FolderError, match="no image has a patch for recipe 'words'"):
        ImageClassifier("words").fit(images, labels)


def test_images_smaller_than_a_patch_are_predicted_by_the_other_channels(rng):
    images = [noisy(color, rng, (8, 8)) for color in COLORS.values() for _ in range(4)]
    labels = [name for name in COLORS for _ in range(4)]
    model = ImageClassifier("photo", min_side=1).fit(images, labels)
    assert model.score(images, labels) == 1.0


def test_a_representation_limits_what_auto_tries(photos, tmp_path):
    model = ImageClassifier(representation="pyramid-match").fit(photos)
    assert all(name.startswith("pyramid-match") for name in model.tried_)
    model.save(tmp_path / "m.vw")
    folder = ImageFolder(photos)
    np.testing.assert_array_equal(
        load(tmp_path / "m.vw").decision_function(folder), model.decision_function(folder)
    )
    with pytest.raises(ValueError, match="no representation 'bag'; choose from fisher, histogram"):
        ImageClassifier(representation="bag").fit(photos)


def test_given_splits_are_respected(photos, tmp_path):
    root = tmp_path / "divided"
    for path in photos.rglob("*.png"):
        part = "test" if path.stem in "01" else "train"
        target = root / part / path.parent.name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    model = ImageClassifier("color").fit(root)
    assert model.class_counts_.tolist() == [6, 6, 6]
    assert model.score(root) == 1.0


def test_parameters_can_be_cloned_and_searched(photos, rng):
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(4)]
    labels = [name for name in COLORS for _ in range(4)]
    model = ImageClassifier("color", random_state=3)
    assert clone(model).get_params() == model.get_params()
    recipes = ["color", "words", "photo"]  # a kernel of counts, of words, and Fisher vectors
    search = GridSearchCV(model, {"recipe": recipes}, cv=2).fit(images, labels)
    assert search.best_score_ == 1.0


def test_a_recipe_of_ones_own_is_used_and_kept_in_the_file(photos, tmp_path):
    recipe = Recipe("mine", "hue", (Channel("ColorHistogram", {"bins": 8, "space": "hsv"}),))
    model = ImageClassifier(recipe).fit(photos)
    model.save(tmp_path / "m.vw")
    assert load(tmp_path / "m.vw").recipe_ == recipe


def test_an_unknown_recipe_is_refused_with_the_known_ones(photos):
    with pytest.raises(ValueError, match="no recipe 'colour'; choose from auto, color"):
        ImageClassifier("colour").fit(photos)


def test_images_and_labels_must_be_equally_many(photos):
    with pytest.raises(ValueError, match="24 images but 1 labels"):
        ImageClassifier("color").fit(ImageFolder(photos).paths, ["sea"])


def test_an_extractor_of_a_fixed_size_takes_images_of_all_sizes(rng, tmp_path):
    images = [noisy(color, rng, (40 + 8 * i, 48)) for i, color in enumerate(COLORS.values())]
    recipe = Recipe.from_toml("[[channels]]\nextractor = 'HOG'")
    model = ImageClassifier(recipe).fit(images, list(COLORS))
    assert model.predict(images).tolist() == list(COLORS)
    assert model.transform([images[0], np.zeros((1, 1), np.uint8)]).shape == (2, 15 * 15 * 36)
    model.save(tmp_path / "m.vw")
    loaded = load(tmp_path / "m.vw")
    np.testing.assert_array_equal(loaded.decision_function(images), model.decision_function(images))


def test_an_extractor_whose_rows_differ_in_length_is_refused_with_a_sentence(rng, monkeypatch):
    monkeypatch.setattr(ColorHistogram, "describe", lambda self, image: image.ravel())
    images = [noisy(color, rng, (40 + 8 * i, 48)) for i, color in enumerate(COLORS.values())]
    with pytest.raises(FolderError, match="bring all images to one size"):
        ImageClassifier("color").fit(images, list(COLORS))


def test_signed_numbers_keep_their_signs(photos, monkeypatch):
    def describe(self, image):
        means = image.mean(axis=(0, 1))
        return means - means.mean()

    monkeypatch.setattr(ColorHistogram, "describe", describe)
    model = ImageClassifier("color").fit(photos)
    assert (model.transform(ImageFolder(photos)) < 0).any()
    assert model.score(photos) == 1


def test_probabilities_add_up_and_agree_with_the_labels(photos, tmp_path):
    model = ImageClassifier("words").fit(photos)
    folder = ImageFolder(photos)
    p = model.predict_proba(folder)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (model.classes_[p.argmax(axis=1)] == np.array(folder.labels)).all()
    np.testing.assert_array_equal(p, model.probabilities(model.decision_function(folder)))
    model.save(tmp_path / "m.vw")
    np.testing.assert_array_equal(load(tmp_path / "m.vw").predict_proba(folder), p)


def test_probabilities_need_two_images_of_every_class(rng):
    images = [noisy(color, rng) for color in COLORS.values()]
    model = ImageClassifier("color").fit(images, list(COLORS))
    with pytest.raises(ValueError, match="two training images of every class"):
        model.predict_proba(images)


def test_settings_of_a_recipe_can_be_overridden_and_searched(photos):
    model = ImageClassifier("words", n_words=15, pyramid=21, C=0.5, max_side=40).fit(photos)
    assert [c.words.n_words for c in model.recipe_.channels] == [15, 15]
    assert model.transform([np.zeros((48, 64), np.uint8)]).shape == (1, 2 * 15 * 21)
    assert model.classifier_.C == 0.5
    assert clone(model).get_params()["n_words"] == 15
    folder = ImageFolder(photos)
    search = GridSearchCV(ImageClassifier("words"), {"n_words": [5, 10]}, cv=2)
    search.fit(folder.paths, folder.labels)
    assert search.best_estimator_.recipe_.channels[0].words.n_words in (5, 10)
    with pytest.raises(ValueError, match="recipe 'color' has no words; n_words can't be set"):
        ImageClassifier("color", n_words=5).fit(photos)


def test_golden_pairs_are_replayed(photos, tmp_path):
    path = tmp_path / "m.vw"
    ImageClassifier("words").fit(photos).save(path)
    replay = replay_golden(path)
    assert replay.agrees
    assert replay.largest_difference == 0
    manifest, arrays = read_model(path)
    arrays["golden/decisions"] = arrays["golden/decisions"] + 0.01
    del manifest["arrays"]
    write_model(path, manifest, arrays)
    assert not replay_golden(path).agrees
