"""Rows by columns: the values of the kernel functions, for few rows."""

import numpy as np
import pytest
from scipy import sparse

from visualwords.classifiers import KernelSVC, kernels
from visualwords.classifiers.kernels.by_name import kernel_function
from visualwords.classifiers.kernels.support_columns import NAMES, SupportColumns
from visualwords.classifiers.kernels.widths import resolve_widths


def rows_of(rng, kind):
    rows = (rng.poisson(1.0, (30, 12)) / 8).astype(np.float32)
    rows[3] = 0.0
    rows[5] = rows[6]
    if kind == "signed":
        rows *= rng.choice([-1, 1], rows.shape).astype(np.float32)
    return sparse.csr_array(rows) if kind == "csr" else rows


@pytest.mark.parametrize("kind", ["dense", "signed", "csr"])
@pytest.mark.parametrize("kernel", sorted(NAMES))
def test_values_are_those_of_the_kernel_function(kernel, kind, rng):
    rows = rows_of(rng, kind)
    parameters = resolve_widths(kernel, rows)
    expected = kernel_function(kernel)(rows[:8], rows, **parameters)
    found = SupportColumns(kernel, rows, parameters).gram(rows[:8])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", ["gcs", "laplace", "polynomial", "chi2", "jensen_shannon"])
def test_values_are_remapped(kernel, rng):
    rows = rows_of(rng, "dense").astype(np.float64)
    parameters = resolve_widths(kernel, rows, {"a": 0.25})
    expected = kernel_function(kernel)(rows[:8], rows, **parameters)
    found = SupportColumns(kernel, rows, parameters).gram(rows[:8])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-7)


def test_equal_rows_of_large_numbers_have_distance_zero(rng):
    rows = rng.normal(size=(6, 40)) + 1e6
    values = SupportColumns("laplace", rows, {"sigma": 1e-3}).gram(rows)
    np.testing.assert_array_equal(np.diag(values), 1.0)


def test_all_kernels_of_rows_are_covered():
    assert set(kernels.__all__) - {"pyramid_match"} == NAMES


@pytest.mark.parametrize(
    ("kernel", "rows", "parameters"),
    [
        ("pyramid_match", np.ones((2, 2)), {}),
        ("power_mean", np.ones((2, 2)), {"p": -2.0}),
        ("hik", sparse.random_array((50, 400), density=0.01, format="csr"), {}),
        ("intersection", sparse.random_array((50, 400), density=0.01, format="csr"), {}),
    ],
)
def test_nearly_empty_rows_and_other_kernels_are_left_to_the_functions(kernel, rows, parameters):
    assert not SupportColumns.suits(kernel, rows, parameters)


def test_a_model_scores_one_row_as_it_scores_many(rng):
    rows, y = rows_of(rng, "dense"), np.arange(30) % 3
    for kernel in ("hik", "gcs", "chi2"):
        model = KernelSVC(kernel).fit(rows, y)
        alone = np.concatenate([model.decision_function(row[None]) for row in rows])
        np.testing.assert_allclose(alone, model.decision_function(rows), rtol=1e-4, atol=1e-5)


def test_columns_are_made_again_after_another_fit(rng):
    rows, y = rows_of(rng, "dense"), np.arange(30) % 3
    model = KernelSVC("hik").fit(rows, y)
    before = model.decision_function(rows[:1])
    model.fit(rows[:, ::-1], y)
    np.testing.assert_allclose(model.decision_function(rows[:1, ::-1]), before, atol=1e-4)
