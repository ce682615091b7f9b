"""The compactly supported family against the paper's integral, recursion and counterexample."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

from tests.reference import kernels as slow
from visualwords.classifiers import kernels
from visualwords.classifiers.kernels.compact import phi

DIMENSIONS = [1, 2, 3, 4, 5, 8, 12, 13, 20, 64, 500, 6200]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 16])
def test_closed_form_equals_the_integral_and_the_halved_recursion(n):
    for u in (0.0, 1e-3, 0.3, 0.77, 0.999, 1.0):
        assert phi(u, n) == pytest.approx(slow.gcs_integral(u, n), abs=1e-12)
        assert phi(u, n) == pytest.approx(slow.gcs_recursion(u, n), abs=1e-12)
    assert phi(1.5, n) == 0


@pytest.mark.parametrize("n", DIMENSIONS)
def test_table_stays_within_1e_12_of_the_closed_form(rng, n):
    u = np.concatenate([[0, 1, 1.01], np.geomspace(1e-12, 1, 500), rng.random(5000)])
    radius = 0.35
    points = np.zeros((len(u), n))
    points[:, 0] = 2 * radius * u
    K = kernels.gcs(np.zeros((1, n)), points, radius=radius)
    assert np.abs(K[0] - phi(u, n)).max() <= 1e-12 * phi(0, n)


def test_special_cases_are_the_low_dimensions():
    for n, function, scale in [
        (1, kernels.triangular, 1.0),
        (2, kernels.circular, 2.0),
        (3, kernels.spherical, 1.5),
    ]:
        X = np.random.default_rng(n).normal(size=(20, n))
        K = function(X, radius=1.3)
        np.testing.assert_allclose(K, scale * kernels.gcs(X, radius=1.3), atol=1e-13)
    u = cdist(X, X) / 2.6
    inside = u < 1
    np.testing.assert_allclose(K, np.where(inside, 1 - 1.5 * u + 0.5 * u**3, 0), atol=1e-12)
    circle = np.arccos(np.minimum(u, 1)) - u * np.sqrt(1 - np.minimum(u, 1) ** 2)
    np.testing.assert_allclose(kernels.circular(X, radius=1.3), circle, atol=1e-12)


def test_triangular_kernel_is_not_positive_definite_in_the_plane():
    grid = np.stack(np.meshgrid(np.arange(8), np.arange(8)), -1).reshape(-1, 2)
    signs = (-1.0) ** grid.sum(axis=1)
    points = grid * np.sqrt(2) * 0.7
    K = kernels.triangular(points, radius=0.7)
    assert signs @ K @ signs == pytest.approx(-1.6081, abs=5e-5)  # [Boughorbel06], Sec. 2
    assert np.linalg.eigvalsh(kernels.gcs(points, radius=0.7)).min() > -1e-12


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.floats(0.1, 3))
def test_gcs_and_cs_are_positive_semidefinite_in_any_dimension(seed, n, radius):
    X = np.random.default_rng(seed).normal(size=(25, n)) / np.sqrt(n)
    for K in (kernels.gcs(X, radius=radius), kernels.cs(X, radius=radius, sigma=0.5)):
        np.testing.assert_array_equal(K, K.T)
        assert np.linalg.eigvalsh(K).min() >= -1e-10 * K[0, 0]


@pytest.mark.parametrize("n", [2, 30])
def test_cs_is_the_product_of_gcs_and_laplace(rng, n):
    X, Y = rng.random((30, n)), rng.random((7, n))
    product = kernels.gcs(X, Y, radius=0.8, a=0.5) * kernels.laplace(X, Y, sigma=0.4, a=0.5)
    np.testing.assert_allclose(
        kernels.cs(X, Y, radius=0.8, sigma=0.4, a=0.5), product, rtol=1e-12, atol=1e-300
    )


@pytest.mark.parametrize("kernel", ["gcs", "cs", "triangular", "circular", "spherical"])
def test_sparse_gram_equals_the_dense_one(rng, kernel):
    X, Y = rng.random((600, 3)), rng.random((521, 3))  # more than one tile
    parameters = {"radius": 0.15} | ({"sigma": 0.3} if kernel == "cs" else {})
    function = getattr(kernels, kernel)
    for other in (None, Y):
        dense = function(X, other, **parameters)
        thin = function(X, other, **parameters, sparse=True)
        assert sparse.issparse(thin)
        assert thin.format == "csr"
        assert thin.has_sorted_indices
        assert thin.nnz < 0.5 * dense.size
        np.testing.assert_allclose(thin.toarray(), dense, rtol=1e-13, atol=1e-16)


def test_distances_far_from_the_origin_do_not_blur_the_cusp(rng):
    X = rng.random((20, 16))
    X = np.vstack([X, X + 1e-9, X]) + 1000.0
    radius = 0.01
    expected = phi(cdist(X, X) / (2 * radius), 16)
    K = kernels.gcs(X, radius=radius)
    assert np.abs(K - expected).max() <= 1e-12 * phi(0, 16)
    thin = kernels.gcs(X, radius=radius, sparse=True)
    assert np.abs(thin.toarray() - expected).max() <= 1e-12 * phi(0, 16)


@pytest.mark.parametrize("kernel", ["gcs", "cs", "triangular", "circular", "spherical"])
def test_sparse_rows_give_the_values_of_dense_ones(rng, kernel):
    X = rng.random((40, 6)) * (rng.random((40, 6)) < 0.4)
    X[30:35], X[35:] = X[:5], X[:5] + 1e-9 * (X[:5] > 0)  # equal rows, and nearly so
    Y = X[5:12] + 0.1 * (X[5:12] > 0)
    parameters = {"radius": 0.3, "a": 0.5} | ({"sigma": 0.3} if kernel == "cs" else {})
    function = getattr(kernels, kernel)
    for other in (None, Y, sparse.csr_array(Y)):
        expected = function(X, None if other is None else Y, **parameters)
        for wanted in (False, True):
            K = function(sparse.csr_array(X), other, **parameters, sparse=wanted)
            K = K.toarray() if wanted else K
            np.testing.assert_allclose(K, expected, rtol=1e-11, atol=1e-13)


def test_power_remap_keeps_signs(rng):
    X = rng.normal(size=(9, 4))
    remapped = np.sign(X) * np.abs(X) ** 0.25
    np.testing.assert_allclose(
        kernels.gcs(X, radius=2.0, a=0.25), kernels.gcs(remapped, radius=2.0), atol=1e-13
    )


def test_no_rows_and_one_row():
    assert kernels.gcs(np.empty((0, 3)), np.ones((2, 3)), radius=1.0).shape == (0, 2)
    assert kernels.gcs(np.ones((2, 3)), np.empty((0, 3)), radius=1.0, sparse=True).shape == (2, 0)
    assert kernels.gcs([[1.0, 2.0]], radius=1.0) == pytest.approx(phi(0, 2))


@pytest.mark.parametrize("radius", [0, -1, np.nan, np.inf])
def test_impossible_parameters_are_refused(radius):
    with pytest.raises(ValueError, match="radius"):
        kernels.gcs([[1.0]], radius=radius)
    with pytest.raises(ValueError, match="sigma"):
        kernels.cs([[1.0]], radius=1.0, sigma=-abs(radius))
    with pytest.raises(ValueError, match="a > 0"):
        kernels.gcs([[1.0]], radius=1.0, a=-abs(radius))
