"""DenseFilters against its definition, and its promises."""

import cv2
import numpy as np
import pytest

from tests.reference.filters import cosines, descriptor, responses
from visualwords.features import DenseFilters
from visualwords.features.pixels import color_planes

ROUNDED = np.rint(64 * cosines()) / 64


@pytest.mark.parametrize(("order", "signs", "step"), [(4, False, 8), (3, True, 5), (1, False, 6)])
def test_descriptors_match_the_definition(photo, order, signs, step):
    grey = np.ascontiguousarray(photo[60:135, 200:299, 1])
    found = DenseFilters(4, step, order=order, signs=signs).extract(grey)
    assert found.descriptors.dtype == np.uint8
    places = [(x, y) for y in range(0, 60, step) for x in range(0, 84, step)]
    for basis, tolerance in ((ROUNDED, 0.7), (cosines(), 4.5)):
        maps = responses(grey, order, signs, basis)
        expected = [descriptor(maps, x, y) for x, y in places]
        np.testing.assert_allclose(found.descriptors, expected, atol=tolerance)


def test_planes_of_a_colour_image_share_one_length(photo):
    small = photo[60:92, 200:240]
    found = DenseFilters(order=2, signs=False, color="opponent").extract(small).descriptors
    maps = [responses(plane, 2, basis=ROUNDED) for plane in color_planes(small, "opponent")]
    expected = descriptor(np.concatenate(maps, axis=2), 8, 0)
    np.testing.assert_allclose(found[1], expected, atol=0.7)


def test_larger_cells_see_a_smaller_image_and_scales_follow_each_other(photo):
    grey = np.ascontiguousarray(photo[:96, :144, 0])
    small = cv2.resize(grey, (72, 48), interpolation=cv2.INTER_AREA)
    large, fine = DenseFilters(8, 16).extract(grey), DenseFilters(4, 8).extract(small)
    np.testing.assert_array_equal(large.descriptors, fine.descriptors)
    np.testing.assert_array_equal(large.positions, fine.positions)
    assert set(large.sizes.tolist()) == {32.0}
    both = DenseFilters((4, 8), 16).extract(grey)
    np.testing.assert_array_equal(both.descriptors[-len(large) :], large.descriptors)
    assert len(DenseFilters((4, 8)).extract(grey[:20, :40])) == 4  # none of the second scale


def test_inverted_images_differ_only_with_signs(photo):
    grey = np.ascontiguousarray(photo[:40, :40, 0])
    plain, signed = DenseFilters(signs=False), DenseFilters()
    found = plain.extract(grey).descriptors.astype(int)
    assert np.abs(found - plain.extract(255 - grey).descriptors).max() <= 1
    found = signed.extract(grey).descriptors.reshape(-1, 16, 2, 9).astype(int)
    swapped = signed.extract(255 - grey).descriptors.reshape(-1, 16, 2, 9)[:, :, ::-1]
    assert np.abs(found - swapped).max() <= 1
    assert np.abs(found - found[:, :, ::-1]).max() > 50


def test_brightness_does_not_count_and_the_strongest_patterns_fit_the_sums(photo):
    grey = np.ascontiguousarray(photo[:40, 60:100, 0] // 4 + 20)
    found, brighter = (DenseFilters().extract(one) for one in (grey, grey + np.uint8(90)))
    np.testing.assert_array_equal(found.descriptors, brighter.descriptors)
    assert (DenseFilters().extract(np.full((20, 20), 200, np.uint8)).descriptors == 0).all()
    board = np.zeros((40, 40), np.uint8)
    board[::2, ::2] = board[1::2, 1::2] = 255
    stripes = np.repeat(np.arange(40) // 3 % 2 * 255, 40).reshape(40, 40).astype(np.uint8)
    for image in (board, stripes):
        maps = responses(image, 4, True, ROUNDED)
        found = DenseFilters(order=4).extract(image).descriptors
        np.testing.assert_allclose(found[5], descriptor(maps, 8, 8), atol=0.7)
