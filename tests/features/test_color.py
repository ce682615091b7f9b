"""ColorHistogram and ColorStatistics against their definitions and OpenCV."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.reference.colors import color_histogram
from visualwords.features import ColorHistogram, ColorStatistics

SMALL_IMAGES = st.tuples(st.integers(1, 12), st.integers(1, 12)).flatmap(
    lambda shape: arrays(np.uint8, (*shape, 3))
)


@settings(max_examples=60, deadline=None)
@given(SMALL_IMAGES, st.tuples(*[st.integers(1, 9)] * 3), st.tuples(*[st.integers(1, 4)] * 2))
def test_counts_match_the_definition_and_windows_share_all_pixels(image, bins, grid):
    counts = ColorHistogram(bins).describe(image)
    np.testing.assert_array_equal(counts, color_histogram(image, bins))
    divided = ColorHistogram(bins, windows=grid).describe(image).reshape(grid[0] * grid[1], -1)
    np.testing.assert_array_equal(divided.sum(axis=0), counts)


@pytest.mark.parametrize("bins", [(4, 4, 4), (256, 1, 3), (7, 30, 16)])
@pytest.mark.parametrize(
    ("space", "code"), [("rgb", None), ("hsv", cv2.COLOR_RGB2HSV_FULL), ("lab", cv2.COLOR_RGB2Lab)]
)
def test_counts_equal_those_of_opencv(photo, bins, space, code):
    converted = photo if code is None else cv2.cvtColor(photo, code)
    expected = cv2.calcHist([converted], [0, 1, 2], None, list(bins), [0, 256] * 3)
    counts = ColorHistogram(bins, space).describe(photo)
    assert counts.dtype == np.uint32
    np.testing.assert_array_equal(counts, expected.ravel().astype(np.uint32))


def test_given_windows_count_the_pixels_inside(photo):
    windows = [[0, 0, 1, 1], [0.25, 0.5, 0.75, 1.0]]
    counts = ColorHistogram(5, windows=windows).describe(photo).reshape(2, 125)
    np.testing.assert_array_equal(counts[0], ColorHistogram(5).describe(photo))
    inside = photo[150:300, 113:338]  # 451 columns: 112.75 and 338.25 go to the nearest edge
    np.testing.assert_array_equal(counts[1], ColorHistogram(5).describe(inside))


def test_patches_are_counted_one_by_one(photo):
    found = ColorHistogram((2, 3, 4), patch_size=20, step=13).extract(photo)
    assert found.descriptors.dtype == np.uint16
    assert (found.sizes == 20).all()
    for i in (0, 40, len(found) - 1):
        x, y = np.rint(found.positions[i] * (451, 300) - 10).astype(int)
        patch = photo[y : y + 20, x : x + 20]
        np.testing.assert_array_equal(found.descriptors[i], color_histogram(patch, (2, 3, 4)))


def test_grey_levels_count_as_equal_channels_and_turning_changes_nothing(photo):
    grey = photo[..., 1]
    expected = ColorHistogram(4).describe(np.dstack([grey] * 3))
    for same in (grey, grey[:, ::-1], np.rot90(grey)):
        np.testing.assert_array_equal(ColorHistogram(4).describe(same), expected)


def test_the_name_of_a_column_says_what_it_counts():
    extractor = ColorHistogram((2, 1, 3), windows=2)
    image = np.zeros((8, 8, 3), np.uint8)
    image[:4, :3, 0] = 255
    counts = dict(zip(extractor.get_feature_names_out(), extractor.describe(image)))
    assert counts["window0_red1_green0_blue0"] == 12
    assert counts["window0_red0_green0_blue0"] == 4
    assert counts["window3_red0_green0_blue0"] == 16


@pytest.mark.parametrize("space", ["rgb", "lab"])
def test_statistics_match_the_definition(photo, space):
    found = ColorStatistics((3, 7), 13, space).extract(photo)
    pixels = photo if space == "rgb" else cv2.cvtColor(photo, cv2.COLOR_RGB2Lab)
    assert found.descriptors.dtype == np.uint8
    height, width = photo.shape[:2]
    for i in (0, 5, len(found) // 2, len(found) - 1):
        side = int(found.sizes[i])
        x, y = np.rint(found.positions[i] * (width, height) - side / 2).astype(int)
        cells = pixels[y : y + side, x : x + side].reshape(4, side // 4, 4, side // 4, 3)
        parts = cells.astype(float).mean(axis=(1, 3)), 2 * cells.astype(float).std(axis=(1, 3))
        expected = np.concatenate(parts, axis=2).ravel()
        np.testing.assert_allclose(found.descriptors[i], expected, atol=0.5 + 1e-9)


def test_sums_that_wrap_around_and_the_largest_spread_are_right():
    white = np.full((300, 400, 3), 255, np.uint8)  # 7.8e9 is the sum of squares
    found = ColorStatistics((4, 70), 60, "rgb").extract(white).descriptors.reshape(-1, 16, 6)
    assert (found[:, :, :3] == 255).all()
    assert (found[:, :, 3:] == 0).all()
    white[:, ::2] = 0
    found = ColorStatistics(4, 60, "rgb").extract(white).descriptors.reshape(-1, 16, 6)
    assert (found == [128, 128, 128, 255, 255, 255]).all()


def test_patches_lie_inside_the_image_row_by_row():
    found = ColorStatistics(2, 4).extract(np.zeros((13, 18, 3), np.uint8))
    places = np.rint(found.positions * (18, 13)).astype(int).tolist()
    assert places == [[4, 4], [8, 4], [12, 4], [4, 8], [8, 8], [12, 8]]
