"""Canonical rows, numbered levels and table layouts: what the HIK solvers stand on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from tests.reference import hik
from visualwords.classifiers.tables import (
    additive_tables,
    level_codes,
    rows,
)


def test_equal_rows_of_equal_labels_are_merged():
    levels = np.array([[1, 2], [3, 0], [1, 2], [1, 2]], np.uint8)
    labels = rows.label_keys(np.array(["a", "b"]))[[0, 0, 0, 1]]
    found = rows.canonical_rows(levels, labels, np.array([1.0, 2.0, 0.5, 4.0]))
    assert sorted(found.rows.tolist()) in ([0, 1, 3], [1, 2, 3])
    assert sorted(found.cost.tolist()) == [1.5, 2.0, 4.0]
    assert np.all(np.diff(found.keys.astype(float)) > 0)


def test_rows_without_cost_do_not_take_part():
    levels = np.eye(3, dtype=np.uint8)
    found = rows.canonical_rows(levels, np.zeros(3, np.uint64), np.array([1.0, 0.0, 1.0]))
    assert sorted(found.rows.tolist()) == [0, 2]


def test_keys_of_rows_agree_between_dense_and_sparse(rng):
    levels = rng.poisson(0.5, (20, 6)).astype(np.uint8)
    labels, cost = np.zeros(20, np.uint64), np.ones(20)
    dense = rows.canonical_rows(levels, labels, cost)
    thin = rows.canonical_rows(sparse.csr_matrix(levels), labels, cost)
    np.testing.assert_array_equal(dense.keys, thin.keys)
    np.testing.assert_array_equal(dense.rows, thin.rows)


def test_levels_are_numbered_if_few_occur():
    few = level_codes.occurring_levels(np.array([[0, 20, 100]], np.uint8))
    assert few.heights.tolist() == [0, 20, 100]
    numbers = few.numbers_of(np.array([20, 0, 100, 200], np.uint8))
    assert numbers.tolist() == [1, 0, 2, 2]
    assert few.contains(np.array([20, 0, 100, 200], np.uint8))
    assert not few.contains(np.array([50], np.uint8))
    many = level_codes.occurring_levels(np.array([[0, 2, 3]], np.uint8))
    assert many.is_identity


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_codes_and_heights_give_back_the_levels(rng, kind):
    levels = (rng.integers(0, 4, (30, 5)) * [1, 10, 50, 3, 0]).astype(kind)
    layout = level_codes.table_layout(levels, np.arange(30), int(levels.max()) + 1)
    data = level_codes.encode_levels(levels, layout)
    assert np.all(data.offsets % 8 == 0)
    np.testing.assert_array_equal(data.heights[data.offsets[:-1] + data.codes], levels)


@settings(max_examples=25, deadline=None)
@given(arrays(np.uint8, (6, 3), elements=st.integers(0, 40)), st.integers(1, 12))
def test_tables_and_look_ups_equal_their_definitions(levels, n_outputs):
    coefficients = np.random.default_rng(0).normal(size=(6, n_outputs))
    layout = level_codes.full_layout(levels, aligned=False)
    values = additive_tables.build_tables(
        levels,
        np.arange(6),
        additive_tables.add_lanes(coefficients, np.float64),
        layout.offsets,
        layout.heights,
    )
    scores = additive_tables.table_scores(levels, layout.offsets, values)[:, :n_outputs]
    expected = hik.intersection_gram(levels, levels) @ coefficients
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("n_outputs", [1, 3, 20])
def test_tables_of_many_features_equal_their_definition(rng, kind, n_outputs):
    levels = rng.poisson(0.7, (30, 300)).astype(kind)
    coefficients = rng.normal(size=(30, n_outputs))
    layout = level_codes.full_layout(levels, aligned=False)
    values = additive_tables.build_tables(
        levels,
        np.arange(30),
        additive_tables.add_lanes(coefficients, np.float64),
        layout.offsets,
        layout.heights,
    )
    for j in range(300):
        cells = slice(layout.offsets[j], layout.offsets[j + 1])
        smaller = np.minimum(levels[:, j], layout.heights[cells, None])
        np.testing.assert_allclose(
            values[cells, :n_outputs], smaller @ coefficients, rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("n_levels", [2, 8, 9, 10, 17, 200])
def test_levels_that_occur_late_and_once_are_found(n_levels):
    levels = np.zeros(30_000, np.uint8)
    chosen = np.arange(n_levels) * (1 if n_levels > 100 else 12)
    levels[-n_levels * 100 :: 100] = chosen
    found = level_codes.occurring_levels(levels[:, None]).heights
    assert set(chosen.tolist()) <= set(found.tolist())
    if n_levels < 100:
        assert found.tolist() == chosen.tolist()


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, (8, 3), elements=st.floats(0, 1e6)))
def test_the_intersection_kernel_is_positive_semidefinite_for_real_values(X):
    gram = hik.intersection_gram(X, X)
    scale = max(gram.max(), 1.0)
    assert np.linalg.eigvalsh(gram / scale).min() > -1e-9
