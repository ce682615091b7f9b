import numpy as np
import pytest
from scipy import sparse

from visualwords.classifiers.low_rank.level_rows import (
    MULTIPLE,
    level_rows,
    level_scale,
    level_weights,
    rows_by_length,
)
from visualwords.classifiers.low_rank.level_survey import (
    UNMOVED,
    canonical,
    frequent_first,
    survey,
    surveyed,
)


def test_pairs_are_the_nearest_levels_of_the_scaled_values(rng):
    X = rng.random((7, 5)) * (rng.random((7, 5)) < 0.6)
    place = np.array([3, 0, 4, 1, 2, 5], np.uint32)
    for matrix in (X, sparse.csr_matrix(X)):
        scale = level_scale(survey(matrix, "global"), "global", 50, "uniform")
        rows = level_rows(matrix, scale, place)
        found = np.zeros((7, 5))
        where = np.repeat(np.arange(7), np.diff(rows.bounds))
        found[where, rows.columns] = rows.levels
        np.testing.assert_array_equal(found[:, place[:-1]], np.rint(X / X.max() * 50))


def test_small_values_get_levels_even_in_the_root():
    X = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 100000.0]])
    scale = level_scale(survey(X, "global"), "global", 1000, "auto")
    rows = level_rows(X, scale, UNMOVED)
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


def test_frequent_columns_come_first_where_there_are_many():
    few = np.array([[0, 1, 1], [0, 0, 1], [0, 1, 1.0]])
    assert frequent_first(survey(few, "global"), 3) is UNMOVED
    many = sparse.hstack([sparse.csr_matrix((3, 20000)), few]).tocsr()
    place = frequent_first(survey(many, "global"), 20003)
    assert place[-4:].tolist() == [20002, 1, 0, 20003]  # the last one fills rows
    np.testing.assert_array_equal(np.sort(place), np.arange(20004))
    scale = level_scale(survey(many, "global"), "global", 10, "uniform")
    assert rows_by_length(many, scale, place).columns[:4].tolist() == [1, 0, 20003, 20003]


def test_rows_by_length_are_the_same_rows_in_another_order(rng):
    X = rng.random((50, 30)) * (rng.random((50, 1)) > rng.random((50, 30)))
    X[7] = 0
    scale = level_scale(survey(X, "global"), "global", 50, "uniform")
    for matrix in (X, sparse.csr_matrix(X)):
        plain, by_length = (f(matrix, scale, UNMOVED) for f in (level_rows, rows_by_length))
        assert sorted(by_length.order.tolist()) == list(range(50))
        lengths = np.diff(by_length.bounds)
        assert not (lengths % MULTIPLE).any()
        assert (np.diff(lengths) >= 0).all()
        for row, sample in enumerate(by_length.order):
            columns, levels = (
                a[by_length.bounds[row] : by_length.bounds[row + 1]]
                for a in (by_length.columns, by_length.levels)
            )
            real = columns < 30
            assert not levels[~real].any()
            same = slice(plain.bounds[sample], plain.bounds[sample + 1])
            np.testing.assert_array_equal(columns[real], plain.columns[same])
            np.testing.assert_array_equal(levels[real], plain.levels[same])


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_survey_refuses_what_is_not_finite(rng, wrong):
    X = rng.random((7, 5)) + 0.1
    for row, column in ((0, 0), (6, 4)):
        bad = X.copy()
        bad[row, column] = wrong
        for matrix in (bad, bad.astype(np.float32), bad.T, sparse.csr_matrix(bad)):
            with pytest.raises(ValueError, match=r"NaN|infinity"):
                survey(matrix, "global")


def test_limits_are_those_of_numpy(rng):
    for X in (rng.random((7, 5)), rng.normal(size=(7, 5)), -rng.random((7, 5)), np.zeros((2, 2))):
        for matrix in (X, X.astype(np.float32), X.T):
            found = survey(matrix, "global")
            assert found.low[0] == np.float32(min(matrix.min(), 0))
            assert found.high[0] == np.float32(max(matrix.max(), 0))


def test_sparse_negative_values_are_refused_and_duplicates_summed():
    with pytest.raises(ValueError, match="dense"):
        survey(sparse.csr_matrix([[-1.0, 2.0]]), "global")
    twice = sparse.csr_matrix((np.array([1.0, 2.0, 0.0]), np.array([0, 0, 1]), np.array([0, 3])))
    assert canonical(twice).nnz == surveyed(twice, "global")[0].nnz == 1
    assert twice.nnz == 3
