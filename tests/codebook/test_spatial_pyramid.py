"""SpatialPyramid against its definition, and its promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from tests.reference.words import windows_of_words
from visualwords.codebook import SpatialPyramid
from visualwords.codebook.spatial_pyramid import as_pyramid

OWN_BOXES = [[0, 0, 1, 1], [0.1, 0.3, 0.77, 0.9], [0.1, 0.0, 0.5, 0.3]]
PYRAMIDS = [31, 21, 8, 1, [(1, 1), (3, 1)], OWN_BOXES, np.array(OWN_BOXES)]


@pytest.mark.parametrize("windows", PYRAMIDS, ids=str)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(0, 60))
def test_counts_match_the_definition(windows, seed, n):
    rng = np.random.default_rng(seed)
    positions = rng.integers(0, 17, (n, 2)).astype(np.float32) / 16  # many lie on edges
    words = rng.integers(0, 5, n)
    pyramid = SpatialPyramid(windows)
    expected = windows_of_words(words, positions, pyramid.boxes, 5)
    np.testing.assert_array_equal(pyramid.count(words, positions, 5)[0], expected)


@pytest.mark.parametrize(
    ("windows", "sizes"),
    [(31, [1, 5, 25]), (21, [1, 4, 16]), (8, [1, 4, 3]), (1, [1]), ([(3, 1)], [3])],
)
def test_the_levels_have_their_numbers_of_windows(windows, sizes):
    pyramid = SpatialPyramid(windows)
    assert [len(level) for level in pyramid.levels] == sizes
    assert pyramid.n_windows == sum(sizes) == len(set(pyramid.window_names()))
    assert pyramid.level_of_window.tolist() == np.repeat(np.arange(len(sizes)), sizes).tolist()


def test_the_windows_between_those_of_a_grid_are_shifted_by_half_a_window():
    second = SpatialPyramid(31).levels[2]
    assert second[16].tolist() == [0.125, 0.125, 0.375, 0.375]
    assert second[24].tolist() == [0.625, 0.625, 0.875, 0.875]


def test_strips_are_horizontal():
    assert SpatialPyramid([(3, 1)]).boxes[0].tolist() == [0, 0, 1, 1 / 3]


def test_ragged_images_count_like_single_ones(rng):
    positions = rng.random((50, 2), np.float32)
    words = rng.integers(0, 7, 50)
    offsets = np.array([0, 20, 20, 50])
    pyramid = SpatialPyramid(31)
    counts = pyramid.count(words, positions, 7, offsets=offsets)
    assert counts.dtype == np.int32
    for i in range(3):
        rows = slice(offsets[i], offsets[i + 1])
        np.testing.assert_array_equal(counts[i], pyramid.count(words[rows], positions[rows], 7)[0])
    assert not counts[1].any()


def test_positions_outside_count_in_the_nearest_cell():
    counts = SpatialPyramid([(2, 2)]).count([0, 0], np.array([[-1.0, 2.0], [1.5, 0.0]]), 1)
    assert counts[0, :, 0].tolist() == [0, 1, 1, 0]


def test_weights_go_to_the_windows_of_a_level():
    pyramid = SpatialPyramid(21, weights=(4, 2, 1))
    assert pyramid.window_weights.tolist() == [4] + [2] * 4 + [1] * 16


def test_a_pyramid_can_be_cloned_and_given_as_a_number():
    pyramid = SpatialPyramid(31, weights=(1, 2, 3))
    pyramid.membership  # noqa: B018 - what is computed on the way must not hinder cloning
    assert clone(pyramid).get_params() == pyramid.get_params()
    assert as_pyramid(pyramid) is pyramid
    assert as_pyramid(8).n_windows == 8


def test_new_parameters_replace_what_was_computed():
    pyramid = SpatialPyramid(31)
    assert pyramid.n_windows == 31
    pyramid.set_params(windows=8, weights=(1, 2, 3))
    assert pyramid.n_windows == 8
    assert pyramid.window_weights.tolist() == [1] + [2] * 4 + [3] * 3


def test_wrong_words_are_refused():
    with pytest.raises(ValueError, match="words are from 0 to 3"):
        SpatialPyramid(1).count([0, 3], np.zeros((2, 2)), 3)
    with pytest.raises(ValueError, match="2 words, but 3 positions"):
        SpatialPyramid(1).count([0, 1], np.zeros((3, 2)), 3)
