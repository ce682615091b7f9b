import numpy as np
import pytest
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.reference import hik
from visualwords.classifiers import ICDClassifier


@pytest.fixture
def histograms(rng):
    """Three overlapping classes of count histograms."""
    y = rng.integers(0, 3, 90)
    X = rng.poisson(0.5 + 2 * rng.random((3, 8))[y])
    return X, np.array(["coast", "forest", "street"])[y]


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_agrees_with_liblinear_on_the_unary_expansion(histograms, loss):
    X, y = histograms
    ours = ICDClassifier(C=0.1, loss=loss, tol=1e-7, quantization="integer").fit(X, y)
    peer = LinearSVC(C=0.1, loss=loss, tol=1e-9, fit_intercept=False, max_iter=10**6, dual=True)
    B = hik.unary_expansion(X, X.max())
    peer.fit(B, y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(B), atol=2e-5)


def test_state_restores_bit_identical_scores(histograms):
    X, y = histograms
    model = ICDClassifier().fit(X, y)
    again = ICDClassifier().set_state(model.get_state())
    assert np.array_equal(again.decision_function(X * 1.5), model.decision_function(X * 1.5))
    assert np.array_equal(again.predict(X), model.predict(X))


def test_tables_explain_the_score(histograms):
    X, y = histograms
    model = ICDClassifier(quantization="integer").fit(X, y)
    T = model.tables_
    assert T.dtype == np.float32
    assert T.shape == (3, X.shape[1], X.max() + 1)
    scores = np.array([[T[c, np.arange(8), x].sum() for c in range(3)] for x in X])
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("solver", ["gram", "dual", "primal"])
def test_levels_that_training_never_saw_lie_between_those_it_did(rng, solver):
    y = rng.integers(0, 2, 60)
    X = 20 * rng.poisson(1 + y[:, None], (60, 5))
    model = ICDClassifier(quantization="integer", solver=solver).fit(X, y)
    assert model.table_levels_.size < 20
    T = model.tables_[0]
    new = rng.integers(0, X.max() + 30, (20, 5))
    levels = np.minimum(new, X.max())
    expected = T[np.arange(5), levels].sum(axis=1)
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        model.decision_function(X), T[np.arange(5), X].sum(axis=1), rtol=1e-4, atol=1e-5
    )


@parametrize_with_checks([ICDClassifier()])
def test_sklearn_contract(estimator, check):
    check(estimator)
