"""χ², Jensen–Shannon and power mean kernels."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import additive_chi2_kernel

from visualwords.classifiers import kernels


@pytest.fixture
def histograms(rng):
    X = rng.random((12, 7)) * (rng.random((12, 7)) < 0.7)
    X[3] = 0
    return X


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
