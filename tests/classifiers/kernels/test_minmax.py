"""Intersection, GInt, GMM and NGMM: definitions, properties, layouts and corner rows."""

import joblib
import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from tests.reference import hik
from tests.reference import kernels as slow
from visualwords.classifiers import kernels
from visualwords.classifiers.kernels import _intersection_uint8
from visualwords.classifiers.kernels.minmax import level_gram
from visualwords.classifiers.kernels.rows import split_signs


def test_example_of_the_paper_splits_by_sign():
    np.testing.assert_array_equal(split_signs(np.array([[-5, 3]])), [[0, 5, 3, 0]])
    X = np.array([[-5.0, 3.0], [0.0, -1.0]])
    split = split_signs(sparse.csr_array(X))
    np.testing.assert_array_equal(split.toarray(), split_signs(X))
    np.testing.assert_array_equal(split.toarray()[0], slow.split(X[0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("full", [0.5, 0.02])  # compared in tiles, by lists
@pytest.mark.parametrize("shape", [(7, 5, 3), (70, 37, 1030), (5, 3, 2100)])
def test_sums_of_minima_match_the_city_block_distance_in_every_layout(rng, dtype, full, shape):
    n, m, d = shape
    x, y = ((rng.random((k, d)) * (rng.random((k, d)) < full)).astype(dtype) for k in (n, m))
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    for other in (None, y):
        a, b = x.astype(float), (x if other is None else other).astype(float)
        expected = (a.sum(1)[:, None] + b.sum(1) - cdist(a, b, "cityblock")) / 2
        found = kernels.intersection(x, other, n_jobs=2)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=1e-14)


@pytest.mark.parametrize("highest", [100, 256, 1000])
@pytest.mark.parametrize("n", [1, 3, 70])
@pytest.mark.parametrize("d", [1, 63, 65, 257])
def test_levels_are_compared_exactly(rng, highest, n, d):
    x, y = (rng.integers(0, highest, (k, d)).astype(np.uint16) for k in (n, 9))
    if highest <= 256:
        x, y = x.astype(np.uint8), y.astype(np.uint8)
    else:
        x[:, ::2] //= 10  # some features need one byte, others several
    np.testing.assert_array_equal(level_gram(x, y), hik.intersection_gram(x, y))
    np.testing.assert_array_equal(level_gram(y, x), hik.intersection_gram(y, x))
    np.testing.assert_array_equal(level_gram(x), hik.intersection_gram(x, x))
    rows = rng.permutation(n)[: n // 2 + 1]
    np.testing.assert_array_equal(level_gram(x, rows=rows), level_gram(x[rows]))


def test_levels_give_the_same_with_any_processor_threads_and_memory_order(rng, monkeypatch):
    x = rng.integers(0, 256, (600, 100)).astype(np.uint8)
    gram = level_gram(x)
    x.flags.writeable = False
    np.testing.assert_array_equal(level_gram(np.asfortranarray(x), n_jobs=2), gram)
    with joblib.parallel_config("loky", n_jobs=2):
        np.testing.assert_array_equal(level_gram(x), gram)
    monkeypatch.setattr(_intersection_uint8, "WIDTH", 0)
    np.testing.assert_array_equal(level_gram(x), gram)
    np.testing.assert_array_equal(level_gram(x[:9], x), gram[:9])


def test_counts_are_summed_exactly_whatever_their_type(rng):
    X = rng.poisson(300, (11, 33)) * (rng.random((11, 33)) < 0.8)
    expected = np.minimum(X[:, None], X[None]).sum(axis=2)
    for same in (X, X.astype(np.float32), X.astype(np.uint16), sparse.csr_array(X.astype(float))):
        np.testing.assert_array_equal(kernels.intersection(same), expected)


def test_sums_too_large_for_float32_stay_exact_in_float64():
    X = np.full((3, 2), 2.0**24) + np.arange(6).reshape(3, 2)
    expected = np.minimum(X[:, None], X[None]).sum(axis=2)
    np.testing.assert_array_equal(kernels.intersection(X), expected)


def test_rows_of_zeros_match_nothing_and_ngmm_is_a_monotone_function_of_gint(rng):
    X = rng.normal(size=(12, 9))
    X[6] = 0
    G = kernels.gint(X)
    np.testing.assert_allclose(kernels.ngmm(X), G / (2 - G), rtol=1e-13)
    assert not G[6].any()
