"""The pyramid match as products of sparse vectors."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import LinearSVC

from visualwords.classifiers import ICDClassifier
from visualwords.classifiers.kernels import intersection, pyramid_match
from visualwords.codebook import PyramidMatchEmbedding


@pytest.fixture
def sets(rng):
    some = [rng.integers(0, 90, (rng.integers(1, 40), 3)) for _ in range(12)]
    return [*some, np.empty((0, 3)), np.repeat(some[0], 3, axis=0)]


@pytest.mark.parametrize("normalization", ["self", None])
def test_products_are_the_kernel(sets, normalization):
    rows = PyramidMatchEmbedding(3, normalization, side=90).fit_transform(sets)
    gram = pyramid_match(sets, n_shifts=3, normalization=normalization, side=90)
    np.testing.assert_allclose((rows @ rows.T).toarray(), gram, atol=1e-12)


def test_products_of_new_sets_with_training_sets_are_the_kernel(sets, rng):
    embedding = PyramidMatchEmbedding(2, None, finest_level=1, side=90).fit(sets)
    new = [rng.integers(-50, 200, (n, 3)) for n in (0, 1, 30)] + [np.full((60, 3), 10**6)]
    wanted = pyramid_match(new, sets, n_shifts=2, normalization=None, side=90, finest_level=1)
    products = embedding.transform(new) @ embedding.transform(sets).T
    np.testing.assert_allclose(products.toarray(), wanted, atol=1e-12)


def test_minima_of_counts_are_the_kernel(sets):
    embedding = PyramidMatchEmbedding(2, None, form="counts", side=90, finest_level=2)
    rows = embedding.fit_transform(sets)
    np.testing.assert_array_equal(rows.data, np.floor(rows.data))
    gram = pyramid_match(sets, n_shifts=2, normalization=None, side=90, finest_level=2)
    np.testing.assert_allclose(intersection(rows.toarray()), gram * 2**7)


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


def test_few_sets_at_a_time_give_the_same_rows(sets, monkeypatch):
    embedding = PyramidMatchEmbedding(2).fit(sets)
    at_once = embedding.transform(sets)
    monkeypatch.setattr("visualwords.codebook.pyramid_embedding._POINTS_AT_A_TIME", 25)
    assert (embedding.transform(sets) != at_once).nnz == 0
    assert at_once.indices.dtype == at_once.indptr.dtype == np.int32
    assert embedding.transform([]).shape == (0, embedding.n_columns_)


def test_state_is_plain_arrays_and_restores_the_embedding(sets):
    embedding = PyramidMatchEmbedding(2, finest_level=2).fit(sets)
    state = embedding.get_state()
    assert all(isinstance(v, np.ndarray) and v.dtype != object for v in state.values())
    restored = clone(embedding).set_state(state)
    assert (restored.transform(sets) != embedding.transform(sets)).nnz == 0


def test_a_linear_classifier_takes_the_rows(sets):
    rows = PyramidMatchEmbedding(2).fit_transform(sets)
    labels = np.arange(len(sets)) % 2
    assert LinearSVC(C=100.0).fit(rows, labels).score(rows[:12], labels[:12]) == 1


def test_the_intersection_classifier_learns_from_counts(rng):
    corners = np.array([[10, 10], [50, 50]])
    labels = np.arange(40) % 2
    sets = [corners[k] + rng.integers(-9, 9, (rng.integers(5, 30), 2)) for k in labels]
    embedding = PyramidMatchEmbedding(2, None, form="counts", finest_level=2, side=64)
    model = ICDClassifier(quantization="integer").fit(
        embedding.fit_transform(sets[:30]), labels[:30]
    )
    assert model.score(embedding.transform(sets[30:]), labels[30:]) == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"form": "binary"}, "choose 'unary'"),
        ({"normalization": "min_cardinality"}, "not positive semi-definite"),
        ({"form": "counts"}, "normalization=None"),
        ({"min_sets": 0}, "at least 1"),
    ],
)
def test_bad_parameters_are_named(sets, parameters, message):
    with pytest.raises(ValueError, match=message):
        PyramidMatchEmbedding(**parameters).fit(sets)


def test_other_dimensions_than_in_training_are_an_error(sets):
    with pytest.raises(ValueError, match="fitted on 3"):
        PyramidMatchEmbedding().fit(sets).transform([np.ones((2, 4))])
