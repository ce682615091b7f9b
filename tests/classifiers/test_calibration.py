"""Probabilities from held-out scores: against scikit-learn, and what the calibration promises."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from visualwords.classifiers.calibration import (
    SoftmaxCalibration,
    default_weights,
    fit_sigmoid,
)


def softmax_scores(rng, n, shares, strength=2.0):
    """Codes, and scores that lack what one-vs-rest classifiers lose of rare classes."""
    codes = np.concatenate([np.arange(len(shares)), rng.choice(len(shares), n, p=shares)])
    scores = rng.normal(size=(codes.size, len(shares))) + 0.5 * np.log(shares)
    scores[np.arange(codes.size), codes] += strength
    return scores, codes


def test_the_slope_that_made_the_labels_is_found(rng):
    values = rng.normal(size=(1600, 4))
    chances = np.exp(3 * values)
    chances /= chances.sum(axis=1, keepdims=True)
    codes = np.array([rng.choice(4, p=row) for row in chances])
    assert SoftmaxCalibration.fit(values, codes).slope == pytest.approx(3, rel=0.1)


def test_two_classes_are_a_logistic_regression_without_intercept(rng):
    values = rng.normal(size=2000)
    codes = (rng.random(2000) < 1 / (1 + np.exp(-4 * values))).astype(int)
    even = np.r_[np.flatnonzero(codes == 0)[:900], np.flatnonzero(codes == 1)[:900]]
    calibration = SoftmaxCalibration.fit(values[even], codes[even])
    peer = LogisticRegression(C=1e9, fit_intercept=False).fit(values[even, None], codes[even])
    np.testing.assert_allclose(2 * calibration.slope, peer.coef_[0, 0], rtol=0.01)
    np.testing.assert_allclose(calibration.offsets, 0, atol=1e-12)


def test_equal_classes_keep_the_order_of_the_scores(rng):
    scores = rng.normal(size=(300, 3))
    codes = np.tile(np.arange(3), 100)
    scores[np.arange(300), codes] += 1
    chances = SoftmaxCalibration.fit(scores, codes).probabilities(scores)
    np.testing.assert_array_equal(np.argsort(chances), np.argsort(scores))
    np.testing.assert_allclose(chances.sum(axis=1), 1)


def test_rare_classes_regain_what_their_scores_lack(rng):
    shares = np.array([0.8, 0.15, 0.05])
    scores, codes = softmax_scores(rng, 3000, shares)
    by_image, default, by_class = (
        SoftmaxCalibration.fit(scores, codes, weight) for weight in (np.ones(3), None, 1 / shares)
    )
    relative = [found.offsets[2] / found.slope for found in (by_image, default, by_class)]
    assert relative == sorted(relative)
    rare = codes == 2
    said = by_class.probabilities(scores).argmax(axis=1)
    assert (said == 2)[rare].mean() > (scores.argmax(axis=1) == 2)[rare].mean() + 0.1
    np.testing.assert_allclose(default_weights(np.array([1, 32])), [1, 32**-0.3])


def test_the_highest_probability_is_the_share_of_right_labels(rng):
    scores, codes = softmax_scores(rng, 4000, [0.8, 0.15, 0.05])
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


def test_weights_count_like_repeated_samples(rng):
    scores, codes = softmax_scores(rng, 200, [0.6, 0.3, 0.1])
    times = rng.integers(0, 4, codes.size)
    times[:3] = 1
    weighted = SoftmaxCalibration.fit(scores, codes, sample_weight=times.astype(float))
    repeated = SoftmaxCalibration.fit(scores.repeat(times, axis=0), codes.repeat(times))
    assert weighted.slope == pytest.approx(repeated.slope, rel=0.05)
    np.testing.assert_allclose(weighted.offsets, repeated.offsets, rtol=0.1)
    line = fit_sigmoid(scores[:, 0], codes == 0, times.astype(float))
    peer = fit_sigmoid(scores[:, 0].repeat(times), (codes == 0).repeat(times), np.ones(times.sum()))
    np.testing.assert_allclose(line, peer, rtol=1e-6)


def test_separable_and_equal_scores_have_finite_answers():
    codes = np.repeat([0, 1], 20)
    calibration = SoftmaxCalibration.fit(np.where(codes, 1.0, -1.0), codes)
    assert 0.9 < calibration.probabilities(np.array([1.0]))[0, 1] < 1
    assert calibration.probabilities(np.array([0.001]))[0, 1] < 0.51
    equal = SoftmaxCalibration.fit(np.zeros((15, 3)), np.repeat([0, 1, 2], 5))
    np.testing.assert_allclose(equal.probabilities(np.zeros((1, 3))), 1 / 3)
    assert np.isfinite(fit_sigmoid(np.where(codes, 1.0, -1.0), codes > 0, np.ones(40))).all()
    np.testing.assert_allclose(fit_sigmoid(np.zeros(40), codes > 0, np.ones(40))[1], 0, atol=1e-9)


def test_the_sigmoid_is_that_of_scikit_learn(rng):
    X, y = make_blobs(120, centers=2, cluster_std=6.0, random_state=0)
    model = LinearSVC(random_state=0).fit(X, y)
    peer = CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y)
    scores = model.decision_function(X)
    slope, intercept = fit_sigmoid(scores, y > 0, np.ones(120))
    ours = 1 / (1 + np.exp(-(slope * scores + intercept)))
    np.testing.assert_allclose(ours, peer.predict_proba(X)[:, 1], atol=1e-4)


def test_a_state_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        SoftmaxCalibration.from_state({"slope": np.array(np.nan), "offsets": np.zeros(2)})
