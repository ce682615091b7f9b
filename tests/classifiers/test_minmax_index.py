"""The hash tables: exact similarities, recall, growth, and files that are not trusted."""

import json
import zipfile

import numpy as np
import pytest
from scipy import sparse

from visualwords.classifiers import MinMaxIndex, kernels
from visualwords.classifiers.minmax_index import _starts
from visualwords.errors import ModelFileError
from visualwords.model_file import read_model, write_model


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


def test_search_finds_nearly_all_and_compares_few(clusters):
    index = MinMaxIndex(n_hashes=256, n_compared=60).fit(clusters)
    report = index.evaluate(clusters[:100], k=10)
    assert report.recall > 0.95
    assert report.scanned < 0.1
    assert index.codes_per_table_ > 1
    sure = MinMaxIndex(codes_per_table=1, n_compared=1200).fit(clusters).evaluate(clusters[:20], 10)
    assert sure.recall == 1


def test_adding_rows_equals_fitting_them_together(clusters):
    together = MinMaxIndex(codes_per_table=3).fit(clusters)
    grown = MinMaxIndex(codes_per_table=3).fit(clusters[:700]).add(clusters[700:])
    assert grown.n_rows_ == 1200
    for a, b in zip(together.query(clusters[600:], 4), grown.query(clusters[600:], 4)):
        np.testing.assert_array_equal(a, b)


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


def test_saved_index_answers_alike(clusters, tmp_path):
    index = MinMaxIndex(similarity="gint", random_state=5).fit(clusters)
    index.save(tmp_path / "near.vw")
    again = MinMaxIndex.load(tmp_path / "near.vw")
    for a, b in zip(index.query(clusters[:30], 3), again.query(clusters[:30], 3)):
        np.testing.assert_array_equal(a, b)
    more = again.add(clusters[:10])
    assert more.n_rows_ == 1210
    assert more.query(clusters[:1], 2)[0].tolist() == [[0, 1200]]


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("indices", lambda a: a + 1000),
        ("indptr", lambda a: a[::-1].copy()),
        ("data", lambda a: a * np.float32(np.nan)),
        ("data", lambda a: a.astype(np.float64)),
        ("keys", lambda a: a[:, 1:].copy()),
        ("keys", lambda a: a.astype(np.int64)),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(clusters, tmp_path, name, spoil):
    MinMaxIndex().fit(clusters[:50]).save(tmp_path / "near.vw")
    manifest, arrays = read_model(tmp_path / "near.vw")
    arrays[name] = spoil(arrays[name])
    write_model(tmp_path / "bad.vw", manifest, arrays)
    with pytest.raises(ModelFileError, match=r"bad\.vw"):
        MinMaxIndex.load(tmp_path / "bad.vw")


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_hashes", 10**12), ("codes_per_table", 0), ("similarity", "rbf"), ("seed", "x")],
)
def test_impossible_manifests_are_refused(clusters, tmp_path, name, value):
    MinMaxIndex().fit(clusters[:50]).save(tmp_path / "near.vw")
    manifest, arrays = read_model(tmp_path / "near.vw")
    manifest["parameters"][name] = value
    write_model(tmp_path / "bad.vw", manifest, arrays)
    with pytest.raises(ModelFileError, match="not an index of rows"):
        MinMaxIndex.load(tmp_path / "bad.vw")


def test_other_files_are_refused(tmp_path):
    write_model(tmp_path / "other.vw", {"kind": "ImageClassifier"}, {})
    (tmp_path / "text.vw").write_text("no zip")
    with zipfile.ZipFile(tmp_path / "plain.vw", "w") as archive:
        archive.writestr("manifest.json", json.dumps({"format_version": 1, "arrays": {}}))
    for name in ("other.vw", "text.vw", "plain.vw", "missing.vw"):
        with pytest.raises(ModelFileError, match=name):
            MinMaxIndex.load(tmp_path / name)


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
    assert index.evaluate(X[:7], 5) == (1, 1)


def test_long_sparse_rows_of_many_scenes_are_looked_up(rng):
    words = rng.dirichlet(np.full(500, 0.02), 100)
    X = sparse.csr_matrix(rng.poisson(200 * words[rng.integers(0, 100, 1000)]).astype(float))
    index = MinMaxIndex(n_hashes=64, random_state=0).fit(X)
    assert not index.exhaustive_
    assert index.evaluate(X[:20], 5).scanned < 0.5


@pytest.mark.parametrize("n", [1, 7, 8, 1000])
def test_keys_lie_between_the_starts_of_their_first_bits(rng, n):
    tables = np.sort(rng.integers(0, 2**64, (3, n), np.uint64), axis=1)
    tables[0, : n // 2] = tables[0, 0]
    starts, shift = _starts(tables)
    for keys, places in zip(tables, starts):
        prefix = (keys >> shift).astype(np.int64)
        assert np.all((places[prefix] <= np.arange(n)) & (np.arange(n) < places[prefix + 1]))
    assert np.all(starts[:, -1] == n)
