"""KeypointSIFT against OpenCV and its promises."""

import cv2
import numpy as np
import pytest

from visualwords.features import KeypointSIFT
from visualwords.features.extractor import as_grey


def test_keypoints_and_descriptors_are_those_of_opencv(photo):
    grey = as_grey(photo)
    points, expected = cv2.SIFT_create().detectAndCompute(grey, None)
    found = KeypointSIFT().extract(photo)
    assert found.descriptors.dtype == np.uint8
    np.testing.assert_array_equal(found.descriptors, expected)
    at = found.positions * (grey.shape[1], grey.shape[0]) - 0.5
    np.testing.assert_allclose(at, [p.pt for p in points], atol=1e-3)
    np.testing.assert_allclose(found.sizes, [6 * p.size for p in points], rtol=1e-6)
    assert len(KeypointSIFT(50).extract(photo)) in (50, 51)  # one point may have two orientations
    assert len(KeypointSIFT(threshold=0.1).extract(photo)) < len(found)


def test_harris_finds_the_corners_of_a_box():
    image = np.zeros((80, 100), np.uint8)
    image[20:50, 30:70] = 220
    found = KeypointSIFT(detector="harris").extract(image)
    at = (found.positions * (100, 80) - 0.5).round().astype(int)
    corners = np.array([(30, 20), (69, 20), (30, 49), (69, 49)])
    nearest = np.abs(at[:, None] - corners).sum(axis=2)
    assert nearest.shape == (4, 4)
    assert (nearest.min(axis=0) <= 2).all()
    assert (found.sizes == 16).all()


def test_harris_corners_come_strongest_first_and_turn_with_the_image(photo):
    many = KeypointSIFT(detector="harris").extract(photo)
    few = KeypointSIFT(40, detector="harris").extract(photo)
    np.testing.assert_array_equal(few.descriptors, many.descriptors[:40])
    assert len(KeypointSIFT(detector="harris", threshold=0.5).extract(photo)) < len(many)
    turned = KeypointSIFT(detector="harris").extract(np.rot90(photo)).positions
    expected = {(round(float(y), 4), round(1 - float(x), 4)) for x, y in many.positions}
    found = {(round(float(x), 4), round(float(y), 4)) for x, y in turned}
    assert len(found & expected) > 0.95 * len(expected)


@pytest.mark.parametrize("detector", ["sift", "harris"])
def test_threads_of_opencv_change_nothing(photo, detector):
    before = cv2.getNumThreads()
    try:
        results = []
        for threads in (1, 4):
            cv2.setNumThreads(threads)
            results.append(KeypointSIFT(detector=detector).extract(photo))
    finally:
        cv2.setNumThreads(before)
    np.testing.assert_array_equal(results[1].descriptors, results[0].descriptors)
    np.testing.assert_array_equal(results[1].positions, results[0].positions)


@pytest.mark.parametrize("root", [False, True])
def test_float_descriptors_have_length_one(photo, root):
    found = KeypointSIFT(dtype="float32", root=root).extract(photo)
    np.testing.assert_allclose(np.linalg.norm(found.descriptors, axis=1), 1, rtol=1e-5)
    as_bytes = KeypointSIFT(root=root).extract(photo).descriptors
    limit = 1.5 if root else 3  # OpenCV's bytes are rounded, and not exactly of length 512
    assert np.abs(as_bytes - np.minimum(512 * found.descriptors, 255)).max() <= limit
