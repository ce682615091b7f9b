import numpy as np
import pytest

from tests.reference import additive_svm as reference
from visualwords.classifiers.low_rank.additive_kernels import additive_kernel
from visualwords.classifiers.low_rank.kernel_expansions import (
    eigen_expansion,
    kernel_error,
    polynomial_expansion,
)

GRID = np.linspace(0, 1, 1001)


@pytest.mark.parametrize(("p", "mean_error"), [(-1, 1e-4), (-8, 1e-3)])
def test_default_is_more_accurate_than_the_papers_polynomials(p, mean_error):
    kernel = additive_kernel("power_mean", p)
    eigen = kernel_error(eigen_expansion(kernel, GRID), GRID)
    assert eigen.mean() <= mean_error
    for nodes in ("adhoc", "chebyshev"):
        polynomial = kernel_error(polynomial_expansion(kernel, 2, nodes), GRID)
        assert eigen.mean() < polynomial.mean() / 20
        assert eigen.max() < polynomial.max()


def test_eigen_kernel_is_symmetric_positive_semidefinite_and_zero_at_zero():
    psi = eigen_expansion(additive_kernel("power_mean", -8), GRID).score(GRID)
    assert np.linalg.eigvalsh((psi @ psi.T).astype(float))[0] > -1e-4
    np.testing.assert_array_equal(psi[0], 0)


@pytest.mark.parametrize("rank", [1, 4, 8, 16])
def test_error_falls_with_the_rank_down_to_the_next_eigenvalue(rank):
    kernel = additive_kernel("power_mean", -8)
    error = kernel_error(eigen_expansion(kernel, GRID, rank=rank), GRID)
    spectrum = np.linalg.eigvalsh(kernel.pairs(GRID, GRID))[::-1] / GRID.size
    best = np.sqrt(np.square(spectrum[rank:]).sum())  # Eckart–Young
    assert np.sqrt(np.square(error).mean()) <= 1.05 * best + 1e-6


def test_weights_move_the_accuracy_to_where_the_data_are():
    kernel = additive_kernel("power_mean", -8)
    small = (GRID < 0.03).astype(float)
    error = [
        kernel_error(eigen_expansion(kernel, GRID, w, 4), GRID[:30]).mean() for w in (None, small)
    ]
    assert error[1] < error[0] / 2


def test_automatic_rank_follows_the_values_that_occur():
    kernel, values = additive_kernel("power_mean", -1), GRID**2
    alike = np.exp(-((np.log(values[1:]) + 2) ** 2))
    apart = (values < 1e-4) + 1e-3 * (values > 0.9)  # most are 10,000 times as small as others
    for weights, rank in ((np.append(0, alike), 4), (apart, 8), (np.zeros(GRID.size), 4)):
        assert eigen_expansion(kernel, values, weights).score(values).shape[1] == rank


def test_polynomial_is_the_papers_interpolation():
    expansion = polynomial_expansion(additive_kernel("power_mean", -1), degree=3)
    x, y = np.array([0.0, 0.2, 0.9]), np.array([0.01, 0.5, 1.0])
    found = expansion.score(x) @ expansion.update(y).T
    wanted = [
        [
            reference.paper_polynomial(
                lambda a, b: reference.power_mean(a, b, -1), s, t, expansion.nodes
            )
            for t in y
        ]
        for s in x
    ]
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_polynomial_is_exact_at_its_nodes():
    for nodes in ("adhoc", "chebyshev"):
        expansion = polynomial_expansion(additive_kernel("power_mean", -8), 2, nodes)
        found = expansion.score(expansion.nodes) @ expansion.update(GRID).T
        wanted = expansion.kernel.pairs(expansion.nodes, GRID)
        np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_polynomial_error_falls_with_the_degree_and_chebyshev_has_the_smaller_maximum():
    kernel = additive_kernel("power_mean", -1)
    errors = [
        kernel_error(polynomial_expansion(kernel, degree), GRID).max() for degree in (2, 3, 4, 5)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] < kernel_error(polynomial_expansion(kernel, 2, "adhoc"), GRID).max()


def test_a_kernel_without_positive_eigenvalue_is_refused():
    with pytest.raises(ValueError, match="positive definite"):
        eigen_expansion(additive_kernel(lambda x, y: -x * y), GRID)
