"""The pyramid match as products of sparse vectors."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from visualwords.classifiers.kernels import pyramid_match
from visualwords.codebook import PyramidMatchEmbedding


@pytest.fixture
def sets(rng):
    some = [rng.integers(0, 90, (rng.integers(1, 40), 3)) for _ in range(12)]
    return [*some, np.empty((0, 3)), np.repeat(some[0], 3, axis=0)]


@pytest.mark.parametrize("normalization", ["self", None])
def test_products_are_the_kernel(sets, normalization):
    embedding = PyramidMatchEmbedding(3, normalization, side=90).fit(sets)
    rows = embedding.transform(sets)
    assert rows.indices.dtype == rows.indptr.dtype == np.int32  # as LIBLINEAR takes them
    assert embedding.transform([]).shape == (0, embedding.n_columns_)
    gram = pyramid_match(sets, n_shifts=3, normalization=normalization, side=90)
    np.testing.assert_allclose((rows @ rows.T).toarray(), gram, atol=1e-12)


def test_products_of_new_sets_with_training_sets_are_the_kernel(sets, rng):
    embedding = PyramidMatchEmbedding(2, None, finest_level=1, side=90).fit(sets)
    new = [rng.integers(-50, 200, (n, 3)) for n in (0, 1, 30)] + [np.full((60, 3), 10**6)]
    wanted = pyramid_match(new, sets, n_shifts=2, normalization=None, side=90, finest_level=1)
    products = embedding.transform(new) @ embedding.transform(sets).T
    np.testing.assert_allclose(products.toarray(), wanted, atol=1e-12)


@pytest.mark.parametrize("d", [1, 40, 130])
def test_any_number_of_dimensions(rng, d):
    sets = [rng.integers(0, 20, (15, d)) // 4 for _ in range(8)]
    rows = PyramidMatchEmbedding(2, None).fit_transform(sets)
    gram = pyramid_match(sets, n_shifts=2, normalization=None)
    np.testing.assert_allclose((rows @ rows.T).toarray(), gram, atol=1e-12)


def test_bins_of_a_single_set_can_be_left_out(sets):
    full = PyramidMatchEmbedding(2).fit_transform(sets)
    small = PyramidMatchEmbedding(2, min_sets=2).fit_transform(sets)
    assert small.nnz < full.nnz
    difference = (full @ full.T - small @ small.T).toarray()
    np.testing.assert_allclose(difference, np.diag(np.diag(difference)), atol=1e-12)


def test_a_linear_classifier_takes_the_rows(sets):
    rows = PyramidMatchEmbedding(2).fit_transform(sets)
    labels = np.arange(len(sets)) % 2
    assert LinearSVC(C=100.0).fit(rows, labels).score(rows[:12], labels[:12]) == 1


def test_other_dimensions_than_in_training_are_an_error(sets):
    with pytest.raises(ValueError, match="fitted on 3"):
        PyramidMatchEmbedding().fit(sets).transform([np.ones((2, 4))])
