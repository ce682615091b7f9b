"""Which points match, and the picture of it."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from visualwords.classifiers.kernels import pyramid_match
from visualwords.codebook import VocabularyBins, match_points


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


def test_pairs_in_a_vocabulary_add_up_to_the_kernel_too(two_sets):
    bins = VocabularyBins(branching=4, depth=3).fit(two_sets)
    found = match_points(*two_sets, bins=bins)
    wanted = pyramid_match(two_sets[:1], two_sets[1:], normalization=None, bins=bins)
    assert found.similarity == pytest.approx(wanted.item())
