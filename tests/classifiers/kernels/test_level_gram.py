import joblib
import numpy as np
import pytest

from tests.reference import hik
from visualwords.classifiers.kernels import _intersection_uint8 as loops
from visualwords.classifiers.kernels.level_gram import level_gram


@pytest.mark.parametrize("n", [1, 2, 3, 5, 70])
@pytest.mark.parametrize("d", [1, 31, 32, 33, 100, 257])
def test_gram_matches_the_definition(rng, n, d):
    x = rng.integers(0, 256, (n, d)).astype(np.uint8)
    y = rng.integers(0, 256, (9, d)).astype(np.uint8)
    np.testing.assert_array_equal(level_gram(x, y), hik.intersection_gram(x, y))
    np.testing.assert_array_equal(level_gram(y, x), hik.intersection_gram(y, x))
    np.testing.assert_array_equal(level_gram(x), hik.intersection_gram(x, x))


def test_counts_above_a_byte_are_exact(rng):
    x = rng.integers(0, 1000, (12, 40)).astype(np.uint16)
    x[:, :20] //= 10
    np.testing.assert_array_equal(level_gram(x), hik.intersection_gram(x, x))
    np.testing.assert_array_equal(level_gram(x, x[:5]), hik.intersection_gram(x, x[:5]))


def test_few_high_counts_among_small_ones_are_exact(rng):
    x = rng.integers(0, 128, (9, 150)).astype(np.uint16)
    x[:, 7] = rng.integers(0, 500, 9)
    np.testing.assert_array_equal(level_gram(x), hik.intersection_gram(x, x))
    small = np.minimum(x, 127).astype(np.uint8)
    np.testing.assert_array_equal(level_gram(small), hik.intersection_gram(small, small))


def test_some_rows_can_be_chosen(rng):
    x = rng.integers(0, 101, (40, 70)).astype(np.uint8)
    rows = rng.permutation(40)[:23]
    np.testing.assert_array_equal(level_gram(x, rows=rows), level_gram(x[rows]))


def test_gram_does_not_depend_on_threads_or_memory_order(rng):
    x = rng.integers(0, 101, (200, 64)).astype(np.uint8)
    gram = level_gram(x)
    np.testing.assert_array_equal(level_gram(x, n_jobs=2), gram)
    np.testing.assert_array_equal(level_gram(np.asfortranarray(x)), gram)
    x.flags.writeable = False
    np.testing.assert_array_equal(level_gram(x), gram)


def test_gram_is_symmetric_and_positive_semidefinite(rng):
    gram = level_gram(rng.poisson(2, (40, 5)).astype(np.uint8)).astype(float)
    np.testing.assert_array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram).min() > -1e-9


def test_the_plain_loop_gives_the_same(rng):
    x = rng.integers(0, 256, (6, 50)).astype(np.uint8)
    out = np.zeros((6, 6), np.float32)
    loops.gram_rows_plain(x, x, 0, 6, out)
    np.testing.assert_array_equal(level_gram(x), out)


def test_rows_are_written_in_this_process_whatever_the_backend(rng):
    x = rng.integers(0, 101, (150, 40)).astype(np.uint8)
    with joblib.parallel_config("loky", n_jobs=2):
        np.testing.assert_array_equal(level_gram(x), hik.intersection_gram(x, x))
