"""Logarithms of matrices against SciPy's and those of eigenvalues."""

import numpy as np
import pytest
from scipy.linalg import logm

from visualwords.codebook.second_order import log_matrices


def unfolded(matrix):
    row, column = np.triu_indices(len(matrix))
    return matrix[row, column] * np.where(row == column, 1, np.sqrt(2))


def logarithm(moments, epsilon=0.1):
    d = moments.shape[-1]
    found = np.full((1, d * (d + 1) // 2), np.nan, np.float32)
    log_matrices(moments.astype(np.float32)[None], epsilon, found)
    return found[0]


def moments_of(n, d, rng, scale=1.0):
    x = scale * (rng.standard_normal((n, d)) * np.linspace(0.3, 2, d) + 0.5)
    return x.T @ x / max(n, 1)


@pytest.mark.parametrize(
    ("n", "d"), [(200, 64), (30, 64), (50, 37), (40, 3), (9, 2), (5, 1), (0, 8)]
)
def test_logarithms_are_those_of_scipy(rng, n, d):
    moments = moments_of(n, d, rng)
    expected = unfolded(logm(moments + 0.1 * np.eye(d)))
    np.testing.assert_allclose(logarithm(moments), expected, atol=1e-4)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 20.0])
@pytest.mark.parametrize("scale", [1e-4, 0.1, 3.0])
def test_eigenvalues_far_below_and_above_one_are_fine(rng, epsilon, scale):
    moments = moments_of(100, 16, rng, scale)
    values, vectors = np.linalg.eigh(moments)
    expected = unfolded((vectors * np.log(values + epsilon)) @ vectors.T)
    # rounding of single precision, in parts of the smallest eigenvalue
    tolerance = 1e-5 + 1e-6 * values.max() / (values.min() + epsilon)
    np.testing.assert_allclose(logarithm(moments, epsilon), expected, atol=tolerance)


def test_matrices_whose_rounding_exceeds_the_least_eigenvalue_stay_finite(rng):
    found = logarithm(moments_of(5, 32, rng, scale=1e5))
    assert np.isfinite(found).all()
    assert np.abs(found).max() < 64
