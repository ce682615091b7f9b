"""DenseSIFT against its definition, OpenCV, and its promises."""

from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.reference.sift import descriptor
from visualwords.features import DenseSIFT
from visualwords.features.extractor import as_grey
from visualwords.features.pixels import color_planes, sobel_image


def first_cells(found, shape, b):
    """X, y of the pixels in the middle of the patches' first cells."""
    return np.rint(found.positions * (shape[1], shape[0]) - 1.5 * b - 0.5).astype(int)


def turned(descriptors, quarter_turns=0, mirrored=False):
    """The descriptors of the mirrored, then counter-clockwise turned patches."""
    grid = descriptors.reshape(-1, 4, 4, 8)
    if mirrored:
        grid = grid[:, :, ::-1][..., (4 - np.arange(8)) % 8]
    grid = np.rot90(grid, quarter_turns, axes=(1, 2))
    return np.roll(grid, 2 * quarter_turns, axis=3).reshape(-1, 128)


@settings(max_examples=25, deadline=None)
@given(
    st.tuples(st.integers(8, 40), st.integers(8, 40)).flatmap(
        lambda shape: arrays(np.uint8, shape, elements=st.integers(0, 255), fill=st.just(60))
    ),
    st.integers(1, 6),
    st.integers(1, 12),
    st.booleans(),
)
def test_descriptors_match_the_definition(grey, b, step, root):
    found = DenseSIFT(b, step, root=root, dtype="float32").extract(grey)
    as_bytes = DenseSIFT(b, step, root=root).extract(grey)
    corners = first_cells(found, grey.shape, b)
    for i in {0, len(found) // 3, len(found) - 1} if len(found) else ():
        expected, contrast = descriptor(grey, *corners[i], b, root)
        if contrast > 0.5 or contrast == 0:
            atol = 0.01 if root else 0.001  # a square root makes much of the smallest numbers
            np.testing.assert_allclose(found.descriptors[i], expected, atol=atol)
            limit = np.minimum(expected * 512, 255)
            assert np.abs(as_bytes.descriptors[i] - limit).max() <= 0.5 + 512 * atol


@pytest.mark.parametrize("b", [4, 24])
def test_descriptors_of_a_photograph_match_the_definition(photo, b):
    grey = as_grey(photo)
    found = DenseSIFT(b, 37).extract(grey)
    corners = first_cells(found, grey.shape, b)
    for i in range(0, len(found), 1 + len(found) // 4):
        expected, contrast = descriptor(grey, *corners[i], b)
        assert contrast > 0.5
        assert np.abs(found.descriptors[i] - np.minimum(expected * 512, 255)).max() <= 1


@pytest.mark.parametrize("b", [4, 10])
def test_descriptors_agree_with_opencv(photo, b):
    grey = as_grey(photo)
    found = DenseSIFT(b, 8).extract(grey)
    points = [
        cv2.KeyPoint(float(x), float(y), 2 * b / 3, 0)
        for x, y in found.positions * (grey.shape[1], grey.shape[0]) - 0.5
    ]
    _, theirs = cv2.SIFT_create(sigma=0.5).compute(grey, points)  # 0.5: without smoothing
    ours = found.descriptors.astype(float)
    cosine = (ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    assert cosine.mean() > 0.997
    assert cosine.min() > 0.93


def test_scales_at_once_equal_scales_one_by_one(photo):
    for step in (4, 6, 15):
        together = DenseSIFT((3, 4, 10, 8), step).extract(photo)
        alone = [DenseSIFT(b, step).extract(photo) for b in (3, 4, 10, 8)]
        for name in ("descriptors", "positions", "sizes"):
            expected = np.concatenate([getattr(one, name) for one in alone])
            np.testing.assert_array_equal(getattr(together, name), expected)
    assert set(DenseSIFT((8, 4), 4).extract(photo[:30, :30]).sizes) == {16.0}
    assert len(DenseSIFT((8, 9), 4).extract(photo[:30, :30])) == 0


@pytest.mark.parametrize("move", ["mirror", "quarter turn", "half turn"])
def test_mirroring_and_turning_only_reorder(photo, move):
    grey = as_grey(photo)[:81, :81]  # 81 = 17 + 8 × 8: the grid falls onto itself
    grid = DenseSIFT(4, 8, dtype="float32").extract(grey).descriptors.reshape(9, 9, 128)
    if move == "mirror":
        moved, expected = grey[:, ::-1], turned(grid[:, ::-1].reshape(-1, 128), mirrored=True)
    else:
        turns = 1 if move == "quarter turn" else 2
        moved = np.rot90(grey, turns)
        expected = turned(np.rot90(grid, turns).reshape(-1, 128), turns)
    found = DenseSIFT(4, 8, dtype="float32").extract(moved).descriptors
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_brightness_and_contrast_hardly_matter(photo):
    grey = as_grey(photo) // 3
    expected = DenseSIFT().extract(grey).descriptors.astype(int)
    np.testing.assert_array_equal(DenseSIFT().extract(grey + 90).descriptors, expected)
    assert np.abs(DenseSIFT().extract(grey * 3).descriptors - expected).max() <= 1


def test_flat_patches_are_zero_even_beside_strong_edges():
    image = np.zeros((60, 200), np.uint8)
    image[:, 40:60:2] = 255
    found = DenseSIFT((4, 6, 7), 4).extract(image)
    left = (found.positions[:, 0] * 200 - 0.75 * found.sizes) > 75
    assert left.any()
    assert (found.descriptors[left] == 0).all()


def test_contrast_below_the_threshold_gives_zero(photo):
    grey = as_grey(photo)
    everything = DenseSIFT(4, 16).extract(grey)
    corners = first_cells(everything, grey.shape, 4)
    kept = DenseSIFT(4, 16, contrast_threshold=2.0).extract(grey).descriptors
    zero = (kept == 0).all(axis=1)
    np.testing.assert_array_equal(kept[~zero], everything.descriptors[~zero])
    for i in (*np.flatnonzero(zero)[:3], *np.flatnonzero(~zero)[:3]):
        assert (descriptor(grey, *corners[i], 4)[1] <= 2.0) == zero[i]
    assert 0 < zero.sum() < len(zero)


def test_floats_have_length_one_and_bytes_512_times_the_number(photo):
    for root in (True, False):
        exact = DenseSIFT(dtype="float32", root=root).extract(photo).descriptors
        np.testing.assert_allclose(np.linalg.norm(exact, axis=1), 1, rtol=1e-5)
    found = DenseSIFT().extract(photo).descriptors
    assert found.dtype == np.uint8
    assert np.abs(found - np.minimum(exact * 512, 255)).max() <= 0.501


@pytest.mark.parametrize("color", ["rgb", "opponent", "c"])
def test_color_variants_describe_each_plane(photo, color):
    found = DenseSIFT(4, 16, color=color).extract(photo).descriptors
    planes = color_planes(photo, color)
    expected = [DenseSIFT(4, 16).extract(plane).descriptors for plane in planes]
    np.testing.assert_array_equal(found, np.hstack(expected))
    edges = [sobel_image(plane) for plane in planes]
    np.testing.assert_array_equal(color_planes(photo, color, sobel=True), edges)
    np.testing.assert_array_equal(color_planes(photo[..., 0], color)[2], photo[..., 0])


def test_differences_of_colours_are_those_of_the_definition(photo):
    r, g, b = np.moveaxis(photo.astype(float), 2, 0)
    first, second, mean = color_planes(photo, "opponent")
    for plane, expected in [
        (first, (r - g + 255) / 2),
        (second, (r + g - 2 * b + 510) / 4),
        (mean, (r + g + b) / 3),
    ]:
        assert np.abs(plane - expected).max() <= 0.5 + 1e-4
    shaded = np.array([[[40, 30, 20], [80, 60, 40], [120, 90, 60]]], np.uint8)
    first, second, _ = color_planes(shaded, "c")
    assert (first == round((1 + 10 / 90) * 127.5)).all()
    assert (second == round((2 + 30 / 90) * 85)).all()


def test_threads_change_nothing(photo):
    extractor = DenseSIFT((4, 6))
    images = [photo[i : i + 100] for i in range(0, 200, 25)]
    expected = [extractor.extract(image).descriptors for image in images]
    with ThreadPoolExecutor(4) as pool:
        for one, found in zip(expected, pool.map(extractor.extract, images)):
            np.testing.assert_array_equal(found.descriptors, one)
