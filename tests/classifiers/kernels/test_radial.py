"""Laplace, RBF and polynomial kernels."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from visualwords.classifiers import kernels

LAPLACE = (kernels.laplace, {"sigma": 0.4})
RBF = (kernels.rbf, {"gamma": 0.7})


@pytest.fixture
def signed(rng):
    """Rows of which some are zero, equal, or nearly so."""
    X = rng.normal(size=(24, 7)) * (rng.random((24, 7)) < 0.6)
    X[1], X[2], X[3] = 0, X[5], X[6] + 1e-9
    return X


@pytest.mark.parametrize("degree", range(1, 8))
def test_polynomial_and_rbf_are_those_of_scikit_learn(signed, degree):
    expected = polynomial_kernel(signed, degree=degree, gamma=0.3, coef0=1)
    ours = kernels.polynomial(signed, degree=degree, gamma=0.3)
    np.testing.assert_allclose(ours, expected, rtol=1e-13, atol=1e-13 * expected.max())
    ours, expected = kernels.rbf(signed, gamma=degree), rbf_kernel(signed, gamma=degree)
    np.testing.assert_allclose(ours, expected, atol=1e-12)


@pytest.mark.parametrize(("kernel", "parameters"), [LAPLACE, RBF])
def test_equal_rows_have_the_value_one_however_far_from_the_origin(rng, kernel, parameters):
    X = rng.random((9, 40)) + 1e4
    X = np.vstack([X, X])
    gram = kernel(X, **parameters)
    assert (np.diag(gram) == 1).all()
    np.testing.assert_array_equal(np.diag(gram[:9, 9:]), 1)
    np.testing.assert_array_equal(np.diag(kernel(X[:9], X[9:], **parameters)), 1)
    apart = cdist(X, X)
    expected = np.exp(-apart / 0.4) if kernel is kernels.laplace else np.exp(-0.7 * apart**2)
    np.testing.assert_allclose(gram, expected, rtol=1e-9)


def test_many_rows_are_compared_tile_by_tile(rng):
    X = rng.random((1100, 3))
    expected = np.exp(-cdist(X, X) / 0.4)
    np.testing.assert_allclose(kernels.laplace(X, sigma=0.4), expected, rtol=1e-12)
    np.testing.assert_allclose(kernels.laplace(X[:7], X, sigma=0.4), expected[:7], rtol=1e-12)
