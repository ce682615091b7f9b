"""ColorStatistics against its definition, and its promises."""

import cv2
import numpy as np
import pytest

from visualwords.features import ColorStatistics


def cells_of(patch, bin_size):
    """Means and twice the standard deviations of 4 × 4 cells, by NumPy."""
    cells = patch.reshape(4, bin_size, 4, bin_size, 3).astype(float)
    return np.concatenate([cells.mean(axis=(1, 3)), 2 * cells.std(axis=(1, 3))], axis=2).ravel()


@pytest.mark.parametrize("space", ["rgb", "lab"])
def test_descriptors_match_the_definition(photo, space):
    found = ColorStatistics((3, 7), 13, space).extract(photo)
    pixels = photo if space == "rgb" else cv2.cvtColor(photo, cv2.COLOR_RGB2Lab)
    assert found.descriptors.dtype == np.uint8
    height, width = photo.shape[:2]
    for i in (0, 5, len(found) // 2, len(found) - 1):
        side = int(found.sizes[i])
        x, y = np.rint(found.positions[i] * (width, height) - side / 2).astype(int)
        expected = cells_of(pixels[y : y + side, x : x + side], side // 4)
        np.testing.assert_allclose(found.descriptors[i], expected, atol=0.5 + 1e-9)


def test_sums_that_wrap_around_are_right():
    white = np.full((300, 400, 3), 255, np.uint8)  # 7.8e9 is the sum of squares
    found = ColorStatistics((4, 70), 60, "rgb").extract(white).descriptors.reshape(-1, 16, 6)
    assert (found[:, :, :3] == 255).all()
    assert (found[:, :, 3:] == 0).all()


def test_half_black_cells_have_the_largest_spread():
    image = np.zeros((16, 16, 3), np.uint8)
    image[:, ::2] = 255
    numbers = ColorStatistics(space="rgb").extract(image).descriptors.reshape(16, 6)
    assert (numbers[:, :3] == 128).all()
    assert (numbers[:, 3:] == 255).all()


def test_patches_lie_inside_the_image_row_by_row():
    found = ColorStatistics(2, 4).extract(np.zeros((13, 18, 3), np.uint8))
    places = np.rint(found.positions * (18, 13)).astype(int).tolist()
    assert places == [[4, 4], [8, 4], [12, 4], [4, 8], [8, 8], [12, 8]]


def test_an_image_smaller_than_a_patch_has_none():
    assert ColorStatistics().extract(np.zeros((15, 40, 3), np.uint8)).descriptors.shape == (0, 96)


def test_the_picture_has_cells_of_one_color(photo):
    picture = ColorStatistics(10).visualize(photo[:40, :60])
    assert picture.shape == (40, 60, 3)
    assert (picture[:10, :10] == picture[0, 0]).all()


def test_columns_are_named():
    names = ColorStatistics().get_feature_names_out()
    assert len(names) == 96
    assert (names[0], names[-1]) == ("cell0.0_mean_lightness", "cell3.3_spread_b")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bin_size": 0}, "bin_size=0"),
        ({"bin_size": []}, "one or several"),
        ({"bin_size": 101}, "1 to 100"),
        ({"step": 0}, "step=0"),
        ({"space": "hsv"}, "lab or rgb"),
    ],
)
def test_wrong_parameters_are_named(photo, settings, message):
    with pytest.raises(ValueError, match=message):
        ColorStatistics(**settings).fit([photo])
