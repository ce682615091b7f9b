"""Intersection, GInt, GMM and NGMM: definitions, properties, layouts and corner rows."""

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.spatial.distance import cdist

from tests.reference import hik
from tests.reference import kernels as slow
from visualwords.classifiers import kernels
from visualwords.classifiers.kernels import _intersection_uint8
from visualwords.classifiers.kernels.minmax import level_gram
from visualwords.classifiers.kernels.rows import split_signs

SIGNED = ["gint", "gmm", "ngmm"]
FAMILY = ["intersection", *SIGNED]


def rows(rng, kernel, n, d=9):
    X = rng.normal(size=(n, d))
    X[rng.random((n, d)) < 0.3] = 0
    X[n // 2] = 0  # a row without mass
    return np.abs(X) if kernel == "intersection" else X


@pytest.mark.parametrize("kernel", FAMILY)
@pytest.mark.parametrize("n", [1, 3, 4, 9])
def test_gram_matches_the_definition(rng, kernel, n):
    X, Y = rows(rng, kernel, n), rows(rng, kernel, 5)
    for other in (None, Y):
        expected = slow.gram(getattr(slow, kernel), X, X if other is None else other)
        got = getattr(kernels, kernel)(X, other)
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-15)


def test_example_of_the_paper_splits_by_sign():
    np.testing.assert_array_equal(split_signs(np.array([[-5, 3]])), [[0, 5, 3, 0]])
    X = np.array([[-5.0, 3.0], [0.0, -1.0]])
    split = split_signs(sparse.csr_array(X))
    np.testing.assert_array_equal(split.toarray(), split_signs(X))
    np.testing.assert_array_equal(split.toarray()[0], slow.split(X[0]))


@pytest.mark.parametrize("kernel", FAMILY)
def test_float32_bytes_sparse_readonly_and_strided_rows_agree_with_float64(rng, kernel):
    X = rng.integers(0, 200, (13, 40)).astype(np.float64)
    X[rng.random(X.shape) < 0.6] = 0
    function = getattr(kernels, kernel)
    expected = function(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    strided = np.asfortranarray(np.repeat(X, 2, axis=0))[::2]
    for same in (frozen, strided, X.astype(np.int64), sparse.csr_array(X), sparse.coo_matrix(X)):
        np.testing.assert_allclose(function(same), expected, rtol=1e-13)
    for narrow in (X.astype(np.float32), X.astype(np.uint8), X.astype(np.int16)):
        got = function(narrow)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, expected, rtol=1e-6)
        np.testing.assert_allclose(function(narrow, narrow[:3]), expected[:, :3], rtol=1e-6)
    np.testing.assert_allclose(function(sparse.csr_array(X), X[:3]), expected[:, :3], rtol=1e-13)


@pytest.mark.parametrize("kernel", SIGNED)
def test_smallest_signed_byte_is_not_lost(kernel):
    X = np.array([[-128, 127], [127, -128]], dtype=np.int8)
    function = getattr(kernels, kernel)
    np.testing.assert_allclose(function(X), function(X.astype(float)), rtol=1e-6)


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


@pytest.mark.parametrize("kernel", FAMILY)
def test_diagonal_alone_equals_the_diagonal(rng, kernel):
    X = rows(rng, kernel, 8)
    function = getattr(kernels, kernel)
    np.testing.assert_allclose(function(X, diag=True), np.diag(function(X)), rtol=1e-13)
    with pytest.raises(ValueError, match="leave out Y"):
        function(X, X, diag=True)


@pytest.mark.parametrize("kernel", FAMILY)
def test_result_does_not_depend_on_the_number_of_threads(rng, kernel):
    X = rows(rng, kernel, 90, 50)
    function = getattr(kernels, kernel)
    np.testing.assert_array_equal(function(X), function(X, n_jobs=3))


def test_intersection_of_signed_rows_is_that_of_the_split_ones(rng):
    X = rng.normal(size=(8, 5))
    split = np.array([slow.split(x) for x in X])
    np.testing.assert_allclose(kernels.intersection(X), kernels.intersection(split))


def test_ngmm_is_a_monotone_function_of_gint(rng):
    X = rows(rng, "gint", 12)
    G = kernels.gint(X)
    np.testing.assert_allclose(kernels.ngmm(X), G / (2 - G), rtol=1e-13)


values = st.floats(-100, 100, allow_nan=False, width=32)
histograms = st.integers(2, 12).flatmap(lambda n: arrays(np.float64, (n, 4), elements=values))


@pytest.mark.parametrize("kernel", FAMILY)
@settings(max_examples=40, deadline=None)
@given(X=histograms)
def test_gram_is_symmetric_positive_semidefinite_and_bounded(kernel, X):
    K = getattr(kernels, kernel)(X)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() >= -1e-12 * max(1, np.trace(K))
    if kernel != "intersection":
        assert K.min() >= 0
        assert K.max() <= 1 + 1e-12


@pytest.mark.parametrize("kernel", FAMILY)
def test_no_rows_give_an_empty_matrix(kernel):
    function = getattr(kernels, kernel)
    assert function(np.empty((0, 3)), np.ones((2, 3))).shape == (0, 2)
    assert function(np.empty((0, 3))).shape == (0, 0)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="X has 2 columns and Y has 3"):
        kernels.gmm([[1.0, 2.0]], [[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="NaN"):
        kernels.gint([[np.nan, 1.0]])
