"""Features and scores of windows against their definitions, and in a scan as alone."""

import cv2
import numpy as np
import pytest

from visualwords.apps.detection.cascade import Cascade, RaggedTables
from visualwords.apps.detection.window_features import (
    CensusFeature,
    HogFeature,
    TreeFeature,
    window_features,
)
from visualwords.apps.detection.window_training import tables_of, with_constants
from visualwords.apps.detection.windows import WindowShape, regions
from visualwords.classifiers import ICDClassifier
from visualwords.classifiers.boosted_trees import BoostedTrees
from visualwords.features import HOG, Centrist

SIZES = [(128, 64), (131, 69), (137, 75), (155, 96)]  # height, width


def picture(rng, height, width):
    """Smooth shapes and noise in three colours."""
    coarse = rng.integers(0, 256, (height // 6 + 2, width // 6 + 2, 3))
    image = np.kron(coarse, np.ones((6, 6, 1)))[:height, :width] + rng.normal(
        0, 12, (height, width, 3)
    )
    return np.clip(image, 0, 255).astype(np.uint8)


def corners_of(image, shape, stride):
    rows, columns = shape.grid(image, stride)
    return np.array([(y * stride, x * stride) for y, x in np.ndindex(rows, columns)])


def smoothed(plane):
    """[1 2 1] / 4 along both axes, borders repeated."""
    wide = np.pad(plane, 1, mode="edge")
    wide = (wide[:-2] + 2 * wide[1:-1] + wide[2:]) / 4
    return (wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]) / 4


def sums_of_cells(plane):
    rows, columns = (side // 4 for side in plane.shape)
    return plane.reshape(rows, 4, columns, 4).sum(axis=(1, 3))


def gradient_cells(blurred):
    """The seven channels of gradients by definition, before rounding."""
    tall = np.pad(blurred, ((1, 1), (0, 0), (0, 0)), mode="edge")
    dy, dx = tall[2:] - tall[:-2], np.zeros_like(blurred)
    dx[:, 1:-1] = blurred[:, 2:] - blurred[:, :-2]
    dy[:, [0, -1]] = 0
    strongest = (dx**2 + dy**2).argmax(axis=2)[..., None]
    dx, dy = (np.take_along_axis(part, strongest, 2)[..., 0] for part in (dx, dy))
    length, angle = np.hypot(dx, dy), np.arctan2(dy, dx)
    parts, widest = [sums_of_cells(length) * 200], np.cos(np.pi / 6)
    for k in range(6):
        near = np.maximum(np.abs(np.cos(angle - k * np.pi / 6)) - widest, 0) / (1 - widest)
        parts.append(sums_of_cells(length * near) * 200)
    local = smoothed(sums_of_cells(length))
    return np.stack([smoothed(part / (local + 64)) for part in parts], axis=2)


def luv_cells(blurred):
    """The three channels of colour, in the levels of OpenCV's bytes."""
    means = np.stack([sums_of_cells(blurred[:, :, c]) / 16 for c in range(3)], axis=2)
    luv = cv2.cvtColor((means / 255).astype(np.float32), cv2.COLOR_RGB2Luv)
    luv = luv * np.float32([255 / 100, 255 / 354, 255 / 262])
    luv = luv + np.array([0, 134 * 255 / 354, 140 * 255 / 262])
    return np.stack([smoothed(luv[:, :, c]) for c in range(3)], axis=2)


@pytest.mark.parametrize("size", [(64, 48), (67, 50), (9, 9), (4, 4), (5, 40)])
def test_cells_are_those_of_the_definition(rng, size):
    image = picture(rng, *size)
    cells = TreeFeature(WindowShape()).prepare(image)
    assert cells.shape == (size[0] // 4, size[1] // 4, 10)
    whole = np.ascontiguousarray(image[: size[0] // 4 * 4, : size[1] // 4 * 4])
    blurred = cv2.GaussianBlur(whole, (3, 3), 0, borderType=cv2.BORDER_REPLICATE).astype(float)
    expected = np.minimum(gradient_cells(blurred), 255)
    assert np.abs(cells[:, :, 3:] - expected).max() <= 0.51
    assert np.abs(cells[:, :, :3] - luv_cells(blurred)).max() <= 3


def hog_of_one_window(image, y, x, shape):
    """Blocks of a cut-out that has one cell more on each side, where the image has one."""
    wide = np.pad(image, ((8, 8), (8, 8), (0, 0)), mode="edge")
    top, left = 8 * (y == 0), 8 * (x == 0)
    bottom = 8 * (y + shape.height < image.shape[0])
    right = 8 * (x + shape.width < image.shape[1])
    cut = wide[y + top : y + shape.height + 8 + bottom, x + left : x + shape.width + 8 + right]
    blocks = HOG(interpolated=True).blocks(np.ascontiguousarray(cut))
    rows, columns = shape.blocks
    i, j = 1 - top // 8, 1 - left // 8
    values = blocks[i : i + rows, j : j + columns].reshape(-1)
    return np.minimum(np.floor(values * np.float32(128) + np.float32(0.5)), 63)


def census_of_one_window(image, y, x, shape):
    left, top = shape.census_corner
    width, height = shape.width - 2 * left, shape.height - 2 * top
    cut = image[y + top : y + top + height, x + left : x + left + width]
    return Centrist(layout="pedestrian").describe(cut)


@pytest.mark.parametrize(
    ("feature", "alone"), [(HogFeature, hog_of_one_window), (CensusFeature, census_of_one_window)]
)
@pytest.mark.parametrize("size", SIZES)
def test_every_window_has_the_vector_that_it_has_alone(rng, feature, alone, size):
    image = picture(rng, *size)
    for shape in (WindowShape(), WindowShape(64, 64)):
        one, corners = feature(shape), corners_of(image, shape, 8)
        vectors = one.vectors(one.prepare(image), corners)
        if alone is census_of_one_window and shape.height == 64:  # a layout of its own
            assert vectors.shape[1] == 2 * 3 * 256
            counts = vectors.reshape(len(corners), 6, 256).sum(axis=2)
            assert (counts == 22 * 16).all()
            continue
        expected = np.array([alone(image, y, x, shape) for y, x in corners]).astype(int)
        np.testing.assert_array_equal(vectors, expected)


def random_cascade(rng, shape, depth=2):
    trees, *others = window_features(shape)
    n_nodes = 2**depth - 1
    boosted = BoostedTrees(
        rng.integers(0, trees.n_columns, (70, n_nodes)).astype(np.uint16),
        rng.integers(0, 150, (70, n_nodes)).astype(np.uint8),
        rng.normal(0, 0.1, (70, n_nodes + 1)).astype(np.float32),
    )
    tables = []
    for feature in others:
        tops = rng.integers(0, 60, feature.n_columns)
        starts = np.concatenate([[0], np.cumsum(tops + 1)])
        tables.append(RaggedTables(starts, rng.normal(0, 0.01, starts[-1]).astype(np.float32)))
    nothing = np.full(64, -np.inf, np.float32)
    return Cascade(shape, boosted, tables, nothing, (-np.inf, -np.inf))


def sums_of_leaves(trees, vector):
    """Partial sums, tree by tree."""
    leaves = []
    for feature, value, leaf in zip(trees.features, trees.values, trees.leaves):
        node = 0
        while node < len(feature):
            node = 2 * node + (2 if vector[feature[node]] > value[node] else 1)
        leaves.append(leaf[node - len(feature)])
    return np.cumsum(leaves)


def looked_up(tables, vector):
    tops = np.diff(tables.starts) - 1
    return tables.cells[tables.starts[:-1] + np.minimum(vector.astype(int), tops)].sum()


@pytest.mark.parametrize(
    ("size", "stride", "depth"),
    [((128, 64), 8, 1), ((131, 69), 16, 2), ((155, 96), 8, 3), ((300, 420), 24, 2)],
)
def test_a_scan_scores_every_window_as_it_does_alone_and_stops_where_stages_say(
    rng, size, stride, depth
):
    shape, image = WindowShape(), picture(rng, *size)
    cascade, corners = random_cascade(rng, shape, depth), corners_of(image, shape, stride)
    vectors = [one.vectors(one.prepare(image), corners) for one in window_features(shape)]
    trees, tables = cascade.trees, cascade.tables
    sums = np.array([sums_of_leaves(trees, vector) for vector in vectors[0]])
    scores = np.array([[looked_up(t, v) for v in vs] for t, vs in zip(tables, vectors[1:])])
    so_far = np.cumsum(np.vstack([sums[:, -1], scores]), axis=0)

    found, total = cascade.scan(image, stride, -np.inf)
    np.testing.assert_array_equal(found, corners)
    np.testing.assert_allclose(total, so_far[-1], atol=1e-4)
    parts, every = cascade.scores_of(vectors)
    ends = np.minimum(np.arange(1, 65) * -(-70 // 64), 70) - 1
    np.testing.assert_allclose(parts, sums[:, ends], atol=1e-5)
    np.testing.assert_allclose(every.sum(axis=0), so_far[-1], atol=1e-4)

    least = np.median(parts, axis=0) - np.float32(0.2)
    stages = np.median(so_far, axis=1) - 0.1
    strict = Cascade(shape, trees, tables, least, stages[:-1])
    kept = (parts >= least).all(axis=1) & (so_far >= stages[:, None]).all(axis=0)
    found, total = strict.scan(image, stride, stages[-1])
    np.testing.assert_array_equal(found, corners[kept])
    np.testing.assert_allclose(total, so_far[-1, kept], atol=1e-4)
    few = corners[:: 1 + len(corners) // 5]  # windows that overlap are looked at together
    groups = [chosen.tolist() for _, chosen in regions(few, shape, stride, 8)]
    assert sorted(k for group in groups for k in group) == list(range(len(few)))
    assert list(regions(few[:0], shape, stride, 8)) == []


def test_tables_of_a_classifier_score_as_it_does(rng):
    X = rng.poisson(rng.gamma(2, 2, 40), (60, 40)).astype(np.uint16)
    y = rng.integers(0, 2, 60)
    classifier = ICDClassifier(quantization="integer").fit(with_constants(X), y)
    decisions = classifier.decision_function(with_constants(X))
    scores = tables_of(classifier).scores(X)
    np.testing.assert_allclose(scores, decisions, atol=2e-3 * np.abs(decisions).max())


def test_windows_are_whole_cells():
    for side in ((60, 128), (64, 40), (0, 0), (64.0, 128)):
        with pytest.raises(ValueError, match="multiples of 8"):
            WindowShape(*side)
