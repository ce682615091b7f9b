import numpy as np
import pytest
from numba import njit

from tests.reference import additive_svm as reference
from visualwords.classifiers.low_rank.additive_kernels import additive_kernel

NUMBERS = np.array([0.0, 1e-6, 0.01, 0.3, 0.75, 1.0])


@pytest.mark.parametrize("p", [-0.5, -1, -8, -np.inf])
def test_power_mean_is_the_papers(p):
    found = additive_kernel("power_mean", p).pairs(NUMBERS, NUMBERS)
    wanted = [[reference.power_mean(x, y, p) for y in NUMBERS] for x in NUMBERS]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_jensen_shannon_is_the_papers():
    found = additive_kernel("jensen_shannon").pairs(NUMBERS, NUMBERS)
    wanted = [[reference.jensen_shannon(x, y) for y in NUMBERS] for x in NUMBERS]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", ["power_mean", "jensen_shannon", lambda x, y: min(x, y)])
def test_diagonal_and_multiples_agree_with_the_pairs(kernel):
    kernel = additive_kernel(kernel).of_multiples(3.0)
    np.testing.assert_allclose(np.diag(kernel.pairs(NUMBERS, NUMBERS)), kernel.same(NUMBERS))
    np.testing.assert_allclose(kernel.same(NUMBERS), 3 * NUMBERS)


def test_a_compiled_function_is_a_kernel():
    function = njit(lambda x, y: min(x, y))
    found = additive_kernel(function).pairs(NUMBERS, NUMBERS)
    np.testing.assert_array_equal(found, np.minimum.outer(NUMBERS, NUMBERS))


@pytest.mark.parametrize(
    ("kernel", "p", "message"),
    [
        ("rbf", -1, "choose 'power_mean'"),
        ("power_mean", 1, "p ≤ 0"),
        (lambda x, y: np.exp(-((x - y) ** 2)), -1, "must be 0 where"),
        (lambda x, y: x * x * y, -1, "symmetric"),
        (lambda x, y: np.nan, -1, "finite"),
    ],
)
def test_other_kernels_are_refused(kernel, p, message):
    with pytest.raises(ValueError, match=message):
        additive_kernel(kernel, p)
