"""χ², Jensen–Shannon and power mean kernels."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import additive_chi2_kernel

from tests.reference import kernels as slow
from visualwords.classifiers import kernels


@pytest.fixture
def histograms(rng):
    X = rng.random((12, 7)) * (rng.random((12, 7)) < 0.7)
    X[3] = 0
    return X


@pytest.mark.parametrize("p", [-0.3, -1, -2, -8])
def test_power_mean_matches_the_definition(histograms, p):
    expected = slow.gram(lambda x, y: slow.power_mean(x, y, p), histograms, histograms)
    np.testing.assert_allclose(kernels.power_mean(histograms, p=p), expected, rtol=1e-12)
    other = kernels.power_mean(histograms, histograms[:5], p=p)
    np.testing.assert_allclose(other, expected[:, :5], rtol=1e-12)


def test_power_mean_joins_the_known_kernels(histograms):
    X = histograms
    np.testing.assert_allclose(kernels.power_mean(X, p=-1), kernels.chi2(X))
    np.testing.assert_allclose(kernels.power_mean(X, p=-np.inf), kernels.intersection(X))
    np.testing.assert_allclose(kernels.power_mean(X, p=-1e4), kernels.intersection(X), rtol=1e-3)
    np.testing.assert_allclose(kernels.power_mean(X, p=-1e-6), kernels.power_mean(X, p=0), 1e-5)
    scaled = kernels.power_mean(X * 1e9, p=-40)
    np.testing.assert_allclose(scaled, 1e9 * kernels.power_mean(X, p=-40), rtol=1e-10)


def test_chi2_is_mass_minus_half_the_distance_of_scikit_learn(histograms):
    mass = histograms.sum(axis=1)
    expected = (mass[:, None] + mass + additive_chi2_kernel(histograms)) / 2
    np.testing.assert_allclose(kernels.chi2(histograms), expected, atol=1e-14)


def test_jensen_shannon_matches_the_definition(histograms):
    expected = slow.gram(slow.jensen_shannon, histograms, histograms)
    np.testing.assert_allclose(kernels.jensen_shannon(histograms), expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", ["power_mean", "chi2", "jensen_shannon"])
def test_additive_kernels_are_positive_semidefinite_in_every_layout(histograms, kernel):
    function = getattr(kernels, kernel)
    K = function(histograms, n_jobs=2)
    assert np.linalg.eigvalsh(K).min() > -1e-12
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(np.diag(K), histograms.sum(axis=1))
    np.testing.assert_array_equal(function(sparse.csr_array(histograms)), K)
    stored_zeros = sparse.csr_array(np.ones_like(histograms))
    stored_zeros.data = histograms.ravel().copy()
    np.testing.assert_array_equal(function(stored_zeros), K)
    narrow = function(histograms.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, K, rtol=1e-5)
    np.testing.assert_allclose(function(histograms, a=0.5), function(histograms**0.5))
    assert function(np.empty((0, 3)), np.ones((2, 3))).shape == (0, 2)
    signed = np.where(np.arange(histograms.shape[1]) % 3 == 0, -histograms, histograms)
    np.testing.assert_array_equal(function(signed), K)  # columns of one sign
    np.testing.assert_array_equal(function(sparse.csr_array(signed)), K)
    np.testing.assert_array_equal(function(histograms, -histograms), np.zeros_like(K))


def test_power_above_zero_is_refused():
    with pytest.raises(ValueError, match="p ≤ 0"):
        kernels.power_mean([[1.0]], p=1)
