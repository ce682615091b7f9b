"""The detector as people use it: learn, find, explain, keep in a file."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import visualwords
from tests.apps.detection.figures import crop, scene, train
from visualwords import PedestrianDetector
from visualwords.apps.detection import windows
from visualwords.apps.detection.detector_figures import match
from visualwords.apps.detection.drawing import demo_picture
from visualwords.errors import FolderError, ImageError, ModelFileError


def test_it_finds_figures_of_several_sizes_and_nothing_else(detector, street):
    image, boxes = street
    found, confidences = detector.detect(image)
    assert match(found, confidences, boxes).tolist() == [True, True]
    assert (confidences >= 0.5).all()
    assert (np.diff(confidences) <= 0).all()
    nothing, _ = detector.detect(scene(np.random.default_rng(11)))
    assert nothing.shape == (0, 4)
    left = int(boxes[:, 0].min()) + 4  # cut through an object: boxes stay inside the image
    found, _ = clone_fitted(detector, threshold=0.02).detect(image[:, left:])
    assert len(found)
    assert found.min() == 0
    assert (found <= 2 * [image.shape[1] - left, image.shape[0]]).all()
    grey = image[:, :, 1].copy()
    same = np.repeat(grey[:, :, None], 3, axis=2)
    np.testing.assert_allclose(detector.detect(grey)[0], detector.detect(same)[0])


def test_large_levels_are_searched_in_strips_with_the_same_result(detector, street, monkeypatch):
    whole = detector.detect(street[0])
    monkeypatch.setattr(windows, "STRIP_PIXELS", 40_000)
    strips = detector.detect(street[0])
    np.testing.assert_array_equal(strips[0], whole[0])
    np.testing.assert_array_equal(strips[1], whole[1])


def test_files_are_the_same_for_any_number_of_threads_and_detectors_from_them(
    detector, street, tmp_path
):
    detector.save(tmp_path / "one.vw")
    train(n_jobs=2).save(tmp_path / "two.vw")
    assert (tmp_path / "one.vw").read_bytes() == (tmp_path / "two.vw").read_bytes()
    again = visualwords.load(tmp_path / "two.vw")
    assert again.get_params() == detector.get_params()
    for one, other in zip(again.detect(street[0]), detector.detect(street[0])):
        np.testing.assert_array_equal(one, other)
    clone_fitted(detector, window=(64, 128)).save(tmp_path / "wrong.vw")
    with pytest.raises(ModelFileError, match="do not fit the window"):
        visualwords.load(tmp_path / "wrong.vw")


@pytest.mark.parametrize(
    "shape", [(0, 0, 3), (0, 5), (1, 1), (1, 5000, 3), (5000, 1), (20, 30, 3), (95, 47)]
)
def test_images_without_a_window_have_no_detection(detector, shape):
    boxes, confidences = detector.detect(np.zeros(shape, np.uint8))
    assert boxes.shape == (0, 4)
    assert confidences.shape == (0,)


@pytest.mark.parametrize("bad", [np.zeros((200, 200)), np.zeros((200, 200, 4), np.uint8)])
def test_arrays_that_are_no_images_are_refused(detector, bad):
    with pytest.raises(ImageError, match="an image is uint8"):
        detector.detect(bad)


def test_training_skips_what_it_cannot_read_and_names_what_it_lacks(rng, tmp_path):
    (tmp_path / "broken.png").write_bytes(b"no image")
    crops = [crop(rng) for _ in range(8)]
    photographs = [tmp_path / "broken.png", *[scene(rng, height=120, width=120) for _ in range(3)]]
    detector = PedestrianDetector(window=(48, 96), min_height=60, n_rounds=0, n_trees=32)
    fitted = clone(detector).fit(crops, photographs)
    assert [name for name, _ in fitted.skipped_] == [str(tmp_path / "broken.png")]
    with pytest.raises(FolderError, match="only 0 readable crops"):
        detector.fit([], photographs)
    with pytest.raises(FolderError, match="none of the photographs is as large as the window"):
        detector.fit(crops, [np.zeros((20, 20, 3), np.uint8)] * 4)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"threshold": 1.0}, "threshold=1.0"),
        ({"scale_factor": 1.0}, "from 1.01 to 100"),
        ({"padding": 0.5}, "a whole number from 0 to 1000"),
        ({"object_share": (0.5,)}, "two numbers from 0.01 to 1"),
        ({"stride": 5}, "from 8 to 10000"),
        ({"min_height": 0}, "min_height=0"),
        ({"stride": 12}, "a multiple of 8"),
        ({"label": " "}, "need a name"),
    ],
)
def test_wrong_parameters_are_named(detector, street, parameters, message):
    with pytest.raises(ValueError, match=message):
        clone_fitted(detector, **parameters).detect(street[0])


def clone_fitted(detector, **parameters):
    """The same detector with other parameters, leaving the first as it is."""
    other = clone(detector).set_params(**parameters)
    for name in ("model_", "confidence_", "box_scale_", "training_", "skipped_"):
        setattr(other, name, getattr(detector, name))
    return other


def test_the_first_detection_of_a_process_does_without_scikit_learn():
    """Importing it takes longer than all the rest."""
    code = (
        "import sys, numpy, visualwords\n"
        "visualwords.load('pedestrian').detect(numpy.zeros((160, 120, 3), numpy.uint8))\n"
        "print(*sorted({'sklearn', 'scipy.stats', 'joblib'} & set(sys.modules)))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == []


def test_parameters_follow_the_conventions_of_scikit_learn():
    detector = PedestrianDetector(stride=16, label="mug")
    assert repr(detector) == "PedestrianDetector(label='mug', stride=16)"
    assert clone(detector).get_params() == detector.get_params()
    with pytest.raises(ValueError, match="no parameter 'strides'; a detector has fusion, label"):
        detector.set_params(strides=8)
    with pytest.raises(NotFittedError, match="call fit"):
        detector.detect(np.zeros((160, 120), np.uint8))


def test_the_bundled_detector_asks_once_about_frames_with_blue_first():
    people, image = visualwords.load("pedestrian"), demo_picture()
    assert people.get_params() == PedestrianDetector.load().get_params()
    assert people.detect(np.full((240, 320, 3), 90, np.uint8))[0].shape == (0, 4)
    blue_first = np.ascontiguousarray(image[:, :, ::-1])
    boxes, _ = people.detect(image)  # red first: no warning
    assert len(boxes) == 3
    np.testing.assert_array_equal(people.detect(blue_first, order="bgr")[0], boxes)
    people.detect(blue_first, order="rgb")
    other = PedestrianDetector.load()
    with pytest.warns(UserWarning, match="order='bgr'"):
        other.detect(blue_first)
    other.detect(blue_first)
    with pytest.raises(ValueError, match="choose from rgb, bgr"):
        people.detect(image, order="grb")
