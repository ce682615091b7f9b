import numpy as np
import pytest
from scipy import sparse

from visualwords.classifiers.level_rows import (
    canonical,
    frequent_first,
    level_rows,
    level_scale,
    level_weights,
    survey,
)


def test_pairs_are_the_nearest_levels_of_the_scaled_values(rng):
    X = rng.random((7, 5)) * (rng.random((7, 5)) < 0.6)
    place = np.array([3, 0, 4, 1, 2], np.uint32)
    for matrix in (X, sparse.csr_matrix(X)):
        scale = level_scale(survey(matrix, "global"), "global", 50, "uniform")
        rows = level_rows(matrix, scale, place)
        found = np.zeros((7, 5))
        where = np.repeat(np.arange(7), np.diff(rows.bounds))
        found[where, rows.columns] = rows.levels
        np.testing.assert_array_equal(found[:, place], np.rint(X / X.max() * 50))


def test_small_values_get_levels_even_in_the_root():
    X = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 100000.0]])
    scale = level_scale(survey(X, "global"), "global", 1000, "auto")
    rows = level_rows(X, scale, np.arange(3, dtype=np.uint32))
    assert scale.root
    assert rows.levels.tolist() == [3, 4, 5, 3, 4, 1000]
    even = level_scale(survey(X / 100000 + 0.5, "global"), "global", 1000, "auto")
    assert not even.root


def test_survey_samples_all_columns_of_a_large_matrix(rng):
    X = np.ones((3000, 600), np.float32)
    found = survey(X, "global")
    assert np.unique(found.columns).size == 600
    assert found.columns.size < 200_000
    weights = level_weights(found, level_scale(found, "global", 10, "uniform"))
    assert np.flatnonzero(weights).tolist() == [10]


def test_joined_surveys_have_the_limits_of_both_and_a_bounded_sample():
    parts = [survey(np.full((1000, 65), value), "global") for value in (1.0, 5.0)]
    whole = parts[0]
    for _ in range(30):
        whole = whole.joined(parts[1])
    assert (whole.low[0], whole.high[0]) == (0.0, 5.0)
    assert whole.columns.size == whole.values.size < 600_000


def test_frequent_columns_come_first():
    X = sparse.csr_matrix(np.array([[0, 1, 1], [0, 0, 1], [0, 1, 1.0]]))
    assert frequent_first(survey(X, "global"), 3).tolist() == [2, 1, 0]


def test_sparse_negative_values_are_refused_and_duplicates_summed():
    with pytest.raises(ValueError, match="dense"):
        survey(sparse.csr_matrix([[-1.0, 2.0]]), "global")
    twice = sparse.csr_matrix((np.array([1.0, 2.0, 0.0]), np.array([0, 0, 1]), np.array([0, 3])))
    assert canonical(twice).nnz == 1
    assert twice.nnz == 3
