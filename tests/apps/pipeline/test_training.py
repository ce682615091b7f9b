"""Training on rows: images that count twice, and scores of images that were held out."""

import numpy as np
import pytest

from visualwords import ImageClassifier
from visualwords.apps.pipeline.channel import Channel, Classifier, Fisher
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import LINEAR, RECIPES
from visualwords.apps.pipeline.stages import Environment, encode, learn
from visualwords.apps.pipeline.training import train
from visualwords.folders import ImageFolder

TINY, ENV = RECIPES["tiny"].channels, Environment()
FISHER = Channel("DenseSIFT", {"step": 8}, fisher=Fisher(4, 8))
KINDS = {
    "icd": Recipe("tiny", "", TINY),
    "linear": Recipe("fisher", "", (FISHER, *TINY), classifier=LINEAR),
    "ridge": Recipe(
        "r", "", TINY, classifier=Classifier("linear", params={"loss": "squared_error"})
    ),
    "pmsvm": Recipe("pmsvm", "", TINY, classifier=Classifier("pmsvm", "chi2", 1.0, {"tol": 1e-3})),
    "kernel": Recipe("kernel", "", TINY, classifier=Classifier("kernel", "rbf", 10.0)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_of_weight_two_counts_as_two(photos, kind):
    recipe, data = KINDS[kind], Dataset.of(photos)
    rows = encode(recipe, learn(recipe.channels, data, recipe.view, ENV, 0), data, ENV).rows
    weight = np.where(np.arange(24) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(24), weight.astype(int))
    one, _ = train(recipe, rows, data.weighted(weight), ENV)
    two, _ = train(recipe, rows[twice], data.part(twice), ENV)
    plain, _ = train(recipe, rows, data, ENV)
    scores, repeated = one.decision_function(rows), two.decision_function(rows)
    # Solvers stop at a tolerance, and tables are rounded to 1/127 of their largest value, both of
    # which depend on the rows' order and number: two percent of the range of scores.
    tolerance = 0.02 * np.ptp(repeated)
    np.testing.assert_allclose(scores, repeated, atol=tolerance)
    assert np.abs(plain.decision_function(rows) - repeated).max() > 0
    folds = np.arange(24) % 4
    _, held = train(recipe, rows, data.weighted(weight), ENV, folds=folds)
    for fold in range(4):
        others = folds != fold
        apart, _ = train(recipe, rows[others], data.weighted(weight).part(others.nonzero()[0]), ENV)
        expected = apart.decision_function(rows[~others])
        np.testing.assert_allclose(held[~others], expected, atol=tolerance)


@pytest.mark.parametrize("recipe", ["tiny", "auto"])
def test_images_of_weight_zero_are_left_out(photos, recipe):
    folder = ImageFolder(photos)
    weight = (np.arange(24) % 4 > 0).astype(float)
    pairs = [(p, y) for p, y, w in zip(folder.paths, folder.labels, weight) if w]
    weighted = ImageClassifier(recipe, budget=1).fit(folder, sample_weight=weight)
    left_out = ImageClassifier(recipe, budget=1).fit(pairs)
    assert weighted.class_counts_.tolist() == left_out.class_counts_.tolist() == [6, 6, 6]
    np.testing.assert_allclose(
        weighted.predict_proba(folder), left_out.predict_proba(folder), atol=1e-6
    )
