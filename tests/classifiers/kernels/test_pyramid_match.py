"""The pyramid match: its definition, what the paper proves and what it does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.pyramid_match import match
from visualwords.classifiers.kernels import pyramid_match
from visualwords.codebook import FeatureSets
from visualwords.codebook.grid_bins import GridBins


def random_sets(rng, n, d, side, most=12):
    sets = [rng.integers(0, side, (rng.integers(1, most), d)) for _ in range(n)]
    return [*sets, np.empty((0, d)), rng.integers(0, side, (1, d)), sets[0].copy()]


def by_definition(sets, others, side, n_shifts, finest_level=0, seed=0):
    points = np.concatenate([s for s in sets if len(s)]).astype(int)
    bins = GridBins(side, n_shifts, finest_level, seed).fit(points)
    return np.array(
        [[match(y, z, bins.shifts_, bins.top_level, finest_level) for z in others] for y in sets]
    )


@pytest.mark.parametrize("d", [1, 2, 12, 40, 130])
@pytest.mark.parametrize("finest_level", [0, 2])
def test_gram_matches_the_definition_bit_for_bit(rng, d, finest_level):
    sets = random_sets(rng, 7, d, 40)
    gram = pyramid_match(sets, n_shifts=3, normalization=None, side=40, finest_level=finest_level)
    np.testing.assert_array_equal(gram, by_definition(sets, sets, 40, 3, finest_level))


def test_rectangular_gram_is_a_block_of_the_square_one(rng):
    sets = random_sets(rng, 9, 3, 100)
    square = pyramid_match(sets, n_shifts=2, side=100)
    block = pyramid_match(sets[:5], sets[5:], n_shifts=2, side=100)
    np.testing.assert_array_equal(block, square[:5, 5:])


def test_the_worked_example_of_the_paper():
    # Figure 2: 1-D sets with I = 2, 4, 5 in bins of side 1, 2 and one bin for all: N = 2, 2, 1
    y, z = np.array([[0], [3], [4], [8], [10]]), np.array([[0], [3], [5], [9], [15]])
    shifts = [np.array([0])]
    assert match(y, z, shifts, 2) == 2 * 1 + 2 / 2 + 1 / 4


@pytest.mark.parametrize("normalization", ["self", None])
def test_gram_is_symmetric_and_positive_semidefinite(rng, normalization):
    sets = random_sets(rng, 60, 2, 64, most=30)
    gram = pyramid_match(sets, n_shifts=3, normalization=normalization)
    np.testing.assert_array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram).min() > -1e-9 * len(sets)


def test_sets_of_equal_size_keep_min_cardinality_positive_semidefinite(rng):
    sets = rng.integers(0, 64, (60, 20, 2))
    assert np.linalg.eigvalsh(pyramid_match(list(sets))).min() > -1e-9


def test_min_cardinality_is_not_positive_semidefinite_for_unequal_sizes():
    a, b = np.array([[0] * 20]), np.array([[1000] * 20])
    gram = pyramid_match([a, b, np.concatenate([a, b])], side=1 << 20)
    assert np.linalg.eigvalsh(gram).min() < -0.4


def test_normalized_values_are_at_most_one_a_shift(rng):
    sets = random_sets(rng, 10, 2, 30)
    for normalization in ("min_cardinality", "self"):
        gram = pyramid_match(sets, n_shifts=4, normalization=normalization)
        assert gram.max() <= 4
        sizes = np.array([len(s) for s in sets])
        np.testing.assert_allclose(np.diag(gram), 4.0 * (sizes > 0))


def test_self_normalization_divides_by_both_self_similarities(rng):
    sets = random_sets(rng, 8, 3, 50)[:-3]
    raw = pyramid_match(sets, normalization=None, n_shifts=2, side=64, finest_level=1)
    gram = pyramid_match(sets, normalization="self", n_shifts=2, side=64, finest_level=1)
    np.testing.assert_allclose(gram, 2 * raw / np.sqrt(np.outer(np.diag(raw), np.diag(raw))))


def test_min_cardinality_divides_by_the_smaller_size(rng):
    sets = random_sets(rng, 8, 3, 50)[:-3]
    sizes = np.array([len(s) for s in sets])
    raw = pyramid_match(sets, normalization=None)
    np.testing.assert_allclose(pyramid_match(sets), raw / np.minimum.outer(sizes, sizes))


def test_empty_sets_match_nothing():
    gram = pyramid_match([np.empty((0, 3)), np.ones((2, 3))])
    np.testing.assert_array_equal(gram, [[0, 0], [0, 1]])
    assert pyramid_match([np.empty((0, 3))], [np.ones((2, 3))]).tolist() == [[0]]
    assert pyramid_match([]).shape == (0, 0)
    assert pyramid_match([np.ones((1, 2))], []).shape == (1, 0)


def test_points_beyond_the_range_still_match():
    far = [np.array([[5000, -700]]), np.array([[5000, -700]]), np.array([[2, 3]])]
    gram = pyramid_match(far, side=16, normalization=None)
    np.testing.assert_array_equal(gram[0], [1, 1, 1 / 16])
    huge = [np.array([[1e30, -1e30]]), np.array([[1e30, -1e30]])]
    np.testing.assert_array_equal(pyramid_match(huge, side=16, normalization=None), 1)


def test_fractions_fall_in_the_same_bins_as_their_floor(rng):
    sets = [rng.uniform(0, 60, (9, 2)) for _ in range(5)]
    floors = [np.floor(s) for s in sets]
    np.testing.assert_array_equal(pyramid_match(sets), pyramid_match(floors))


def test_the_seed_fixes_the_bins_whatever_the_range(rng):
    sets = random_sets(rng, 6, 2, 64)
    first = GridBins(64, 2, 0, 5).fit(np.zeros((1, 2), int)).shifts_
    second = GridBins(1024, 2, 0, 5).fit(np.zeros((1, 2), int)).shifts_
    np.testing.assert_array_equal(first, second % 32)
    assert not np.array_equal(
        pyramid_match(sets, random_state=1, side=64), pyramid_match(sets, random_state=2, side=64)
    )


def test_sets_need_not_be_a_list_of_writable_c_ordered_arrays(rng):
    sets = random_sets(rng, 4, 3, 20)[:-3]
    gram = pyramid_match(sets)
    for s in sets:
        s.flags.writeable = False
    np.testing.assert_array_equal(pyramid_match([np.asfortranarray(s) for s in sets]), gram)
    np.testing.assert_array_equal(pyramid_match(FeatureSets.from_arrays(sets)), gram)
    np.testing.assert_array_equal(pyramid_match([s.astype(np.uint8) for s in sets]), gram)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sets": [np.ones((2, 3)), np.ones((2, 4))]}, "dimensions"),
        ({"sets": [np.ones((2, 3))], "other": [np.ones((2, 4))]}, "can't match"),
        ({"sets": [np.full((1, 2), np.nan)]}, "NaN"),
        ({"sets": [np.array([["a"]])]}, "numbers"),
        ({"sets": np.ones((4, 2))}, "one set of points"),
        ({"sets": [np.ones((2, 3))], "normalization": "max"}, "choose one of"),
        ({"sets": [np.ones((2, 3))], "n_shifts": 0}, "n_shifts=0"),
        ({"sets": [np.ones((2, 3))], "side": 0}, "side=0"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        pyramid_match(**arguments)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_set_matches_its_own_part_fully(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    whole = rng.integers(0, 99, (data.draw(st.integers(1, 40)), data.draw(st.integers(1, 6))))
    part = whole[rng.permutation(len(whole))[: data.draw(st.integers(1, len(whole)))]]
    assert pyramid_match([whole], [part], n_shifts=2, side=100).item() == 2
