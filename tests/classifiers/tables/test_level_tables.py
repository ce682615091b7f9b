"""Canonical rows, numbered levels and tables: what the HIK solvers stand on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from tests.reference import hik
from visualwords.classifiers.tables import level_tables as lv
from visualwords.classifiers.tables.level_tables import build_tables, table_scores


def test_equal_rows_of_the_same_class_are_merged():
    levels = np.array([[1, 2], [3, 0], [1, 2], [1, 2], [9, 9]], np.uint8)
    codes, cost = np.array([0, 0, 0, 1, 1]), np.array([1.0, 2.0, 0.5, 4.0, 0.0])
    for form in (np.asarray, sparse.csr_matrix):
        rows, merged = lv.canonical_rows(form(levels), codes, cost)
        assert sorted(rows.tolist()) in ([0, 1, 3], [1, 2, 3])  # a row without cost is left out
        assert sorted(merged.tolist()) == [1.5, 2.0, 4.0]


def test_rows_have_the_same_order_dense_and_sparse(rng):
    levels, codes = rng.poisson(0.5, (20, 6)).astype(np.uint8), np.arange(20) % 2
    dense, _ = lv.canonical_rows(levels, codes, np.ones(20))
    thin, _ = lv.canonical_rows(sparse.csr_matrix(levels), codes, np.ones(20))
    np.testing.assert_array_equal(dense, thin)


def test_levels_are_numbered_if_few_occur():
    few = lv.learn_layout(np.array([[0, 20], [20, 100]], np.uint8))
    assert few.heights.tolist() == [0, 20, 100]
    assert few.offsets.tolist() == [0, 2, 5]  # a feature has the levels up to its highest
    assert few.number_of[[0, 10, 20, 99, 100, 200]].tolist() == [0, 0, 1, 1, 2, 2]
    many = lv.learn_layout(np.array([[0, 2, 3]], np.uint8))
    assert many.heights.tolist() == [0, 1, 2, 3]


def scores_by_definition(levels, coefficients):
    return hik.intersection_gram(levels, levels) @ coefficients


@settings(max_examples=25, deadline=None)
@given(arrays(np.uint8, (6, 3), elements=st.integers(0, 40)), st.integers(1, 12))
def test_tables_and_look_ups_equal_their_definitions(levels, n_outputs):
    coefficients = np.random.default_rng(0).normal(size=(6, n_outputs))
    layout = lv.learn_layout(levels)
    values = build_tables(levels, np.arange(6), coefficients, layout)
    expected = scores_by_definition(levels, coefficients)
    scores = table_scores(levels, layout, values)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("n_outputs", [1, 3, 20])
def test_tables_of_many_features_equal_their_definition(rng, kind, n_outputs):
    levels = rng.poisson(0.7, (30, 300)).astype(kind)
    coefficients, layout = rng.normal(size=(30, n_outputs)), lv.learn_layout(levels)
    values = build_tables(levels, np.arange(30), coefficients, layout)
    for j in range(300):
        cells = slice(layout.offsets[j], layout.offsets[j + 1])
        smaller = np.minimum(levels[:, j], layout.heights[: cells.stop - cells.start, None])
        np.testing.assert_allclose(values[cells], smaller @ coefficients, rtol=1e-5, atol=1e-5)
    thin = build_tables(sparse.csr_matrix(levels), np.arange(30), coefficients, layout)
    np.testing.assert_allclose(thin, values, rtol=1e-5, atol=1e-6)
