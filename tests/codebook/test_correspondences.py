"""Which points match, and the picture of it."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from visualwords.classifiers.kernels import pyramid_match
from visualwords.codebook import draw_matches, match_points
from visualwords.codebook.match_picture import level_colors
from visualwords.features.local_features import LocalFeatures


@pytest.fixture
def two_sets(rng):
    return rng.integers(0, 200, (60, 3)), rng.integers(0, 200, (45, 3))


@pytest.mark.parametrize("finest_level", [0, 3])
def test_weights_of_the_pairs_add_up_to_the_kernel(two_sets, finest_level):
    found = match_points(*two_sets, side=200, finest_level=finest_level, random_state=4)
    options = {"normalization": None, "random_state": 4, "side": 200, "finest_level": finest_level}
    assert found.similarity == pyramid_match(two_sets[:1], two_sets[1:], **options).item()
    np.testing.assert_array_equal(found.weights, 0.5**found.levels)


def test_every_point_of_the_smaller_set_is_matched_once(two_sets):
    found = match_points(*two_sets, side=200)
    assert len(found) == 45
    assert sorted(found.second.tolist()) == list(range(45))
    assert len(set(found.first.tolist())) == 45
    assert np.all(np.diff(found.levels) >= 0)
    assert found.top_level == 8


def test_matched_points_are_no_farther_than_their_bin(two_sets):
    found = match_points(*two_sets, side=200)
    apart = np.abs(two_sets[0][found.first] - two_sets[1][found.second]).max(axis=1)
    assert np.all(apart < 2**found.levels)


def test_a_shuffled_copy_is_matched_to_itself(rng):
    points = rng.permutation(400).reshape(100, 4)
    order = rng.permutation(100)
    found = match_points(points, points[order], side=400)
    np.testing.assert_array_equal(order[found.second], found.first)
    assert found.levels.max() == 0


def test_points_in_one_bin_are_paired_with_the_least_distance(rng):
    y, z = rng.integers(0, 50, (8, 2)), rng.integers(0, 50, (8, 2))
    found = match_points(y, z, side=50, finest_level=10)  # nothing but the top bin
    distances = np.linalg.norm(y[:, None] - z[None], axis=2)
    best = distances[linear_sum_assignment(distances)].sum()
    assert distances[found.first, found.second].sum() == pytest.approx(best)
    assert set(found.levels.tolist()) == {found.top_level}


def test_an_empty_set_has_no_matches():
    found = match_points(np.empty((0, 2)), np.ones((3, 2)), side=8)
    assert (len(found), found.similarity) == (0, 0)


def some_features(points):
    n = len(points)
    return LocalFeatures(points, np.linspace(0, 1, 2 * n).reshape(n, 2), np.full(n, 10.0))


def test_the_picture_shows_both_images_and_lines_between_them(two_sets, rng):
    grey = np.full((50, 80), 200, np.uint8)
    color = np.full((120, 60, 3), 10, np.uint8)
    found = match_points(*two_sets, side=200)
    features = [some_features(points) for points in two_sets]
    picture = draw_matches(grey, color, *features, found, height=100)
    assert (picture.shape[1], picture.shape[2], picture.dtype) == (160 + 12 + 50, 3, np.uint8)
    plain = draw_matches(grey, color, *features, found, height=100, max_matches=0)
    assert np.all(plain[:100, :160] == 200)
    assert np.all(plain[:100, 172:] == 10)
    gap = picture[:100, 160:172]
    assert (gap != plain[:100, 160:172]).any()  # lines cross the gap


def test_the_finest_pairs_are_drawn(two_sets):
    found = match_points(*two_sets, side=200)
    features = [some_features(points) for points in two_sets]
    grey = np.zeros((40, 40), np.uint8)
    few, many, all_pairs = (
        int((draw_matches(grey, grey, *features, found, max_matches=n)[:320] > 0).sum())
        for n in (2, 20, None)
    )
    assert few < many < all_pairs


def test_fine_levels_are_warm_and_coarse_ones_cold(two_sets):
    colors = level_colors(match_points(*two_sets, side=200))
    finest, coarsest = colors[min(colors)], colors[max(colors)]
    assert finest[0] > finest[2]
    assert coarsest[2] > coarsest[0]


def test_a_picture_without_matches_is_the_two_images():
    nothing = match_points(np.empty((0, 2)), np.empty((0, 2)), side=8)
    features = some_features(np.empty((0, 2)))
    grey = np.full((32, 32), 7, np.uint8)
    picture = draw_matches(grey, grey, features, features, nothing, height=32)
    assert np.all(picture[:32, :32] == 7)
