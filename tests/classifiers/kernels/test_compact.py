"""The compactly supported family against the paper's integral, recursion and counterexample."""

import numpy as np
import pytest
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
