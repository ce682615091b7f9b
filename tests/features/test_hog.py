"""HOG against skimage, its definition, OpenCV where it still has one, and its promises."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from skimage.feature import hog

from tests.reference.hog import interpolated_blocks
from visualwords.errors import ImageError
from visualwords.features import HOG
from visualwords.features.extractor import as_grey


def with_skimage(image, cell=8, size=2, n=9):
    axis = -1 if image.ndim == 3 else None
    return hog(image, n, (cell, cell), (size, size), "L2-Hys", channel_axis=axis)


@settings(max_examples=30, deadline=None)
@given(
    st.tuples(st.integers(4, 30), st.integers(4, 30), st.sampled_from([(), (3,)])).flatmap(
        lambda s: arrays(np.uint8, (s[0], s[1], *s[2]), fill=st.just(90))
    ),
    st.integers(2, 7),
    st.integers(1, 3),
    st.integers(1, 20),
)
def test_the_counted_form_equals_skimage(image, cell, size, n):
    if min(image.shape[:2]) >= cell * size:
        expected = with_skimage(image, cell, size, n)
        np.testing.assert_allclose(HOG(cell, size, n).describe(image), expected, atol=1e-6)


@pytest.mark.parametrize("n", [8, 9, 12])
def test_every_gradient_gets_the_angle_that_skimage_gives_it(n):
    # all differences −255..255 in both directions, each in the middle of a cell of its own
    d = np.arange(-255, 256, 3)
    dy, dx = np.meshgrid(d, d, indexing="ij")
    image = np.zeros((3 * len(d), 3 * len(d)), np.uint8)
    image[1::3, 2::3], image[1::3, 0::3] = np.maximum(dx, 0), np.maximum(-dx, 0)
    image[2::3, 1::3], image[0::3, 1::3] = np.maximum(dy, 0), np.maximum(-dy, 0)
    expected = with_skimage(image, 3, 1, n)
    np.testing.assert_allclose(HOG(3, 1, n).describe(image), expected, atol=1e-6)


@pytest.mark.parametrize(("cell", "size", "n"), [(8, 2, 9), (6, 3, 5), (4, 1, 12), (5, 2, 18)])
def test_the_interpolated_form_matches_the_definition(photo, cell, size, n):
    image = photo[100:131, 200:235]
    planes = np.moveaxis(image, 2, 0).astype(float)
    expected = interpolated_blocks(planes, cell, size, n)
    found = HOG(cell, size, n, interpolated=True).blocks(image)
    np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.skipif(not hasattr(cv2, "HOGDescriptor"), reason="OpenCV 5 has no HOGDescriptor")
def test_the_interpolated_form_equals_opencv(photo):
    image = np.ascontiguousarray(as_grey(photo)[:296, :448])
    theirs = cv2.HOGDescriptor((448, 296), (16, 16), (8, 8), (8, 8), 9).compute(image)
    theirs = theirs.reshape(55, 36, 2, 2, 9).transpose(1, 0, 3, 2, 4)
    assert np.abs(HOG(interpolated=True).blocks(image) - theirs).max() < 2e-3


def test_brightness_changes_nothing_and_contrast_hardly(photo):
    grey = as_grey(photo) // 3
    expected = HOG().describe(grey)
    np.testing.assert_array_equal(HOG().describe(grey + 90), expected)
    np.testing.assert_allclose(HOG().describe(grey * 3), expected, atol=1e-4)


def test_mirroring_and_turning_only_reorder_the_angles():
    # An image whose inner differences are all odd, so that none lies on the border of angles.
    y, x = np.indices((48, 64)) // 2
    noise = np.random.default_rng(0).integers(0, 127, (48, 64))
    image = (2 * noise + (x + y) % 2).astype(np.uint8)
    blocks = HOG(block_size=1).blocks(image)[:, :, 0, 0]
    upside_down = HOG(block_size=1).blocks(image[::-1])[::-1, :, 0, 0, ::-1]
    np.testing.assert_allclose(upside_down[1:-1], blocks[1:-1], rtol=1e-5)
    even = HOG(block_size=1, n_orientations=8)
    turned = even.blocks(np.rot90(image))[:, :, 0, 0]
    expected = np.roll(np.rot90(even.blocks(image)[:, :, 0, 0]), 4, axis=2)
    np.testing.assert_allclose(turned[1:-1, 1:-1], expected[1:-1, 1:-1], rtol=1e-5)


def test_blocks_are_local_features_too(photo):
    found = HOG().extract(photo)
    np.testing.assert_array_equal(found.descriptors, HOG().blocks(photo).reshape(-1, 36))
    assert (found.sizes == 16).all()
    np.testing.assert_allclose(found.positions[1] * (451, 300), (16, 8), rtol=1e-5)


def test_color_images_use_the_strongest_channel_unless_told_otherwise(photo):
    expected = HOG().describe(as_grey(photo))
    assert np.abs(HOG().describe(photo) - expected).max() > 0.1
    np.testing.assert_array_equal(HOG(color="grey").describe(photo), expected)
    np.testing.assert_array_equal(HOG().describe(np.dstack([as_grey(photo)] * 3)), expected)


def test_an_image_smaller_than_a_block_is_refused_with_the_sizes():
    with pytest.raises(ImageError, match="image is 12x9, but HOG with 8x8 cells and 2x2 blocks"):
        HOG().describe(np.zeros((9, 12), np.uint8))
    assert len(HOG(interpolated=True).extract(np.zeros((1, 1), np.uint8))) == 0


def test_images_of_different_sizes_need_resizing(photo):
    images = [photo[:64, :64], photo[:80, :64]]
    with pytest.raises(ImageError, match="one size"):
        HOG().transform(images)
    extractor = HOG(resize_wh=(64, 32))
    assert extractor.transform(images).shape == (2, len(extractor.get_feature_names_out()))
    with pytest.raises(ValueError, match="resize_wh"):
        HOG().get_feature_names_out()
