"""Boosted trees against an exhaustive search and against what they must learn."""

import numpy as np
import pytest

from visualwords.classifiers.boosted_trees import best_splits, boost_trees


def every_split(columns, weights, labels, chosen):
    """Z of all splits of the chosen samples, (features, 255)."""
    z = np.full((len(columns), 255), np.inf)
    for feature, column in enumerate(columns):
        for value in range(255):
            left = column <= value
            z[feature, value] = sum(
                np.sqrt(
                    weights[side & chosen & (labels == 1)].sum()
                    * weights[side & chosen & (labels == 0)].sum()
                )
                for side in (left, ~left)
            )
    return z


def test_splits_are_the_best_of_all(rng):
    columns = rng.integers(0, 256, (5, 40)).astype(np.uint8)
    weights, labels, node = rng.random(40), rng.integers(0, 2, 40), rng.integers(0, 2, 40)
    splits, errors = np.zeros((2, 2), np.int64), np.empty(2)
    rows = np.arange(40)
    best_splits(columns, np.arange(5), rows, weights, labels, node, splits, errors)
    for n in range(2):
        z = every_split(columns, weights, labels, node == n)
        assert errors[n] == pytest.approx(z.min())
        assert z[tuple(splits[n])] == pytest.approx(z.min())


def test_trees_learn_what_no_sum_of_single_columns_can(rng):
    columns = rng.integers(0, 256, (12, 600)).astype(np.uint8)
    positive = (columns[3] > 120) ^ (columns[7] > 120)
    trees = boost_trees(columns, positive, 60, n_looked_at=12)
    scores = trees.scores(np.ascontiguousarray(columns.T))
    assert ((scores > 0) == positive).mean() > 0.97


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_tree_is_split_greedily_level_by_level(rng, depth):
    columns = rng.integers(0, 256, (4, 50)).astype(np.uint8)
    positive = rng.random(50) < 0.5
    weights = np.where(positive, 0.5 / positive.sum(), 0.5 / (~positive).sum())
    trees = boost_trees(columns, positive, 1, n_looked_at=4, depth=depth)
    assert trees.features.shape == trees.values.shape == (1, 2**depth - 1)
    inside = {0: np.ones(50, bool)}
    for k in range(2**depth - 1):
        feature, value = trees.features[0, k], trees.values[0, k]
        z = every_split(columns, weights, positive.astype(int), inside[k])
        assert z[feature, value] == pytest.approx(z.min())
        right = columns[feature] > value
        inside[2 * k + 1], inside[2 * k + 2] = inside[k] & ~right, inside[k] & right
    scores = trees.scores(np.ascontiguousarray(columns.T))
    for leaf in range(2**depth):
        own = inside[2**depth - 1 + leaf]
        ratio = (weights[own & positive].sum() + 1e-4) / (weights[own & ~positive].sum() + 1e-4)
        np.testing.assert_allclose(scores[own], 0.5 * np.log(ratio), rtol=1e-5, atol=1e-6)


def test_the_same_seed_gives_the_same_trees_and_another_one_others(rng):
    columns = rng.integers(0, 256, (64, 90)).astype(np.uint8)
    positive = columns[:5].astype(int).sum(axis=0) > 640
    one, same, other = (
        boost_trees(columns, positive, 8, n_looked_at=4, random_state=seed) for seed in (1, 1, 2)
    )
    for name in ("features", "values", "leaves"):
        np.testing.assert_array_equal(getattr(one, name), getattr(same, name))
    assert (one.features != other.features).any()


@pytest.mark.parametrize("n_trees", [1, 700])
def test_classes_that_are_easily_divided_keep_finite_leaves(rng, n_trees):
    columns = np.repeat(np.array([[9, 200]], np.uint8), 6, axis=0).repeat(5, axis=1)
    positive = columns[0] > 100
    trees = boost_trees(columns, positive, n_trees, n_looked_at=6)
    assert np.isfinite(trees.leaves).all()
    assert ((trees.scores(np.ascontiguousarray(columns.T)) > 0) == positive).all()


def test_columns_that_say_nothing_decide_nothing():
    columns = np.full((3, 10), 7, np.uint8)
    trees = boost_trees(columns, np.arange(10) < 5, 4, n_looked_at=3)
    np.testing.assert_allclose(trees.scores(np.ascontiguousarray(columns.T)), 0, atol=1e-6)
