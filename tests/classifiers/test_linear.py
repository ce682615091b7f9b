"""The storable linear SVM against scikit-learn's."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from visualwords.classifiers.linear import LinearClassifier


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # unscaled data
@parametrize_with_checks([LinearClassifier()])
def test_sklearn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_are_those_of_scikit_learn(n_classes):
    X, y = make_blobs(120, 5, centers=n_classes, random_state=0)
    ours = LinearClassifier(C=0.1).fit(X, y).decision_function(X)
    solver = LinearSVC(C=0.1, dual=True, fit_intercept=False, random_state=0, max_iter=5000)
    np.testing.assert_allclose(ours, solver.fit(X, y).decision_function(X), rtol=1e-4, atol=1e-5)


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
