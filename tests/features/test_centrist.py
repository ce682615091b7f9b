"""Centrist against its definition and its promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.reference.census import NEIGHBOURS, census_histogram, census_image
from visualwords.features import Centrist
from visualwords.features.extractor import as_grey
from visualwords.features.local_features import pyramid_windows, window_bounds
from visualwords.features.pixels import sobel_image

SMALL_IMAGES = st.tuples(st.integers(1, 20), st.integers(1, 20)).flatmap(
    lambda shape: arrays(np.uint8, shape, elements=st.integers(100, 108))
)


@settings(max_examples=40, deadline=None)
@given(SMALL_IMAGES, st.integers(3, 19), st.integers(1, 9))
def test_codes_counts_and_patches_match_the_definition(grey, patch_size, step):
    np.testing.assert_array_equal(Centrist().census(grey), census_image(grey))
    np.testing.assert_array_equal(Centrist().describe(grey), census_histogram(grey))
    found = Centrist(patch_size=patch_size, step=step).extract(grey)
    assert found.descriptors.dtype == (np.uint8 if patch_size < 18 else np.uint16)
    height, width = grey.shape
    tops, lefts = (range(0, n - patch_size + 1, step) for n in (height, width))
    corners = [(y, x) for y in tops for x in lefts]
    assert len(found) == len(corners)
    for (y, x), counts, position in zip(corners, found.descriptors, found.positions):
        patch = grey[y : y + patch_size, x : x + patch_size]
        np.testing.assert_array_equal(counts, census_histogram(patch))
        center = ((x + patch_size / 2) / width, (y + patch_size / 2) / height)
        np.testing.assert_allclose(position, center, rtol=1e-6)


def test_the_pedestrian_window_has_24_super_blocks_of_352_codes(photo):
    window = as_grey(photo)[50:158, 200:236]
    blocks = Centrist("pedestrian").describe(window).reshape(8, 3, 256)
    assert (blocks.sum(axis=2) == 352).all()
    for i, j in np.ndindex(8, 3):
        block = window[12 * i : 12 * i + 24, 9 * j : 9 * j + 18]
        np.testing.assert_array_equal(blocks[i, j], census_histogram(block))


def test_the_pyramid_counts_31_windows(photo):
    grey = as_grey(photo)[:90, :121]
    counts = Centrist("pyramid").describe(grey).reshape(31, 256)
    windows = np.vstack(pyramid_windows(31))
    for row, (x0, y0, x1, y1) in zip(counts, window_bounds(windows, 90, 121)):
        np.testing.assert_array_equal(row, census_histogram(grey[y0:y1, x0:x1]))


@pytest.mark.parametrize("layout", ["whole", "pyramid", "pedestrian"])
def test_brightness_and_contrast_change_nothing(photo, layout):
    grey = as_grey(photo)[:108, :36] // 4
    expected = Centrist(layout).describe(grey)
    bend = (2 * np.arange(64) + np.arange(64) ** 2 // 64).astype(np.uint8)
    for same in (grey + 100, 3 * grey, bend[grey]):
        np.testing.assert_array_equal(Centrist(layout).describe(same), expected)


@pytest.mark.parametrize(
    ("move", "turn"),
    [(np.fliplr, lambda dy, dx: (dy, -dx)), (np.rot90, lambda dy, dx: (-dx, dy))],
)
def test_mirroring_and_turning_only_renumber_codes(photo, move, turn):
    places = [NEIGHBOURS.index(turn(*n)) for n in NEIGHBOURS]
    codes = sum(((np.arange(256) >> (7 - i)) & 1) << (7 - place) for i, place in enumerate(places))
    moved = Centrist().describe(move(as_grey(photo)))
    np.testing.assert_array_equal(moved[codes], Centrist().describe(photo))


def test_the_sobel_image_is_the_magnitude_of_the_gradient(photo):
    grey = as_grey(photo)[:30, :40].copy()
    padded = np.pad(grey.astype(int), 1, mode="edge")
    gx, gy = np.zeros((2, 30, 40))
    for dy, dx in NEIGHBOURS:
        shifted = padded[1 + dy : 31 + dy, 1 + dx : 41 + dx]
        gx += dx * (2 - abs(dy)) * shifted
        gy += dy * (2 - abs(dx)) * shifted
    expected = np.minimum(np.hypot(gx, gy) / 4, 255)
    assert np.abs(sobel_image(grey) - expected).max() <= 0.5 + 1e-6
    counts = Centrist(sobel=True).describe(grey)
    np.testing.assert_array_equal(counts, census_histogram(sobel_image(grey)))
