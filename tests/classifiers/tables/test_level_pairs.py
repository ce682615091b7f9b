"""Feature values as rows of (column, level) pairs."""

import numpy as np
import pytest
from scipy import sparse

from visualwords.classifiers.tables.level_pairs import (
    level_rows,
    level_scale,
    survey,
)


@pytest.mark.parametrize("scaling", ["global", "feature"])
@pytest.mark.parametrize("low", [0.0, -2.0])
@pytest.mark.parametrize("spacing", ["uniform", "root"])
def test_pairs_are_the_nearest_levels_of_the_scaled_values(rng, scaling, low, spacing):
    X = rng.random((7, 5)) * (rng.random((7, 5)) < 0.6) + low * (rng.random((7, 5)) < 0.3)
    axis = 0 if scaling == "feature" else None
    shift, high = np.minimum(X.min(axis=axis), 0), np.maximum(X.max(axis=axis), 0)
    shares = (X - shift) / (high - shift)
    wanted = np.rint(50 * (np.sqrt(shares) if spacing == "root" else shares))
    for matrix in (X, X.T.copy().T) if low else (X, sparse.csr_matrix(X)):
        scale = level_scale(survey(matrix, scaling), scaling, 50, spacing)
        rows = level_rows(matrix, scale)
        found = np.zeros((7, 5))
        found[np.repeat(np.arange(7), np.diff(rows.bounds)), rows.columns] = rows.levels
        np.testing.assert_array_equal(found, wanted)
        by_level = rng.random(51)
        by_level[0] = 0
        sums = by_level[wanted.astype(int)].sum(axis=1)
        np.testing.assert_allclose(rows.sums(by_level), sums, rtol=1e-6)


def test_small_values_get_levels_even_in_the_root():
    X = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 100000.0]])
    scale = level_scale(survey(X, "global"), "global", 1000, "auto")
    assert scale.root
    assert level_rows(X, scale).levels.tolist() == [3, 4, 5, 3, 4, 1000]
    even = level_scale(survey(X / 100000 + 0.5, "global"), "global", 1000, "auto")
    assert not even.root
