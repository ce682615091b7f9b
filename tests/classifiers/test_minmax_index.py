"""The hash tables: exact similarities, recall, and when they are not used."""

import numpy as np
import pytest
from scipy import sparse

from visualwords.classifiers import MinMaxIndex, kernels


@pytest.fixture
def clusters(rng):
    """60 centres, 20 rows near each, of counts; a few values negative."""
    centres = rng.gamma(0.3, 30, (60, 40)) * rng.choice([1, 1, 1, -1], (60, 40))
    X = np.repeat(centres, 20, axis=0) * rng.uniform(0.7, 1.3, (1200, 40))
    return rng.permutation(X)


@pytest.mark.parametrize("similarity", ["ngmm", "gmm", "gint"])
def test_neighbours_and_similarities_are_those_of_the_kernel(clusters, similarity):
    index = MinMaxIndex(similarity=similarity, random_state=0).fit(clusters)
    indices, similarities = index.query(clusters[:50], 5)
    K = getattr(kernels, similarity)(clusters[:50], clusters)
    np.testing.assert_allclose(similarities, np.take_along_axis(K, indices, 1), rtol=1e-5)
    np.testing.assert_array_equal(indices[:, 0], np.arange(50))
    assert np.all(np.diff(similarities, axis=1) <= 0)
    best = np.sort(K, axis=1)[:, -5:].sum()
    assert similarities.sum() >= 0.99 * best


def recall(index, stored, queries, k=10):
    """Share of the truly nearest rows that are found."""
    least = np.sort(kernels.ngmm(queries, stored), axis=1)[:, -k]
    return np.mean(index.query(queries, k)[1] >= least[:, None] - 1e-6)


def test_search_finds_nearly_all_though_it_compares_few(clusters):
    index = MinMaxIndex(n_hashes=256, n_compared=60).fit(clusters)
    assert recall(index, clusters, clusters[:100]) > 0.95
    assert index.codes_per_table_ > 1
    assert not index.exhaustive_
    sure = MinMaxIndex(codes_per_table=1, n_compared=1200).fit(clusters)
    assert recall(sure, clusters, clusters[:20]) == 1
    hasty = MinMaxIndex(codes_per_table=12, n_compared=10).fit(clusters)
    assert recall(hasty, clusters, clusters[:100]) < 0.9


def test_layout_and_threads_change_nothing(clusters):
    index = MinMaxIndex().fit(clusters)
    thin = MinMaxIndex(n_jobs=3).fit(sparse.csr_array(clusters))
    for a, b in zip(index.query(clusters[:90], 3), thin.query(sparse.csr_array(clusters[:90]), 3)):
        np.testing.assert_array_equal(a, b)


def test_rows_without_company_are_answered_by_comparing_all():
    X = np.eye(6)
    indices, similarities = MinMaxIndex().fit(X).query(X[:1], 6)
    assert indices.tolist() == [[0, 1, 2, 3, 4, 5]]
    assert similarities.tolist() == [[1, 0, 0, 0, 0, 0]]
    empty = MinMaxIndex().fit(np.vstack([X, np.zeros((1, 6))]))
    assert empty.query(np.zeros((1, 6)), 7)[1].tolist() == [[0] * 7]
    assert MinMaxIndex().fit(X[:1]).query(X[:1], 1)[0].tolist() == [[0]]


def test_bad_questions_are_refused():
    index = MinMaxIndex().fit(np.eye(3))
    with pytest.raises(ValueError, match="k is 4, but the index holds 3 rows"):
        index.query(np.eye(3), 4)
    with pytest.raises(ValueError, match="features"):
        index.query(np.eye(2), 1)
    for bad in ({"similarity": "rbf"}, {"target_recall": 0}, {"codes_per_table": 999}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            MinMaxIndex(**bad).fit(np.eye(3))


def test_short_rows_that_are_all_alike_are_compared_with_all(rng):
    X = rng.uniform(4, 5, (300, 4))
    index = MinMaxIndex(n_hashes=64, random_state=0).fit(X)
    assert index.exhaustive_
    indices, similarities = index.query(X[:7], 5)
    K = kernels.ngmm(X[:7], X)
    np.testing.assert_array_equal(indices, np.argsort(-K, axis=1, kind="stable")[:, :5])
    np.testing.assert_allclose(similarities, np.take_along_axis(K, indices, 1), rtol=1e-5)


def test_long_sparse_rows_of_many_scenes_are_looked_up(rng):
    words = rng.dirichlet(np.full(500, 0.02), 100)
    X = sparse.csr_matrix(rng.poisson(200 * words[rng.integers(0, 100, 1000)]).astype(float))
    index = MinMaxIndex(n_hashes=64, random_state=0).fit(X)
    assert not index.exhaustive_
    assert recall(index, X, X[:20], 5) > 0.9
