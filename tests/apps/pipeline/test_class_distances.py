"""How far rows are from classes, compared with how far they are from all rows."""

import numpy as np
import pytest
from sklearn.covariance import OAS

from visualwords.apps.pipeline.class_distances import ClassDistances


@pytest.fixture
def rows(rng):
    """Rows of three classes in eight dimensions, and their classes."""
    codes = np.arange(300) % 3
    return rng.normal(size=(300, 8)) @ rng.normal(size=(8, 8)) + 3 * codes[:, None], codes


def test_distances_match_their_definition_with_the_shrunk_covariances_of_scikit_learn(rows, rng):
    values, codes = rows
    found = ClassDistances.fit(values, codes)
    means = np.stack([values[codes == c].mean(axis=0) for c in range(3)])
    within = OAS(assume_centered=True).fit(values - means[codes]).precision_
    total = OAS(assume_centered=True).fit(values - values.mean(axis=0)).precision_
    for row in rng.normal(0, 4, (5, 8)):
        near = min((row - m) @ within @ (row - m) for m in means)
        far = (row - values.mean(axis=0)) @ total @ (row - values.mean(axis=0))
        assert found.relative(row[None])[0] == pytest.approx(near - far, rel=1e-6)


def test_what_lies_between_classes_is_farther_than_their_members(rows):
    values, codes = rows
    found = ClassDistances.fit(values, codes)
    between = (values[codes == 0].mean(axis=0) + values[codes == 1].mean(axis=0)) / 2
    assert found.relative(between[None])[0] > np.median(found.relative(values))


def test_equal_rows_and_one_dimension_are_finite():
    for shape in ((4, 3), (4, 1)):
        found = ClassDistances.fit(np.ones(shape), np.array([0, 0, 1, 1]))
        assert np.isfinite(found.relative(np.ones((2, shape[1])))).all()
