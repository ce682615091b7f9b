import numpy as np
import pytest
from scipy import sparse

from visualwords.classifiers import ICDClassifier
from visualwords.classifiers.tables import linearity


def test_counts_of_levels_agree_between_dense_and_sparse(rng):
    levels = rng.poisson(0.8, (30, 4)).astype(np.uint8)
    counts = linearity.level_counts(levels, 9)
    np.testing.assert_array_equal(counts, linearity.level_counts(sparse.csr_matrix(levels), 9))
    assert np.all(counts.sum(axis=1) == 30)


def test_a_straight_table_stays_as_it_is(rng):
    tables = rng.normal(size=(2, 3, 1)) * np.arange(6)
    counts = rng.integers(1, 9, (3, 6))
    np.testing.assert_allclose(linearity.straight_tables(tables, counts), tables, atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_linear_data_are_told_from_data_that_need_curves(rng, form):
    X = rng.integers(0, 30, (600, 2))
    slope = X[:, 0] > X[:, 1]
    ring = np.abs(X - 15).sum(axis=1) < 12
    straight = ICDClassifier(C=1, quantization="integer").fit(form(X), slope)
    curved = ICDClassifier(C=1, quantization="integer").fit(form(X), ring)
    assert straight.score(form(X), slope) > 0.9
    assert curved.score(form(X), ring) > 0.9
    assert straight.linearity(form(X)) > 0.95
    assert curved.linearity(form(X)) < 0.85
