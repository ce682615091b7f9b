"""Similar training images, and what a model file keeps of them."""

import cv2
import numpy as np
import pytest
from scipy import sparse

from tests.apps.conftest import COLORS, noisy
from visualwords import ImageClassifier
from visualwords.apps.pipeline.similarity import Gallery, Signer, held_out_distances, sketch_rows
from visualwords.folders import ImageFolder


def test_a_training_image_is_most_similar_to_itself_and_a_new_one_to_its_kind(photos, rng):
    model, folder = ImageClassifier("fast").fit(photos), ImageFolder(photos)
    for answers, path, label in zip(model.similar(folder, 3), folder.paths, folder.labels):
        (name, of, similarity), *others = answers
        assert path.endswith(name)
        assert of == label
        assert similarity == pytest.approx(1, abs=1e-3)
        assert all(other[2] <= similarity for other in others)
        assert len(others) == 2
    for label, color in COLORS.items():
        assert {of for _, of, _ in model.similar(noisy(color, rng), k=4)} == {label}
    model = ImageClassifier("tiny", keep_training=False).fit(photos)
    with pytest.raises(ValueError, match="train with keep_training=True"):
        model.similar(folder.paths[0])


def test_sketches_keep_the_products_of_rows(rng):
    rows = rng.normal(size=(20, 50_000)).astype(np.float32)
    rows[10:] = 0.7 * rows[:10] + 0.3 * rows[10:]
    rows = np.rint(30 * rows).clip(-127, 127).astype(np.int8)
    exact = rows.astype(float) @ rows.T
    sketched = sketch_rows(rows)
    lengths = np.sqrt(np.outer(exact.diagonal(), exact.diagonal()))
    assert np.abs((sketched @ sketched.T - exact) / lengths).max() < 0.08


def test_signatures_order_rows_as_their_cosines_do(rng):
    directions = rng.normal(size=(5, 900))
    rows = rng.normal(size=(60, 5)) @ directions
    rows = np.rint(30 * rows / np.abs(rows).std()).clip(-127, 127).astype(np.int8)
    sketch = sketch_rows(rows)
    signer = Signer.fit(sketch)
    ours = signer.transform(rows).astype(float)
    np.testing.assert_array_equal(ours, signer.sign(sketch)[0])
    centered = rows - rows.mean(axis=0)
    centered /= np.linalg.norm(centered, axis=1, keepdims=True)
    ours /= np.linalg.norm(ours, axis=1, keepdims=True)
    assert np.abs(ours @ ours.T - centered @ centered.T).max() < 0.05
    assert signer.distances(sketch, *signer.sign(sketch)).max() < 0.3 * np.linalg.norm(sketch)


def test_a_sketch_does_not_depend_on_the_other_rows(rng):
    """An image without patches has no negative number; alone it is what it is among others."""
    for rows in (rng.integers(-9, 9, (5, 40)).astype(np.int8), rng.normal(size=(5, 40))):
        rows[2] = np.abs(rows[2])
        np.testing.assert_array_equal(sketch_rows(rows)[2:3], sketch_rows(rows[2:3]))
        np.testing.assert_array_equal(
            sketch_rows(sparse.csr_matrix(rows.astype(float))), sketch_rows(rows.astype(float))
        )


def test_distances_are_those_to_the_nearest_row_of_another_fold(rng):
    sketch = rng.normal(size=(40, 4096)).astype(np.float32)
    folds = np.arange(40) % 4
    found = held_out_distances(sketch, folds)
    for i in (0, 7, 23):
        others = sketch[folds != folds[i]]
        nearest = np.linalg.norm(others - sketch[i], axis=1).min()
        assert found[i] == pytest.approx(nearest, rel=0.05)


def test_forged_galleries_are_refused(photos):
    gallery = ImageClassifier("tiny", thumbnails=True).fit(photos).gallery_
    state = gallery.get_state()
    restored = Gallery.from_state(state, gallery.labels)
    assert restored.names == gallery.names
    assert restored.thumbnails == gallery.thumbnails
    picture = np.frombuffer(restored.thumbnails[5], np.uint8)
    assert cv2.imdecode(picture, cv2.IMREAD_COLOR).shape == (48, 64, 3)
    for wrong in ({"names": state["names"][:3]}, {"lengths": -state["lengths"]}):
        with pytest.raises(ValueError, match="the gallery's names"):
            Gallery.from_state({**state, **wrong}, gallery.labels)
    with pytest.raises(ValueError, match="the gallery's names"):
        Gallery.from_state(state, gallery.labels[:-1])
