"""Levels by their definition; limits and quantiles of all values, from which they follow."""

import numpy as np
import pytest
from scipy import sparse

from visualwords.classifiers import Quantizer
from visualwords.classifiers.quantizer import value_limits, value_quantile


def test_levels_follow_equation_13(rng):
    X = rng.normal(size=(50, 7))
    quantizer = Quantizer(n_bins=10).fit(X)
    v_max = np.sort(X.ravel())[int(np.ceil(0.975 * X.size)) - 1]
    assert quantizer.v_max_ == v_max
    expected = np.clip(10 * (X - X.min()) / (v_max - X.min()), 0, 10).astype(int)
    np.testing.assert_array_equal(quantizer.transform(X), expected)


def test_exact_multiples_keep_their_level():
    for v_max in range(1, 50):
        X = np.arange(v_max + 1.0)[:, None]
        levels = Quantizer(n_bins=v_max, percentile=100).fit_transform(X)
        np.testing.assert_array_equal(levels, X)


def test_natural_counts_pass_unchanged(rng):
    X = rng.integers(0, 200, (20, 5)).astype(np.uint8)
    quantizer = Quantizer(strategy="integer").fit(X)
    np.testing.assert_array_equal(quantizer.transform(X), X)
    assert quantizer.transform(X.astype(float)).dtype == np.uint8
    assert Quantizer(strategy="integer").fit_transform([[300, 0]]).dtype == np.uint16


@pytest.mark.parametrize("bad", [[[0.5, 1.0]], [[-1, 2]], [[70_000, 0]]])
def test_values_that_are_no_counts_are_refused(bad):
    with pytest.raises(ValueError, match="strategy='uniform'"):
        Quantizer(strategy="integer").fit(bad)


@pytest.mark.parametrize("strategy", ["uniform", "quantile", "integer"])
def test_sparse_and_dense_agree(rng, strategy):
    X = rng.poisson(0.4, (60, 9)).astype(float)
    dense = Quantizer(strategy=strategy).fit(X)
    thin = Quantizer(strategy=strategy).fit(sparse.csr_matrix(X))
    levels = thin.transform(sparse.csr_matrix(X))
    assert sparse.issparse(levels)
    np.testing.assert_array_equal(levels.toarray(), dense.transform(X))


def test_sparse_data_with_negative_values_become_dense_levels(rng):
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.5)
    levels = Quantizer().fit(sparse.csr_matrix(X)).transform(sparse.csr_matrix(X))
    np.testing.assert_array_equal(levels, Quantizer().fit(X).transform(X))


def test_very_sparse_data_keep_a_range():
    X = np.zeros((100, 10))
    X[:4, 0] = [1, 2, 3, 4]
    assert Quantizer().fit(X).v_max_ == 4
    assert Quantizer().fit(sparse.csr_matrix(X)).v_max_ == 4


@pytest.mark.parametrize("n", [5, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_quantile_levels_follow_their_definition(rng, n, dtype):
    X = np.exp(rng.normal(size=(n, 12), scale=3)) * rng.choice([-1, 1], 12)
    X[:, 1] = rng.integers(0, 2, n)
    X[:, 2] = 7
    X[:, 3] = rng.integers(0, 5, n) - 2
    X[:, 4] = 1e-300 * rng.normal(size=n)
    X = X.astype(dtype)
    quantizer = Quantizer(strategy="quantile").fit(X)
    for j in range(12):
        distinct = np.unique(X[:, j])
        ranks = -(-np.arange(1, 101) * (distinct.size - 1) // 100)
        edges = distinct[ranks] if distinct.size > 1 else np.full(100, np.inf)
        np.testing.assert_array_equal(quantizer.edges_[j], edges)
        wild = np.concatenate([X[:, j], 3 * X[:, j], -X[:, j]])
        levels = quantizer.transform(np.repeat(wild[:, None], 12, axis=1))
        np.testing.assert_array_equal(levels[:, j], np.searchsorted(edges, wild, side="right"))


@pytest.mark.parametrize("strategy", ["uniform", "quantile", "integer"])
def test_state_restores_the_same_levels(rng, strategy):
    X = rng.integers(0, 30, (40, 6)).astype(float)
    quantizer = Quantizer(strategy=strategy).fit(X)
    again = Quantizer(strategy=strategy).set_state(quantizer.get_state())
    np.testing.assert_array_equal(again.transform(X + 3), quantizer.transform(X + 3))


def test_a_weight_counts_like_repeated_rows(rng):
    X = rng.normal(size=(40, 3))
    weight = rng.integers(0, 4, 40)
    assert (
        Quantizer().fit(X, sample_weight=weight).v_max_
        == Quantizer().fit(X.repeat(weight, axis=0)).v_max_
    )


def by_definition(values, share):
    ordered = np.sort(values, axis=None)
    return ordered[max(int(np.ceil(share * ordered.size)) - 1, 0)]


def quantile(X, share, weight=None):
    return value_quantile(X, weight, share, value_limits(X))


@pytest.mark.parametrize("share", [0.01, 0.5, 0.975, 1.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.uint16, np.int64])
def test_quantile_matches_the_definition(rng, share, dtype):
    for X in (rng.poisson(3, (301, 7)), 200 * rng.random((301, 7)), rng.integers(0, 255, (3, 1))):
        X = X.astype(dtype)
        assert value_limits(X) == (X.min(), X.max())
        if by_definition(X, share) > X.min():
            assert quantile(X, share) == by_definition(X, share)


def test_a_quantile_at_the_smallest_value_is_taken_from_the_values_above(rng):
    X = np.zeros((100, 100))
    X[:, 0] = np.arange(100)
    assert quantile(X, 0.975) == by_definition(np.arange(1, 100), 0.975)


def test_weights_of_one_and_sparse_storage_change_nothing(rng):
    X = rng.poisson(1.0, (70_000, 9)).astype(float)
    stored, one = sparse.csr_matrix(X), quantile(X, 0.975)
    assert value_limits(stored) == value_limits(X)
    assert quantile(stored, 0.975) == one
    assert quantile(X, 0.975, weight=np.ones(len(X))) == one
