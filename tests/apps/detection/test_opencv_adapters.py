"""Calls of OpenCV 4's detectors, and what they return."""

import cv2
import numpy as np
import pytest

from visualwords import ImageClassifier
from visualwords.apps.detection.opencv_adapters import (
    CascadeClassifier,
    HOGDescriptor,
    HOGDescriptor_getDefaultPeopleDetector,
)
from visualwords.errors import VisualWordsError


@pytest.fixture
def bgr(street):
    return np.ascontiguousarray(street[0][:, :, ::-1])


def test_hog_finds_what_the_detector_finds_as_rectangles_and_weights(detector, street, bgr):
    hog = HOGDescriptor()
    hog.setSVMDetector(detector)
    rectangles, weights = hog.detectMultiScale(bgr, scale=detector.scale_factor)
    boxes, _ = detector.detect(street[0])
    assert (rectangles.dtype, rectangles.shape) == (np.int32, (2, 4))
    assert (weights.dtype, weights.shape) == (np.float64, (2,))
    np.testing.assert_allclose(rectangles[:, :2], boxes[:, :2], atol=0.51)
    np.testing.assert_allclose(rectangles[:, :2] + rectangles[:, 2:], boxes[:, 2:], atol=0.51)
    assert (np.diff(weights) <= 0).all()
    assert (weights >= 0).all()  # 0 is the model's threshold
    between = float(weights.mean())
    assert len(hog.detectMultiScale(bgr, between, scale=detector.scale_factor)[0]) == 1


def test_the_parameters_of_a_call_do_not_stay(detector, bgr):
    before = detector.get_params()
    hog = HOGDescriptor((64, 128))
    hog.setSVMDetector(detector)
    hog.detectMultiScale(bgr, 0.5, (4, 4), (32, 32), 1.2, 2.0, False)
    assert detector.get_params() == before


def test_an_image_without_people_gives_empty_tuples():
    hog = HOGDescriptor()
    hog.setSVMDetector(HOGDescriptor_getDefaultPeopleDetector())
    hog.setSVMDetector(HOGDescriptor.getDefaultPeopleDetector())
    assert hog.detectMultiScale(np.zeros((240, 320), np.uint8)) == ((), ())


def test_a_cascade_takes_a_model_file_and_bounds_of_size(detector, bgr, tmp_path):
    detector.save(tmp_path / "figures.vw")
    cascade = CascadeClassifier(tmp_path / "figures.vw")
    assert not cascade.empty()
    found = cascade.detectMultiScale(bgr, 1.1, 3, minSize=(10, 60))
    assert (found.dtype, found.shape) == (np.int32, (2, 4))
    large = cascade.detectMultiScale(bgr, 1.1, minSize=(10, 100))
    small = cascade.detectMultiScale(bgr, scaleFactor=1.1, maxSize=(90, 90))
    assert len(large) == len(small) == 1
    rectangles, levels, weights = cascade.detectMultiScale3(bgr, outputRejectLevels=True)
    assert len(rectangles) == len(levels) == len(weights) == 2
    assert cascade.detectMultiScale2(bgr, 1.1)[1].tolist() == [1, 1]
    assert cascade.detectMultiScale(bgr, minSize=(500, 500)) == ()


def test_what_is_no_model_is_empty_or_said(detector, bgr, tmp_path):
    (tmp_path / "haar.xml").write_text("<opencv_storage/>")
    for cascade in (CascadeClassifier(), CascadeClassifier(tmp_path / "haar.xml")):
        assert cascade.empty()
        with pytest.raises(VisualWordsError, match="no model"):
            cascade.detectMultiScale(bgr)
    assert not CascadeClassifier().load(tmp_path / "absent.vw")
    with pytest.raises(VisualWordsError, match="call setSVMDetector"):
        HOGDescriptor().detectMultiScale(bgr)
    with pytest.raises(VisualWordsError, match="OpenCV's weights"):
        HOGDescriptor().setSVMDetector(np.zeros(3781))
    tiles = [np.full((16, 16, 3), 80 * k, np.uint8) for k in range(3)] * 2
    ImageClassifier("color").fit(tiles, [0, 1, 2] * 2).save(tmp_path / "colors.vw")
    assert not CascadeClassifier().load(tmp_path / "colors.vw")


@pytest.mark.skipif(not hasattr(cv2, "HOGDescriptor"), reason="OpenCV 5 has no HOGDescriptor")
def test_shapes_and_types_are_those_of_opencv_4(detector, bgr):
    theirs, ours = cv2.HOGDescriptor(), HOGDescriptor()
    theirs.setSVMDetector(cv2.HOGDescriptor_getDefaultPeopleDetector())
    ours.setSVMDetector(detector)
    found = theirs.detectMultiScale(bgr, hitThreshold=-2.0)
    for one, other in zip(found, ours.detectMultiScale(bgr)):
        assert (one.dtype, one.ndim) == (other.dtype, other.ndim)
    blank = np.zeros((200, 200), np.uint8)
    assert theirs.detectMultiScale(blank) == ours.detectMultiScale(blank)
