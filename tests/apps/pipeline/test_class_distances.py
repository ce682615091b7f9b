"""How far rows are from classes, compared with how far they are from all rows."""

import numpy as np
import pytest
from sklearn.covariance import OAS

from visualwords.apps.pipeline.class_distances import ClassDistances, NearestDirection


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
        codes, rows = np.array([0, 0, 1, 1]), np.ones((2, shape[1]))
        assert np.isfinite(ClassDistances.fit(np.ones(shape), codes).relative(rows)).all()
        assert np.isfinite(NearestDirection.fit(np.ones(shape), codes).distances(rows)).all()


def test_the_nearest_direction_matches_its_definition(rows, rng):
    values, codes = rows
    found = NearestDirection.fit(values, codes)
    means = np.stack([values[codes == c].mean(axis=0) for c in range(3)])
    within = OAS(assume_centered=True).fit(values - means[codes]).precision_
    centred = values - values.mean(axis=0)
    for row in rng.normal(0, 4, (5, 8)):
        away = row - values.mean(axis=0)
        lengths = np.sqrt(np.einsum("ni,ij,nj->n", centred, within, centred))
        cosines = centred @ within @ away / lengths / np.sqrt(away @ within @ away)
        assert found.distances(row[None])[0] == pytest.approx(1 - cosines.max(), abs=1e-6)


def test_few_rows_have_few_components(rng):
    codes = np.arange(40) % 2
    assert NearestDirection.fit(rng.normal(size=(40, 30)), codes).within.shape == (5, 5)
