"""Widths found from the data."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from visualwords.classifiers import kernels
from visualwords.classifiers.kernels.widths import median_distance, resolve_widths


@pytest.mark.parametrize("kernel", ["gcs", "triangular", "circular", "spherical"])
@pytest.mark.parametrize("d", [1, 3, 500])
def test_the_kernel_has_half_its_height_at_the_median_distance(rng, kernel, d):
    X = rng.random((41, d))
    found = resolve_widths(getattr(kernels, kernel), X, {"a": 0.5})
    apart = np.zeros((2, d))
    apart[1, 0] = np.median(pdist(np.sqrt(X))) ** 2  # the remap takes the root
    K = getattr(kernels, kernel)(apart, **found)
    assert K[0, 1] / K[0, 0] == pytest.approx(0.5, abs=0.01)


def test_sigma_is_the_median_distance_and_gamma_the_inverse_variance(rng):
    X = rng.normal(size=(30, 4))
    assert resolve_widths(kernels.laplace, X)["sigma"] == pytest.approx(
        np.median(pdist(X)), rel=0.02
    )
    assert resolve_widths(kernels.polynomial, X)["gamma"] == pytest.approx(1 / (4 * X.var()))
    assert set(resolve_widths(kernels.cs, X)) == {"radius", "sigma"}


@pytest.mark.parametrize("kernel", ["cs", "polynomial"])
def test_sparse_rows_and_weights_are_dense_rows_that_repeat(rng, kernel):
    X = rng.random((20, 5)) * (rng.random((20, 5)) < 0.5)
    weight = rng.integers(0, 3, 20).astype(float)
    expected = resolve_widths(getattr(kernels, kernel), np.repeat(X, weight.astype(int), axis=0))
    found = resolve_widths(getattr(kernels, kernel), sparse.csr_array(X), sample_weight=weight)
    assert found == pytest.approx(expected)


def test_numbers_stay_and_other_kernels_need_none(rng):
    X = rng.random((9, 2))
    assert resolve_widths(kernels.gcs, X, {"radius": 3.0}) == {"radius": 3.0}
    assert resolve_widths(kernels.chi2, X, {"a": 0.5}) == {"a": 0.5}


def test_many_rows_are_sampled_by_the_seed(rng):
    X = rng.random((3000, 2))
    assert median_distance(X, 0) == median_distance(X, 0) != median_distance(X, 1)
    assert median_distance(X) == pytest.approx(np.median(pdist(X)), rel=0.05)


def test_rows_that_are_all_alike_have_width_one():
    assert median_distance(np.ones((5, 3))) == 1.0
    assert resolve_widths(kernels.polynomial, np.zeros((4, 2))) == {"gamma": 1.0}
