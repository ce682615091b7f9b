import numpy as np
import pytest
from scipy import sparse

from visualwords.classifiers import Quantizer
from visualwords.classifiers.tables.value_survey import survey_values


def by_definition(values, share):
    ordered = np.sort(values, axis=None)
    return ordered[max(int(np.ceil(share * ordered.size)) - 1, 0)]


@pytest.mark.parametrize("share", [0.01, 0.5, 0.975, 1.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.uint16, np.int64])
def test_quantile_matches_the_definition(rng, share, dtype):
    for X in (rng.poisson(3, (301, 7)), 200 * rng.random((301, 7)), rng.integers(0, 255, (3, 1))):
        X = X.astype(dtype)
        found = survey_values(X, None, share)
        assert (found.lowest, found.highest) == (X.min(), X.max())
        if by_definition(X, share) > X.min():
            assert found.quantile() == by_definition(X, share)


def test_a_sample_that_misleads_does_no_harm(rng):
    X = np.zeros(300_000)
    X[1::2] = rng.normal(size=150_000)  # a stride of the sample may see one kind only
    assert survey_values(X[:, None], None, 0.9).quantile() == by_definition(X, 0.9)


def test_threads_and_sparse_storage_change_nothing(rng):
    X = rng.poisson(1.0, (70_000, 9)).astype(float)
    one = survey_values(X, None, 0.975)
    for other in (
        survey_values(X, None, 0.975, n_jobs=2),
        survey_values(sparse.csr_matrix(X), None, 0.975),
        survey_values(X, np.ones(len(X)), 0.975),
    ):
        assert (other.lowest, other.highest) == (one.lowest, one.highest)
        assert other.quantile() == one.quantile()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_that_are_not_finite_are_noticed(rng, dtype):
    X = rng.random((30, 7)).astype(dtype)
    assert survey_values(X, None, 0.975).finite
    for bad in (np.nan, np.inf, -np.inf):
        for where in (0, 100, 209):
            spoiled = X.copy()
            spoiled.flat[where] = bad
            assert not survey_values(spoiled, None, 0.975).finite


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.int64])
def test_levels_made_on_the_way_are_those_of_the_quantizer(rng, dtype):
    X = rng.poisson(1.0, (7_003, 9)).astype(dtype)
    for top in (100, 300):
        one, two = (survey_values(X, None, 0.975, jobs, top=top) for jobs in (None, 2))
        expected = Quantizer(top).fit_transform(X)
        for found in (one, two):
            np.testing.assert_array_equal(found.levels, expected)
            assert found.levels.dtype == expected.dtype
            plain = survey_values(X, None, 0.975)
            assert (found.lowest, found.highest) == (plain.lowest, plain.highest)
            assert found.quantile() == plain.quantile()


def test_levels_are_not_made_by_wrong_limits(rng):
    X = rng.poisson(1.0, (300_000, 1)).astype(float)
    assert survey_values(X, None, 0.975, top=100).levels is not None
    X[1] = -1  # not in the sample
    lower = survey_values(X, None, 0.975, top=100)
    assert lower.levels is None
    assert lower.lowest == -1
    X[1] = np.nan
    assert not survey_values(X, None, 0.975, top=100).finite
    X = np.zeros(300_000)
    X[1::2] = rng.poisson(9.0, 150_000)  # a stride of the sample may see one kind only
    found = survey_values(X[:, None], None, 0.9, top=100)
    assert found.quantile() == by_definition(X, 0.9)
    assert survey_values(rng.random((90, 90)), None, 0.975, top=100).levels is None
