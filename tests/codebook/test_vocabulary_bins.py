"""Bins that follow the data."""

from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone

from visualwords.classifiers.kernels import pyramid_match
from visualwords.codebook import PyramidMatchEmbedding, VocabularyBins


@pytest.fixture
def sets(rng):
    """Sets of noisy copies of a few prototypes in 64 dimensions; sets 0, 2, 4, … share theirs."""
    prototypes = rng.integers(0, 256, (2, 12, 64))
    chosen = [prototypes[i % 2][rng.integers(0, 12, 10 + i)] for i in range(10)]
    return [np.clip(c + rng.normal(0, 8, c.shape), 0, 255) for c in chosen]


def test_gram_matches_the_definition(sets):
    bins = VocabularyBins(branching=3, depth=3, n_trees=2).fit(sets)
    gram = pyramid_match(sets, normalization=None, bins=bins)
    wanted = np.zeros_like(gram)
    for tree in range(2):
        paths = [
            bins.digits(np.floor(s).astype(np.int32))[:, 3 * tree : 3 * tree + 3] for s in sets
        ]
        gains = [bins.top_weight, *(step.weight for step in bins.steps(tree))]
        for i, y in enumerate(paths):
            for j, z in enumerate(paths):
                for depth, gain in enumerate(gains):
                    a, b = (Counter(tuple(row[:depth]) for row in p) for p in (y, z))
                    wanted[i, j] += gain * sum((a & b).values())
    np.testing.assert_allclose(gram, wanted)


def test_gram_is_symmetric_and_positive_semidefinite(sets):
    bins = VocabularyBins(branching=4, depth=4).fit(sets)
    for normalization in ("self", None):
        gram = pyramid_match(sets, bins=bins, normalization=normalization)
        np.testing.assert_array_equal(gram, gram.T)
        assert np.linalg.eigvalsh(gram).min() > -1e-9
    np.testing.assert_allclose(np.diag(pyramid_match(sets, bins=bins, normalization="self")), 1)


def test_it_sees_structure_in_many_dimensions_where_uniform_bins_starve(sets):
    same = np.equal.outer(np.arange(10) % 2, np.arange(10) % 2)
    away = ~np.eye(10, dtype=bool)

    def contrast(gram):
        return gram[same & away].mean() / gram[~same].mean()

    guided = pyramid_match(sets, normalization="self", bins=VocabularyBins(4, 3).fit(sets))
    uniform = pyramid_match(sets, normalization="self", side=256)
    assert contrast(uniform) < 1.2
    assert contrast(guided) > 1.5


def test_weights_grow_with_depth_and_cells_shrink(sets):
    bins = VocabularyBins(branching=3, depth=4).fit(sets)
    assert np.all(np.diff(bins.radii_[0]) <= 0)
    assert all(step.weight >= 0 for step in bins.steps(0))
    assert bins.top_weight + sum(step.weight for step in bins.steps(0)) == pytest.approx(1)


def test_points_go_to_the_nearest_center(sets):
    bins = VocabularyBins(branching=5, depth=1).fit(sets)
    points = np.concatenate([np.floor(s) for s in sets]).astype(np.int32)
    distances = np.linalg.norm(points[:, None] - bins.centers_[0][0][None], axis=2)
    np.testing.assert_array_equal(bins.digits(points)[:, 0], distances.argmin(axis=1))


def test_more_cells_than_points_and_equal_points_are_no_problem():
    bins = VocabularyBins(branching=10, depth=3).fit([np.zeros((3, 2)), np.ones((1, 2))])
    gram = pyramid_match([np.zeros((3, 2)), np.ones((1, 2)), np.empty((0, 2))], bins=bins)
    assert np.isfinite(gram).all()
    assert gram[0, 0] == pytest.approx(1)


def test_the_embedding_takes_the_cells_too(sets):
    bins = VocabularyBins(branching=4, depth=3, n_trees=2).fit(sets)
    rows = PyramidMatchEmbedding(bins=bins).fit_transform(sets)
    gram = pyramid_match(sets, normalization="self", bins=bins)
    np.testing.assert_allclose((rows @ rows.T).toarray(), gram, atol=1e-12)


def test_state_is_plain_arrays_and_restores_the_cells(sets):
    bins = VocabularyBins(branching=3, depth=3, n_trees=2).fit(sets)
    state = bins.get_state()
    assert all(isinstance(v, np.ndarray) and v.dtype != object for v in state.values())
    restored = clone(bins).set_state(state)
    points = np.floor(sets[0]).astype(np.int32)
    np.testing.assert_array_equal(restored.digits(points), bins.digits(points))
    assert restored.steps(1) == bins.steps(1)


def test_the_same_seed_gives_the_same_cells(sets):
    first, second = (VocabularyBins(3, 2, random_state=7).fit(sets) for _ in range(2))
    np.testing.assert_array_equal(first.centers_[1], second.centers_[1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"branching": 1}, "branching=1"), ({"depth": 0}, "depth=0"), ({"n_trees": 0}, "n_trees=0")],
)
def test_bad_parameters_are_named(sets, parameters, message):
    with pytest.raises(ValueError, match=message):
        VocabularyBins(**parameters).fit(sets)


def test_other_dimensions_and_empty_sets_are_errors(sets):
    with pytest.raises(ValueError, match="has 64"):
        VocabularyBins(2, 1).fit(sets).digits(np.zeros((1, 3), np.int32))
    with pytest.raises(ValueError, match="empty"):
        VocabularyBins().fit([np.empty((0, 4))])
