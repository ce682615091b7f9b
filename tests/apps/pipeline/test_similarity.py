"""Similar training images, and what a model file keeps of them."""

import cv2
import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy
from visualwords import ImageClassifier, load
from visualwords.apps.pipeline.similarity import Signer, sketch_rows
from visualwords.folders import ImageFolder


def test_a_training_image_is_most_similar_to_itself(photos):
    model = ImageClassifier("words").fit(photos)
    folder = ImageFolder(photos)
    for answers, path, label in zip(model.similar(folder, 3), folder.paths, folder.labels):
        (name, of, similarity), *others = answers
        assert path.endswith(name)
        assert of == label
        assert similarity == pytest.approx(1, abs=1e-3)
        assert all(other[2] <= similarity for other in others)
        assert len(others) == 2


def test_the_nearest_images_of_a_new_one_are_of_its_kind(photos, rng):
    model = ImageClassifier("tiny").fit(photos)
    for label, color in COLORS.items():
        answers = model.similar(noisy(color, rng), k=4)
        assert {of for _, of, _ in answers} == {label}


def test_model_files_keep_names_signatures_and_thumbnails(photos, tmp_path):
    model = ImageClassifier("color", thumbnails=True).fit(photos)
    model.save(tmp_path / "m.vw")
    restored = load(tmp_path / "m.vw")
    path = ImageFolder(photos).paths[5]
    assert restored.similar(path) == model.similar(path)
    picture = np.frombuffer(restored.gallery_.thumbnails[5], np.uint8)
    assert cv2.imdecode(picture, cv2.IMREAD_COLOR).shape == (48, 64, 3)


def test_training_images_can_be_forgotten(photos):
    model = ImageClassifier("color", keep_training=False).fit(photos)
    with pytest.raises(ValueError, match="train with keep_training=True"):
        model.similar(ImageFolder(photos).paths[0])


def test_sketches_keep_the_products_of_rows(rng):
    rows = rng.normal(size=(20, 50_000)).astype(np.float32)
    rows[10:] = 0.7 * rows[:10] + 0.3 * rows[10:]
    exact = rows @ rows.T
    sketched = sketch_rows(rows)
    lengths = np.sqrt(np.outer(exact.diagonal(), exact.diagonal()))
    assert np.abs((sketched @ sketched.T - exact) / lengths).max() < 0.08


def test_signatures_order_rows_as_their_cosines_do(rng):
    directions = rng.normal(size=(5, 900))
    rows = (rng.normal(size=(60, 5)) @ directions).astype(np.float32)
    signer = Signer()
    ours = signer.fit(sketch_rows(rows)).transform(rows).astype(float)
    np.testing.assert_array_equal(ours, signer.transform(rows))
    centered = rows - rows.mean(axis=0)
    centered /= np.linalg.norm(centered, axis=1, keepdims=True)
    ours /= np.linalg.norm(ours, axis=1, keepdims=True)
    assert np.abs(ours @ ours.T - centered @ centered.T).max() < 0.05
