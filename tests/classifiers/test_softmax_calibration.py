"""One slope for all classes: against scikit-learn's logistic regression, and its promises."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from visualwords.classifiers.calibration import (
    SigmoidCalibration,
    SoftmaxCalibration,
    default_weights,
)


@pytest.fixture
def scores(rng):
    """Scores of four classes whose true slope is 3."""
    codes = np.repeat(np.arange(4), 400)
    values = rng.normal(0, 1, (1600, 4))
    chances = np.exp(3 * values)
    chances /= chances.sum(axis=1, keepdims=True)
    codes = np.array([rng.choice(4, p=row) for row in chances])
    return values, codes


def test_the_slope_that_made_the_labels_is_found(scores):
    found = SoftmaxCalibration.fit(*scores)
    assert 2.7 < found.slope < 3.3


def test_two_classes_are_a_logistic_regression_without_intercept(rng):
    values = rng.normal(size=2000)
    codes = (rng.random(2000) < 1 / (1 + np.exp(-4 * values))).astype(int)
    codes[:2] = 0, 1
    even = np.r_[np.flatnonzero(codes == 0)[:900], np.flatnonzero(codes == 1)[:900]]
    found = SoftmaxCalibration.fit(values[even], codes[even])
    peer = LogisticRegression(C=1e9, fit_intercept=False).fit(values[even, None], codes[even])
    np.testing.assert_allclose(2 * found.slope, peer.coef_[0, 0], rtol=0.01)
    np.testing.assert_allclose(found.offsets, 0, atol=1e-12)


def test_equal_classes_keep_the_order_of_the_scores(rng):
    values = rng.normal(size=(300, 3))
    codes = np.tile(np.arange(3), 100)
    values[np.arange(300), codes] += 1
    chances = SoftmaxCalibration.fit(values, codes).probabilities(values)
    np.testing.assert_array_equal(np.argsort(chances), np.argsort(values))
    np.testing.assert_allclose(chances.sum(axis=1), 1)


def test_rare_classes_get_back_what_their_scores_lack(rng):
    shares = np.array([0.8, 0.15, 0.05])
    codes = rng.choice(3, 3000, p=shares)
    logits = rng.normal(0, 1, (3000, 3))
    logits[np.arange(3000), codes] += 2  # with equal classes, P = softmax of 2 · logits
    values = logits + 0.5 * np.log(shares)  # what one-vs-rest machines do to rare classes
    equal = SoftmaxCalibration.fit(values, codes, 1 / shares)
    assert equal.offsets[0] < equal.offsets[1] < equal.offsets[2]
    rare = codes == 2
    guesses = equal.probabilities(values).argmax(axis=1)
    assert (guesses == 2)[rare].mean() > (values.argmax(axis=1) == 2)[rare].mean() + 0.1


def test_separable_scores_have_a_finite_slope():
    codes = np.repeat([0, 1], 20)
    found = SoftmaxCalibration.fit(np.where(codes, 1.0, -1.0), codes)
    chances = found.probabilities(np.array([1.0]))[0, 1]
    assert 0.9 < chances < 1
    assert found.probabilities(np.array([0.001]))[0, 1] < 0.51


def test_equal_scores_say_nothing():
    codes = np.repeat([0, 1, 2], 5)
    chances = SoftmaxCalibration.fit(np.zeros((15, 3)), codes).probabilities(np.zeros((1, 3)))
    np.testing.assert_allclose(chances, 1 / 3)


def test_given_weights_move_the_offsets(rng):
    codes = np.repeat([0, 1], [80, 20])
    values = np.where(codes, 0.3, -0.3) + rng.normal(0, 0.5, 100)
    many, few = (SoftmaxCalibration.fit(values, codes, w) for w in ([1, 1], [1, 4]))
    assert few.offsets[1] > many.offsets[1]
    np.testing.assert_allclose(default_weights(np.array([1, 32])), [1, 32**-0.3])


def test_the_state_gives_the_same_probabilities(scores):
    found = SoftmaxCalibration.fit(*scores)
    restored = SoftmaxCalibration.from_state(found.get_state())
    np.testing.assert_array_equal(restored.probabilities(scores[0]), found.probabilities(scores[0]))
    with pytest.raises(ValueError, match="not finite"):
        SoftmaxCalibration.from_state({"slope": np.array(np.nan), "offsets": np.zeros(2)})


def test_sigmoids_of_older_files_still_give_probabilities():
    old = SigmoidCalibration(np.array([[1.0, 0.0]]))
    np.testing.assert_allclose(old.probabilities(np.array([0.0])), [[0.5, 0.5]])


def test_offsets_are_between_those_of_images_and_of_classes(rng):
    counts = np.array([200, 60, 20])
    codes = np.repeat(np.arange(3), counts)
    scores = rng.normal(size=(280, 3)) + 0.8 * np.log(counts / 280)
    scores[np.arange(280), codes] += 1.5
    of_images, ours, of_classes = (
        found.offsets[2] / found.slope
        for found in (
            SoftmaxCalibration.fit(scores, codes, np.ones(3)),
            SoftmaxCalibration.fit(scores, codes),
            SoftmaxCalibration.fit(scores, codes, 1 / counts),
        )
    )
    assert of_images < ours < of_classes


def test_the_highest_probability_is_the_share_of_right_labels_of_uneven_classes(rng):
    shares = np.array([0.8, 0.15, 0.05])
    codes = rng.choice(3, 4000, p=shares)
    scores = rng.normal(0, 1, (4000, 3)) + 0.5 * np.log(shares)
    scores[np.arange(4000), codes] += 2
    chances = SoftmaxCalibration.fit(scores, codes).probabilities(scores)
    right = (chances.argmax(axis=1) == codes).mean()
    assert chances.max(axis=1).mean() == pytest.approx(right, abs=0.02)


def test_samples_whose_fold_has_much_of_their_class_count_less(rng):
    """Those of the first class, all in one fold, are predicted badly without it."""
    codes, folds = np.repeat(np.arange(3), 100), np.arange(300) % 5
    folds[:100] = np.arange(100) % 2
    scores = rng.normal(size=(300, 3))
    scores[np.arange(300), codes] += np.where(codes == 0, 0.0, 2.5)
    plain, informed = (SoftmaxCalibration.fit(scores, codes, folds=f) for f in (None, folds))
    assert informed.slope > plain.slope
    np.testing.assert_array_equal(informed.offsets, 0)
