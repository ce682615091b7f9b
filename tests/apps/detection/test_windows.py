"""Scores of all windows at once, against each window's own features one by one."""

import numpy as np
import pytest

from tests.reference.census import census_histogram
from visualwords.apps.detection.channels import make_channels
from visualwords.apps.detection.window import WindowShape
from visualwords.apps.detection.window_tables import RaggedTables, tables_of, with_constants
from visualwords.classifiers import ICDClassifier
from visualwords.features import HOG, Centrist

SIZES = [(128, 64), (131, 69), (137, 75), (155, 96)]  # height, width


def picture(rng, height, width):
    """Smooth shapes and noise in three colours."""
    coarse = rng.integers(0, 256, (height // 6 + 2, width // 6 + 2, 3))
    image = np.kron(coarse, np.ones((6, 6, 1)))[:height, :width] + rng.normal(
        0, 12, (height, width, 3)
    )
    return np.clip(image, 0, 255).astype(np.uint8)


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


ONE_WINDOW = {"hog": hog_of_one_window, "census": census_of_one_window}


def random_tables(rng, n_columns, highest):
    tops = rng.integers(0, highest, n_columns)
    starts = np.concatenate([[0], np.cumsum(tops + 1)])
    cells = rng.normal(0, 0.01, starts[-1]).astype(np.float32)
    return RaggedTables(starts, cells)


def corners_of(image, shape, stride):
    rows, columns = shape.positions(*image.shape[:2], stride)
    return np.array([(y * stride, x * stride) for y, x in np.ndindex(rows, columns)])


@pytest.mark.parametrize("name", ["hog", "census"])
@pytest.mark.parametrize("stride", [4, 8, 16])
@pytest.mark.parametrize("size", SIZES)
def test_every_window_scores_as_it_does_alone(rng, name, stride, size):
    shape = WindowShape()
    image = picture(rng, *size)
    (channel,) = make_channels(name, shape, stride)
    corners = corners_of(image, shape, stride)
    alone = np.array([ONE_WINDOW[name](image, y, x, shape) for y, x in corners]).astype(int)
    weights = rng.normal(0, 0.01, channel.n_columns).astype(np.float32)
    ragged = random_tables(rng, channel.n_columns, 64 if name == "hog" else 300)
    expected = ragged.full(353)[np.arange(channel.n_columns), alone].sum(axis=1)

    prepared, tables = channel.prepare(image), channel.arrange(ragged)
    np.testing.assert_array_equal(channel.vectors(prepared, corners), alone)
    found = channel.linear_scores(prepared, weights)
    assert found.shape == shape.positions(*size, stride)
    np.testing.assert_allclose(found.ravel(), alone @ weights, atol=1e-3)
    np.testing.assert_allclose(channel.table_scores(prepared, tables).ravel(), expected, atol=1e-4)
    np.testing.assert_allclose(channel.scores_at(prepared, corners, tables), expected, atol=1e-4)
    for some in (slice(1, None, 7), slice(0, 1), slice(0, 0)):
        found = channel.scores_at(prepared, corners[some], tables)
        np.testing.assert_allclose(found, expected[some], atol=1e-4)


@pytest.mark.parametrize("name", ["hog", "census"])
def test_a_square_window_has_its_own_layout(rng, name):
    shape = WindowShape(64, 64)
    image = picture(rng, 90, 101)
    (channel,) = make_channels(name, shape, 8)
    corners = corners_of(image, shape, 8)
    prepared = channel.prepare(image)
    vectors = channel.vectors(prepared, corners)
    if name == "census":
        assert vectors.shape[1] == 2 * 3 * 256
        assert (vectors.reshape(len(corners), 6, 256).sum(axis=2) == 22 * 16).all()
    else:
        np.testing.assert_array_equal(vectors[0], hog_of_one_window(image, 0, 0, shape))
    ragged = random_tables(rng, channel.n_columns, 60)
    expected = ragged.full(353)[np.arange(channel.n_columns), vectors].sum(axis=1)
    tables = channel.arrange(ragged)
    np.testing.assert_allclose(channel.table_scores(prepared, tables).ravel(), expected, atol=1e-4)
    np.testing.assert_allclose(channel.scores_at(prepared, corners, tables), expected, atol=1e-4)


def test_counts_of_a_window_are_those_of_the_definition(rng):
    shape = WindowShape()
    image = picture(rng, 128, 64)[:, :, 0]
    (channel,) = make_channels("census", shape, 8)
    counts = channel.vectors(channel.prepare(image), np.array([[0, 0]]))[0].reshape(8, 3, 256)
    x, y = shape.census_corner
    cut = image[y + 5 * 12 : y + 5 * 12 + 24, x + 2 * 9 : x + 2 * 9 + 18]
    np.testing.assert_array_equal(counts[5, 2], census_histogram(cut))


@pytest.mark.parametrize("name", ["hog", "census"])
@pytest.mark.parametrize("size", [(1, 1), (3, 500), (127, 64), (128, 63), (16, 16)])
def test_images_smaller_than_the_window_have_no_windows(rng, name, size):
    (channel,) = make_channels(name, WindowShape(), 8)
    prepared = channel.prepare(np.zeros((*size, 3), np.uint8))
    tables = channel.arrange(random_tables(rng, channel.n_columns, 9))
    assert channel.linear_scores(prepared, np.ones(channel.n_columns, np.float32)).size == 0
    assert channel.table_scores(prepared, tables).size == 0


def test_tables_of_a_classifier_score_as_it_does(rng):
    X = rng.poisson(rng.gamma(2, 2, 40), (60, 40)).astype(np.uint16)
    y = rng.integers(0, 2, 60)
    classifier = ICDClassifier(quantization="integer").fit(with_constants(X), y)
    tables = tables_of(classifier)
    scores = tables.full(int(X.max()) + 1)[np.arange(40), X].sum(axis=1)
    decisions = classifier.decision_function(with_constants(X))
    np.testing.assert_allclose(scores, decisions, atol=2e-3 * np.abs(decisions).max())


@pytest.mark.parametrize(("width", "height"), [(60, 128), (64, 40), (0, 0), (64.0, 128)])
def test_windows_are_whole_cells(width, height):
    with pytest.raises(ValueError, match="multiples of 8"):
        WindowShape(width, height)


def test_unknown_features_and_strides_are_refused():
    with pytest.raises(ValueError, match="choose from all, quick, both, hog, census, acf"):
        make_channels("sift", WindowShape(), 8)
    with pytest.raises(ValueError, match="4 or a multiple of 8"):
        make_channels("hog", WindowShape(), 6)
