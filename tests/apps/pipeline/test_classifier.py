"""The whole path from folders of images to labels, as an estimator."""

import shutil

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from tests.apps.conftest import COLORS, noisy
from visualwords import ImageClassifier
from visualwords.apps.pipeline import fitted_classifier
from visualwords.apps.pipeline.predictions import label_images
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.errors import FolderError, ImageError
from visualwords.folders import ImageFolder


def test_many_images_are_decided_in_parts(photos, monkeypatch):
    model = ImageClassifier("fast").fit(photos)
    (photos / "sand" / "broken.png").write_bytes(b"no image")
    paths = ImageFolder(photos).paths
    whole, skipped = label_images(model, paths, top=2)
    assert [one.source for one in skipped] == [str(photos / "sand" / "broken.png")]
    monkeypatch.setattr(fitted_classifier, "AT_ONCE", 5)
    parts, again = label_images(model, paths, top=2)
    assert parts == whole
    assert again == skipped
    assert [one.path for one in whole] == [p for p in paths if "broken" not in p]
    assert [len(one.scores) for one in whole] == [2] * 24
    unsure, _ = label_images(model, paths, min_confidence=1.0)
    assert {one.label for one in unsure} == {"unknown"}


def test_unreadable_images_are_left_out_of_training_and_refused_in_prediction(photos, tmp_path):
    (photos / "sea" / "broken.png").write_bytes(b"no image")
    with pytest.warns(UserWarning, match=r"1 of 25 images were left out.*broken\.png"):
        model = ImageClassifier("tiny").fit(photos)
    assert [one.reason for one in model.skipped_] == [model.skipped_[0].reason]
    assert "not an image" in model.skipped_[0].reason
    (tmp_path / "x.jpg").write_bytes(b"")
    with pytest.raises(ImageError, match=r"x\.jpg: the file is empty"):
        model.predict([tmp_path / "x.jpg"])


def test_one_class_is_refused_with_a_sentence(photos):
    for path in (photos / "wood").iterdir():
        path.write_bytes(b"no image")
    model = ImageClassifier("tiny").fit(photos, warn=False)
    assert model.classes_.tolist() == ["sand", "sea"]  # no image of the third can be read
    for path in (photos / "sand").iterdir():
        path.write_bytes(b"no image")
    with pytest.raises(FolderError, match="found only class 'sea'; at least two classes"):
        ImageClassifier("tiny").fit(photos)
    for name in "sand", "wood":
        shutil.rmtree(photos / name)
    with pytest.raises(FolderError, match="found only class 'sea'; at least two classes"):
        ImageClassifier("auto").fit(photos)


def test_given_splits_are_respected(photos, tmp_path):
    root = tmp_path / "divided"
    for path in photos.rglob("*.png"):
        part = "test" if path.stem in "01" else "train"
        target = root / part / path.parent.name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    model = ImageClassifier("tiny").fit(root)
    assert model.class_counts_.tolist() == [6, 6, 6]
    assert model.score(root) == 1.0


def test_it_is_an_estimator_of_scikit_learn(photos, rng):
    images = [noisy(color, rng) for color in COLORS.values() for _ in range(4)]
    labels = [name for name in COLORS for _ in range(4)]
    model = ImageClassifier("tiny", random_state=3)
    assert clone(model).get_params() == model.get_params()
    rows = model.fit_transform(images, labels)
    np.testing.assert_array_equal(rows, model.transform(images))
    assert rows.shape == (12, len(model.get_feature_names_out()))
    assert cross_val_score(model, images, labels, cv=2).tolist() == [1.0, 1.0]
    groups = np.arange(12) // 2
    model.fit(images, labels, groups=groups, sample_weight=np.ones(12))
    assert model.held_out_.groups is not None
    grid = {"n_words": np.arange(5, 7), "C": np.logspace(-1, 0, 2)}
    search = GridSearchCV(ImageClassifier("fast"), grid, cv=2, error_score="raise")
    search.fit(images, labels)
    best = search.best_estimator_.recipe_
    assert best.channels[0].words.n_words in (5, 6)
    assert Recipe.from_toml(best.to_toml()) == best


def test_settings_of_a_recipe_can_be_changed(photos):
    model = ImageClassifier("words", n_words=15, pyramid=21, C=0.5, max_side=40).fit(photos)
    assert [c.words.n_words for c in model.recipe_.channels] == [15, 15]
    assert model.transform([np.zeros((48, 64), np.uint8)]).shape == (1, 2 * 15 * 21)
    assert model.classifier_.C == 0.5
    with pytest.raises(ValueError, match="no recipe 'colour'; choose from auto, tiny"):
        ImageClassifier("colour").fit(photos)


def test_probabilities_add_up_and_agree_with_the_labels(photos):
    model, folder = ImageClassifier("fast").fit(photos), ImageFolder(photos)
    p = model.predict_proba(folder)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (model.classes_[p.argmax(axis=1)] == np.array(folder.labels)).all()
    np.testing.assert_array_equal(p, model.probabilities(model.decision_function(folder)))
    assert model.held_out_.truth == folder.labels
    assert model.cross_validated_ == pytest.approx(
        np.mean(np.array(model.held_out_.guesses) == np.array(folder.labels))
    )


def test_probabilities_need_two_images_of_every_class(rng):
    images = [noisy(color, rng) for color in COLORS.values()]
    model = ImageClassifier("tiny", alarm="sea").fit(images, list(COLORS))
    with pytest.raises(ValueError, match="two training images of every class"):
        model.predict_proba(images)
    assert model.predict(images).tolist() == list(COLORS)
    assert model.cross_validated_ is None
    with pytest.raises(ValueError, match="no novelty detector"):
        model.novelty(images)


def test_an_extractor_of_a_fixed_size_takes_images_of_all_sizes(rng):
    images = [noisy(color, rng, (40 + 8 * i, 48)) for i, color in enumerate(COLORS.values())]
    model = ImageClassifier(Recipe.from_toml("[[channels]]\nextractor = 'HOG'"))
    model.fit(images, list(COLORS))
    assert model.predict(images).tolist() == list(COLORS)
    assert model.transform([images[0], np.zeros((1, 1), np.uint8)]).shape == (2, 15 * 15 * 36)
