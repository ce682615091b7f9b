"""Additive kernels of two numbers, and the short vectors that they become."""

import numpy as np
import pytest
from numba import njit

from tests.reference import additive_svm as reference
from visualwords.classifiers.kernels.expansions import (
    additive_kernel,
    eigen_expansion,
    kernel_error,
    polynomial_expansion,
)

GRID = np.linspace(0, 1, 501)
NUMBERS = np.array([0.0, 1e-6, 0.01, 0.3, 0.75, 1.0])
KERNELS = {  # what users write, and the definition
    **{p: (("power_mean", p), lambda x, y, p=p: reference.power_mean(x, y, p)) for p in (-0.5, -1)},
    **{
        p: (("power_mean", p), lambda x, y, p=p: reference.power_mean(x, y, p))
        for p in (-8, -np.inf)
    },
    "jensen_shannon": (("jensen_shannon",), reference.jensen_shannon),
    "a function": ((lambda x, y: min(x, y),), min),
    "a compiled function": ((njit(lambda x, y: min(x, y)),), min),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_the_papers(name):
    given, definition = KERNELS[name]
    kernel = additive_kernel(*given)
    wanted = np.array([[definition(x, y) for y in NUMBERS] for x in NUMBERS])
    np.testing.assert_allclose(kernel.pairs(NUMBERS, NUMBERS), wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel.same(NUMBERS), np.diag(wanted), rtol=1e-9)


@pytest.mark.parametrize(
    ("kernel", "p", "message"),
    [
        ("rbf", -1, "choose 'power_mean'"),
        ("power_mean", 1, "p ≤ 0"),
        (lambda x, y: np.exp(-((x - y) ** 2)), -1, "must be 0 where"),
        (lambda x, y: x * x * y, -1, "symmetric"),
        (lambda x, y: np.nan, -1, "finite"),
        (lambda x, y: -x * y, -1, "positive definite"),
    ],
)
def test_other_kernels_are_refused(kernel, p, message):
    with pytest.raises(ValueError, match=message):
        eigen_expansion(additive_kernel(kernel, p), GRID)


@pytest.mark.parametrize(("p", "mean_error"), [(-1, 1e-4), (-8, 1e-3)])
def test_default_is_more_accurate_than_the_papers_polynomials(p, mean_error):
    kernel = additive_kernel("power_mean", p)
    eigen = kernel_error(eigen_expansion(kernel, GRID), GRID)
    assert eigen.mean() <= mean_error
    for nodes in ("adhoc", "chebyshev"):
        polynomial = kernel_error(polynomial_expansion(kernel, 2, nodes), GRID)
        assert eigen.mean() < polynomial.mean() / 20
        assert eigen.max() < polynomial.max()


@pytest.mark.parametrize("rank", [1, 4, 16])
def test_eigen_kernel_is_the_best_of_its_rank(rank):
    kernel = additive_kernel("power_mean", -8)
    expansion = eigen_expansion(kernel, GRID, rank=rank)
    spectrum = np.linalg.eigvalsh(kernel.pairs(GRID, GRID))[::-1] / GRID.size
    best = np.sqrt(np.square(spectrum[rank:]).sum())  # Eckart–Young
    error = kernel_error(expansion, GRID)
    assert np.sqrt(np.square(error).mean()) <= 1.05 * best + 1e-6
    np.testing.assert_array_equal(expansion.score(GRID)[0], 0)


def test_weights_move_the_accuracy_to_where_the_data_are():
    kernel = additive_kernel("power_mean", -8)
    small = (GRID < 0.03).astype(float)
    error = [
        kernel_error(eigen_expansion(kernel, GRID, w, 4), GRID[:15]).mean() for w in (None, small)
    ]
    assert error[1] < error[0] / 2


def test_automatic_rank_follows_the_values_that_occur():
    kernel, values = additive_kernel("power_mean", -1), np.linspace(0, 1, 1001) ** 2
    alike = np.exp(-((np.log(values[1:]) + 2) ** 2))
    apart = (values < 1e-4) + 1e-3 * (values > 0.9)  # most are 10,000 times as small as others
    for weights, rank in ((np.append(0, alike), 4), (apart, 8), (np.zeros(values.size), 4)):
        assert eigen_expansion(kernel, values, weights).score(values).shape[1] == rank


def test_polynomial_is_the_papers_interpolation():
    kernel = additive_kernel("power_mean", -1)
    x, y = np.array([0.0, 0.2, 0.9]), np.array([0.01, 0.5, 1.0])
    for expansion in (polynomial_expansion(kernel, 3), polynomial_expansion(kernel, 2, "adhoc")):
        found = expansion.score(x) @ expansion.update(y).T
        mean, nodes = KERNELS[-1][1], expansion.nodes
        wanted = [[reference.paper_polynomial(mean, s, t, nodes) for t in y] for s in x]
        np.testing.assert_allclose(found, wanted, atol=1e-6)
        at_nodes = expansion.score(nodes) @ expansion.update(GRID).T
        np.testing.assert_allclose(at_nodes, kernel.pairs(nodes, GRID), atol=1e-6)


def test_polynomial_error_falls_with_the_degree_and_chebyshev_has_the_smaller_maximum():
    kernel = additive_kernel("power_mean", -1)
    errors = [kernel_error(polynomial_expansion(kernel, m), GRID).max() for m in (2, 3, 4, 5)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] < kernel_error(polynomial_expansion(kernel, 2, "adhoc"), GRID).max()
