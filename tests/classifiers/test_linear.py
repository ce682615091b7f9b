"""The storable linear SVM against scikit-learn's."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from visualwords.classifiers.linear import LinearClassifier


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # unscaled data
@parametrize_with_checks(
    [LinearClassifier()],
    expected_failed_checks=lambda estimator: {
        "check_class_weight_classifiers": "a plane through the origin can't give all to one class"
    },
)
def test_sklearn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_are_those_of_scikit_learn(n_classes):
    X, y = make_blobs(120, 5, centers=n_classes, random_state=0)
    ours = LinearClassifier(C=0.1).fit(X, y).decision_function(X)
    solver = LinearSVC(C=0.1, dual=True, fit_intercept=False, random_state=0, max_iter=5000)
    np.testing.assert_allclose(ours, solver.fit(X, y).decision_function(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_squared_errors_are_ridge_regression(n_classes):
    X, y = make_blobs(120, 5, centers=n_classes, random_state=0)
    model = LinearClassifier(C=0.1, loss="squared_error", class_weight={0: 2.0}).fit(X, y)
    scores = model.decision_function(X).reshape(120, -1)
    peer, weights = Ridge(5.0, fit_intercept=False), np.where(y == 0, 2.0, 1.0)
    for k, label in enumerate([1] if n_classes == 2 else range(n_classes)):
        expected = peer.fit(X, np.where(y == label, 1, -1), weights).predict(X)
        np.testing.assert_allclose(scores[:, k], expected, rtol=1e-4, atol=1e-5)
    rows = LinearClassifier(C=0.1, loss="squared_error", class_weight={0: 2.0})
    rows.fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(rows.coef_, model.coef_, rtol=1e-2, atol=1e-4)


def test_an_unknown_loss_or_a_cost_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match="loss='hinge'; choose one of"):
        LinearClassifier(loss="hinge").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="C=0; expected a positive number"):
        LinearClassifier(C=0, loss="squared_error").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("C", [1e-300, 1e300, np.inf])
def test_scores_of_squared_errors_are_finite_for_any_cost(C):
    X, y = make_blobs(30, 5, centers=3, random_state=0)
    model = LinearClassifier(C=C, loss="squared_error")
    for rows in (X.astype(np.float32), sparse.csr_array(X.astype(np.float32))):
        assert np.isfinite(model.fit(rows, y).decision_function(X)).all()


def test_sparse_rows_and_a_restored_state_give_the_same_scores(rng):
    X = rng.random((60, 8))
    y = np.array(["a", "b", "c"] * 20)
    model = LinearClassifier().fit(sparse.csr_array(X), y)
    restored = LinearClassifier().set_state(model.get_state())
    np.testing.assert_array_equal(restored.decision_function(X), model.decision_function(X))
    np.testing.assert_allclose(
        model.decision_function(X), model.decision_function(sparse.csr_array(X)), rtol=1e-6
    )


def test_contributions_of_columns_add_up_to_the_scores(rng):
    X = rng.normal(size=(30, 6))
    model = LinearClassifier().fit(X, ["a", "b", "c"] * 10)
    added = model.contributions(sparse.csr_array(X[:1]))
    np.testing.assert_allclose(added.sum(axis=0), model.decision_function(X[:1])[0], atol=1e-6)


@pytest.mark.parametrize("weight", ["balanced", {"a": 3.0, "b": 0.5}])
def test_class_weights_are_those_of_scikit_learn(rng, weight):
    X, y = rng.normal(size=(60, 5)), np.array(["a"] * 15 + ["b"] * 45)
    ours = LinearClassifier(C=0.1, class_weight=weight).fit(X, y)
    peer = LinearSVC(C=0.1, dual=True, fit_intercept=False, random_state=0, class_weight=weight)
    np.testing.assert_allclose(
        ours.decision_function(X), peer.fit(X, y).decision_function(X), rtol=1e-3, atol=1e-4
    )
    plain = LinearClassifier(C=0.1).fit(X, y)
    assert np.abs(ours.coef_ - plain.coef_).max() > 1e-3
