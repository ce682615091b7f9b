import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from visualwords.classifiers import calibration


@pytest.fixture
def blobs():
    return make_blobs(120, centers=3, cluster_std=3.0, random_state=0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_agrees_with_scikit_learn(blobs, n_classes):
    X, y = blobs
    X, y = X[y < n_classes], y[y < n_classes]
    machine = LinearSVC(random_state=0)
    peer = CalibratedClassifierCV(
        machine, cv=StratifiedKFold(5, shuffle=True, random_state=0), ensemble=False
    ).fit(X, y)
    scores = calibration.held_out_scores(machine, X, y)
    sigmoids = calibration.fit_sigmoids(scores, y)
    ours = calibration.probabilities(machine.fit(X, y).decision_function(X), sigmoids)
    np.testing.assert_allclose(ours, peer.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(ours.sum(axis=1), 1)


def test_separable_scores_have_a_finite_answer():
    scores, codes = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1])
    assert np.isfinite(calibration.fit_sigmoids(scores, codes)).all()


def test_constant_scores_have_a_finite_answer():
    sigmoids = calibration.fit_sigmoids(np.zeros(4), np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(calibration.probabilities(np.zeros(1), sigmoids), 0.5)


def test_weights_count_like_repeated_samples(rng):
    scores, codes = rng.normal(size=30), rng.integers(0, 2, 30)
    weight = rng.integers(0, 4, 30)
    np.testing.assert_allclose(
        calibration.fit_sigmoids(scores, codes, weight.astype(float)),
        calibration.fit_sigmoids(scores.repeat(weight), codes.repeat(weight)),
        rtol=1e-3,
    )


def test_a_class_of_one_sample_is_refused(blobs):
    X, _ = blobs
    with pytest.raises(ValueError, match="two samples of every class"):
        calibration.held_out_scores(LinearSVC(), X[:41], np.r_[np.zeros(40), 1])
