"""What all kernels of rows promise: their definition, in any layout, on any number of threads."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from tests.reference import kernels as slow
from visualwords.classifiers import kernels


def of_distance(function):
    return lambda x, y: function(np.linalg.norm(x - y))


def ball(u, n):
    return slow.gcs_recursion(u, n) if u < 1 else 0.0


def split(mean):
    """An additive kernel of signed rows, whose columns become two by sign."""
    return lambda x, y: mean(slow.split(x), slow.split(y))


D, R, S = 9, 2.5, 0.8  # columns, and widths that reach some of the other rows
DEFINITIONS = {
    **{name: ({}, getattr(slow, name)) for name in ("gint", "gmm", "ngmm")},
    "intersection": ({}, split(slow.intersection)),
    "chi2": ({}, split(lambda x, y: slow.power_mean(x, y, -1))),
    "power_mean": ({"p": -3.0}, split(lambda x, y: slow.power_mean(x, y, -3))),
    "jensen_shannon": ({}, split(slow.jensen_shannon)),
    "gcs": ({"radius": R}, of_distance(lambda d: ball(d / 2 / R, D))),
    "cs": (
        {"radius": R, "sigma": S},
        of_distance(lambda d: ball(d / 2 / R, D) * np.exp(-d / S)),
    ),
    "triangular": ({"radius": R}, of_distance(lambda d: ball(d / 2 / R, 1))),
    "circular": ({"radius": R}, of_distance(lambda d: 2 * ball(d / 2 / R, 2))),
    "spherical": ({"radius": R}, of_distance(lambda d: 1.5 * ball(d / 2 / R, 3))),
    "laplace": ({"sigma": S}, of_distance(lambda d: np.exp(-d / S))),
    "rbf": ({"gamma": S}, of_distance(lambda d: np.exp(-S * d * d))),
    "polynomial": ({"degree": 3, "gamma": S}, lambda x, y: (1 + S * x @ y) ** 3),
}
LOW_DIMENSIONS = ("triangular", "circular", "spherical")  # no kernels of nine columns
MINMAX = ("intersection", "gint", "gmm", "ngmm")


def gram(kernel, *rows, **more):
    return getattr(kernels, kernel)(*rows, **(DEFINITIONS[kernel][0] | more))


@pytest.fixture
def signed(rng):
    """Rows with zeros, one of them empty, two equal, and two nearly so."""
    X = rng.normal(size=(11, D)) * (rng.random((11, D)) < 0.7)
    X[1], X[2], X[3] = 0, X[5], X[6] + 1e-9
    return X


@pytest.mark.parametrize("kernel", DEFINITIONS)
def test_gram_matches_the_definition_in_every_layout(signed, kernel):
    X, other = signed, np.abs(signed[:5])
    expected, of_other = (slow.gram(DEFINITIONS[kernel][1], X, Y) for Y in (X, other))
    frozen = X.copy()
    frozen.flags.writeable = False
    stored_zeros = sparse.csr_array(np.ones_like(X))
    stored_zeros.data = X.ravel().copy()
    strided = np.asfortranarray(np.repeat(X, 2, axis=0))[::2]
    for rows in (X, frozen, strided, sparse.csr_array(X), sparse.coo_matrix(X), stored_zeros):
        K = gram(kernel, rows)
        np.testing.assert_allclose(K, expected, rtol=1e-11, atol=1e-13)
        np.testing.assert_array_equal(K, K.T)
        for columns in (other, sparse.csr_array(other)):
            np.testing.assert_allclose(gram(kernel, rows, columns), of_other, 1e-11, atol=1e-13)
    narrow = gram(kernel, X.astype(np.float32))
    np.testing.assert_allclose(narrow, expected, rtol=1e-4, atol=1e-5)
    parameters = inspect.signature(getattr(kernels, kernel)).parameters
    if "a" in parameters:
        remapped = np.sign(X) * np.sqrt(np.abs(X))
        np.testing.assert_allclose(gram(kernel, X, a=0.5), gram(kernel, remapped), atol=1e-12)
        with pytest.raises(ValueError, match="a > 0"):
            gram(kernel, X, a=0)
    if "n_jobs" in parameters:
        many = np.tile(X, (9, 1))
        np.testing.assert_array_equal(gram(kernel, many, n_jobs=3), gram(kernel, many))
    if "sparse" in parameters:
        thin = gram(kernel, X, sparse=True)
        assert thin.format == "csr"
        np.testing.assert_allclose(thin.toarray(), expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("kernel", DEFINITIONS)
def test_counts_of_any_type_are_those_numbers(rng, kernel):
    X = rng.integers(0, 120, (13, D)) * (rng.random((13, D)) < 0.6)
    widths = {"radius": 90.0, "sigma": 70.0, "gamma": 1e-4}
    more = {name: value for name, value in widths.items() if name in DEFINITIONS[kernel][0]}
    expected = gram(kernel, X.astype(float), **more)
    for kind in (np.int64, np.int16, np.int8, np.uint8, np.float32):
        K = gram(kernel, X.astype(kind), **more)
        np.testing.assert_allclose(K, expected, rtol=1e-5, atol=1e-6)
        if kernel in MINMAX:
            assert K.dtype == (np.float64 if kind == np.int64 else np.float32)


values = st.floats(-100, 100, allow_nan=False, width=32)
some_rows = st.integers(2, 12).flatmap(lambda n: arrays(np.float64, (n, 4), elements=values))


@pytest.mark.parametrize("kernel", [k for k in DEFINITIONS if k not in LOW_DIMENSIONS])
@settings(max_examples=25, deadline=None)
@given(X=some_rows)
def test_gram_is_symmetric_positive_semidefinite_and_bounded(kernel, X):
    K = gram(kernel, X)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() >= -1e-11 * max(1, np.trace(K))
    if kernel in ("gint", "gmm", "ngmm", "laplace", "rbf"):
        assert 0 <= K.min() <= K.max() <= 1 + 1e-12


@pytest.mark.parametrize("kernel", DEFINITIONS)
def test_no_rows_and_impossible_ones(kernel):
    assert gram(kernel, np.empty((0, 3)), np.ones((2, 3))).shape == (0, 2)
    assert gram(kernel, np.ones((2, 3)), np.empty((0, 3))).shape == (2, 0)
    assert gram(kernel, np.empty((0, 3))).shape == (0, 0)
    with pytest.raises(ValueError, match="X has 2 columns and Y has 3"):
        gram(kernel, [[1.0, 2.0]], [[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="NaN"):
        gram(kernel, [[np.nan, 1.0]])
    for name in DEFINITIONS[kernel][0]:
        for wrong in (-1.0, np.nan) if name != "p" else (1.0,):
            with pytest.raises(ValueError, match=name):
                gram(kernel, [[1.0]], **{name: wrong})
