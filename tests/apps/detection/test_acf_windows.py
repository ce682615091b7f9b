"""Aggregated channel features against their definition, and windows against themselves alone."""

import cv2
import numpy as np
import pytest

from tests.apps.detection.test_windows import corners_of, picture
from visualwords.apps.detection._acf_cells import sum_cells
from visualwords.apps.detection.acf_windows import (
    COSINES,
    N_PARTS,
    SINES,
    WIDEST,
    AcfWindows,
    sums_of_parts,
)
from visualwords.apps.detection.channels import make_channels
from visualwords.apps.detection.cosine_windows import CosineWindows
from visualwords.apps.detection.regions import regions
from visualwords.apps.detection.window import WindowShape
from visualwords.classifiers.boosted_trees import BoostedTrees


def smoothed(plane):
    """[1 2 1] / 4 along both axes, borders repeated."""
    wide = np.pad(plane, 1, mode="edge")
    wide = (wide[:-2] + 2 * wide[1:-1] + wide[2:]) / 4
    return (wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]) / 4


def sums_of_cells(plane, cell=4):
    rows, columns = (side // cell for side in plane.shape)
    whole = plane[: rows * cell, : columns * cell]
    return whole.reshape(rows, cell, columns, cell).sum(axis=(1, 3))


def gradient_cells(image, cell=4, times=1):
    """The seven channels of gradients by definition, before rounding.

    The mean length that they are divided by is one of cells smoothed some times.
    """
    blurred = cv2.GaussianBlur(image, (3, 3), 0, borderType=cv2.BORDER_REPLICATE).astype(float)
    tall = np.pad(blurred, ((1, 1), (0, 0), (0, 0)), mode="edge")
    dy, dx = tall[2:] - tall[:-2], np.zeros_like(blurred)
    dx[:, 1:-1] = blurred[:, 2:] - blurred[:, :-2]
    dy[:, [0, -1]] = 0
    strongest = (dx**2 + dy**2).argmax(axis=2)[..., None]
    dx, dy = (np.take_along_axis(part, strongest, 2)[..., 0] for part in (dx, dy))
    length, angle = np.hypot(dx, dy), np.arctan2(dy, dx)
    parts = [sums_of_cells(length, cell) * 200]
    widest = np.cos(np.pi / 6)
    for k in range(6):
        near = np.maximum(np.abs(np.cos(angle - k * np.pi / 6)) - widest, 0) / (1 - widest)
        parts.append(sums_of_cells(length * near, cell) * 200)
    local = sums_of_cells(length, cell)
    for _ in range(times):
        local = smoothed(local)
    return np.stack([smoothed(part / (local + 4 * cell**2)) for part in parts], axis=2)


def luv_cells(image, cell):
    """The three channels of colour, in the levels of OpenCV's bytes."""
    blurred = cv2.GaussianBlur(image, (3, 3), 0, borderType=cv2.BORDER_REPLICATE)
    means = [sums_of_cells(blurred[:, :, c], cell) / cell**2 for c in range(3)]
    luv = cv2.cvtColor((np.stack(means, axis=2) / 255).astype(np.float32), cv2.COLOR_RGB2Luv)
    luv = luv * np.float32([255 / 100, 255 / 354, 255 / 262])
    luv = luv + np.array([0, 134 * 255 / 354, 140 * 255 / 262])
    return np.stack([smoothed(luv[:, :, c]) for c in range(3)], axis=2)


def local_cosines(planes):
    """Mean, slopes and slope of a slope of 6 × 6 fine cells, one set for 2 × 2 of them."""
    rows, columns, n = planes.shape
    wide = np.pad(planes, ((2, 2), (2, 2), (0, 0)), mode="edge")
    even, odd = np.ones(6), np.array([-5, -3, -1, 1, 3, 5])
    cells = np.empty((rows // 2, columns // 2, n, 4))
    for i, j in np.ndindex(*cells.shape[:2]):
        part = wide[2 * i : 2 * i + 6, 2 * j : 2 * j + 6]
        cells[i, j, :, 0] = np.einsum("yxc,y,x->c", part, even, even) / 36
        cells[i, j, :, 1] = np.einsum("yxc,y,x->c", part, even, odd) / 54 + 128
        cells[i, j, :, 2] = np.einsum("yxc,y,x->c", part, odd, even) / 54 + 128
        cells[i, j, :, 3] = np.einsum("yxc,y,x->c", part, odd, odd) / 81 + 128
    return np.clip(cells, 0, 255)


def random_trees(rng, n_trees, n_columns, depth=2):
    return BoostedTrees(
        rng.integers(0, n_columns, (n_trees, 2**depth - 1)).astype(np.uint16),
        rng.integers(0, 150, (n_trees, 2**depth - 1)).astype(np.uint8),
        rng.normal(0, 0.1, (n_trees, 2**depth)).astype(np.float32),
    )


def sum_of_leaves(trees, vector):
    """Partial sums, tree by tree."""
    leaves = []
    for feature, value, leaf in zip(trees.features, trees.values, trees.leaves):
        node = 0
        while node < len(feature):
            node = 2 * node + (2 if vector[feature[node]] > value[node] else 1)
        leaves.append(leaf[node - len(feature)])
    return np.cumsum(leaves)


@pytest.mark.parametrize("size", [(64, 48), (67, 50), (4, 4), (5, 41)])
@pytest.mark.parametrize("levels", [256, 2])
@pytest.mark.parametrize("cell", [2, 4])
def test_smoothing_and_means_of_cells_are_exactly_those_of_opencv(rng, size, levels, cell):
    image = (rng.integers(0, levels, (*size, 3)) * (255 // (levels - 1))).astype(np.uint8)
    rows, columns = (side // cell for side in size)
    whole = np.ascontiguousarray(image[: rows * cell, : columns * cell])
    blurred = cv2.GaussianBlur(whole, (3, 3), 0, borderType=cv2.BORDER_REPLICATE)
    expected = cv2.resize(blurred, (columns, rows), interpolation=cv2.INTER_AREA)
    means = np.empty((rows, columns, 3), np.uint8)
    sums = np.empty((7, rows, columns), np.float32)
    within = tuple(range(cell))
    sum_cells(image.reshape(size[0], -1), within, COSINES, SINES, WIDEST, means, sums)
    if cell == 4:  # of 2 × 2 pixels OpenCV rounds halves up, of others to even numbers
        assert np.array_equal(means, expected)
    sums = np.stack([sums_of_cells(blurred[:, :, c].astype(int), cell) for c in range(3)], axis=2)
    assert np.array_equal(means, np.rint(sums / cell**2))


@pytest.mark.parametrize("size", [(64, 48), (67, 50), (9, 9), (4, 4), (5, 40)])
def test_cells_are_those_of_the_definition(rng, size):
    image = picture(rng, *size)
    image = np.ascontiguousarray(image[: size[0] // 4 * 4, : size[1] // 4 * 4])
    cells = AcfWindows(WindowShape(), 8).prepare(image)
    assert cells.shape == (size[0] // 4, size[1] // 4, 10)
    expected = np.minimum(gradient_cells(image), 255)
    assert np.abs(cells[:, :, 3:] - expected).max() <= 0.51
    assert np.abs(cells[:, :, :3] - luv_cells(image, 4)).max() <= 3


@pytest.mark.parametrize("size", [(64, 48), (8, 12), (4, 4), (4, 40)])
def test_local_cosines_are_those_of_the_definition(rng, size):
    image = picture(rng, *size)
    cells = (
        CosineWindows(WindowShape(), 8).prepare(image).reshape(size[0] // 4, size[1] // 4, 10, 4)
    )
    expected = local_cosines(gradient_cells(image, cell=2, times=2))
    assert np.abs(cells[:, :, 3:] - expected).max() <= 0.51
    expected = local_cosines(luv_cells(image, 2))
    assert np.abs(cells[:, :, :3, 0] - expected[..., 0]).max() <= 3
    assert np.abs(cells[:, :, :3] - expected).max() <= 8  # colours are bytes before


def test_slopes_of_a_mirror_image_are_the_opposite(rng):
    channel, image = CosineWindows(WindowShape(), 8), picture(rng, 32, 48)
    cells = channel.prepare(image).reshape(8, 12, 10, 4).astype(int)
    other = channel.prepare(np.ascontiguousarray(image[:, ::-1])).reshape(8, 12, 10, 4)
    other = other[:, ::-1, :4].astype(int)  # directions of gradients change their order
    np.testing.assert_allclose(other[..., [0, 2]], cells[:, :, :4, [0, 2]], atol=1)
    np.testing.assert_allclose(256 - other[..., [1, 3]], cells[:, :, :4, [1, 3]], atol=1)


@pytest.mark.parametrize("stride", [4, 8, 16])
@pytest.mark.parametrize(("size", "depth"), [((128, 64), 1), ((131, 69), 2), ((155, 96), 3)])
def test_trees_score_every_window_as_it_does_alone(rng, stride, size, depth):
    shape, image = WindowShape(), picture(rng, *size)
    (channel,) = make_channels("acf", shape, stride)
    prepared, corners = channel.prepare(image), corners_of(image, shape, stride)
    vectors = channel.vectors(prepared, corners)
    trees = channel.arrange(random_trees(rng, 70, channel.n_columns, depth))
    sums = np.array([sum_of_leaves(trees, vector) for vector in vectors])
    assert channel.table_scores(prepared, trees).shape == shape.positions(*size, stride)
    np.testing.assert_allclose(trees.scores(vectors), sums[:, -1], atol=1e-5)
    np.testing.assert_allclose(
        channel.table_scores(prepared, trees).ravel(), sums[:, -1], atol=1e-5
    )
    found = channel.scores_at(prepared, corners[::3], trees)
    np.testing.assert_allclose(found, sums[::3, -1], atol=1e-5)
    ends = np.minimum(np.arange(1, N_PARTS + 1) * -(-70 // N_PARTS), 70) - 1
    parts = sums_of_parts(trees, vectors)
    np.testing.assert_allclose(parts, sums[:, ends], atol=1e-5)
    least = np.median(parts, axis=0) - np.float32(0.2)
    grid = channel.table_scores(prepared, trees, least).ravel()
    kept = (parts >= least).all(axis=1)
    np.testing.assert_array_equal(np.isfinite(grid), kept)
    np.testing.assert_allclose(grid[kept], sums[kept, -1], atol=1e-5)


@pytest.mark.parametrize("size", [(1, 1), (3, 500), (127, 64), (128, 63), (16, 16)])
def test_images_smaller_than_the_window_have_no_windows(rng, size):
    (channel,) = make_channels("acf", WindowShape(), 8)
    prepared = channel.prepare(np.zeros((*size, 3), np.uint8))
    trees = random_trees(rng, 3, channel.n_columns)
    assert channel.table_scores(prepared, trees).size == 0


def test_a_flat_image_has_no_gradients_and_its_own_colour():
    cells = AcfWindows(WindowShape(), 8).prepare(np.full((40, 40, 3), 255, np.uint8))
    assert (cells[:, :, 0] == 255).all()
    assert (cells[:, :, 3:] == 0).all()


@pytest.mark.parametrize("stride", [4, 8, 16])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_windows_score_in_their_regions_as_in_the_image(rng, number, stride):
    shape, image = WindowShape(), picture(rng, 300, 420)
    channel = make_channels("all", shape, stride)[number]
    every = corners_of(image, shape, stride)
    corners = every[rng.choice(len(every), 6, replace=False)]
    whole = channel.vectors(channel.prepare(image), corners)
    seen = []
    for region, chosen in regions(corners, shape, stride, channel.margin):
        start = np.array([part.start for part in region])
        assert (start % max(stride, 8) == 0).all()
        inside = corners[chosen] - start
        part = np.ascontiguousarray(image[region])
        np.testing.assert_array_equal(channel.vectors(channel.prepare(part), inside), whole[chosen])
        seen += chosen.tolist()
    assert sorted(seen) == list(range(6))
    assert list(regions(corners[:0], shape, stride)) == []
