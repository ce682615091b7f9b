import numpy as np
import pytest
from scipy import sparse

from visualwords.classifiers.tables.value_survey import value_limits, value_quantile


def by_definition(values, share):
    ordered = np.sort(values, axis=None)
    return ordered[max(int(np.ceil(share * ordered.size)) - 1, 0)]


def quantile(X, share, weight=None, n_jobs=None):
    return value_quantile(X, weight, share, value_limits(X), n_jobs)


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


def test_a_sample_that_misleads_does_no_harm(rng):
    X = np.zeros(300_000)
    X[1::2] = rng.normal(size=150_000)  # a stride of the sample may see one kind only
    assert quantile(X[:, None], 0.9) == by_definition(X, 0.9)
    X[1::2] = rng.poisson(9.0, 150_000)
    assert quantile(X[:, None], 0.9) == by_definition(X, 0.9)


def test_threads_and_sparse_storage_change_nothing(rng):
    X = rng.poisson(1.0, (70_000, 9)).astype(float)
    stored, one = sparse.csr_matrix(X), quantile(X, 0.975)
    assert value_limits(stored) == value_limits(X)
    assert quantile(X, 0.975, n_jobs=2) == one
    assert quantile(stored, 0.975) == one
    assert quantile(X, 0.975, weight=np.ones(len(X))) == one


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_that_are_not_finite_are_noticed(rng, dtype):
    X = rng.random((30, 7)).astype(dtype)
    assert value_limits(X).finite
    for bad in (np.nan, np.inf, -np.inf):
        for where in (0, 100, 209):
            spoiled = X.copy()
            spoiled.flat[where] = bad
            assert not value_limits(spoiled).finite
