"""The storable linear classifiers against scikit-learn's, and exact sums of bytes."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from visualwords.classifiers.linear import ByteLinearClassifier, LinearClassifier
from visualwords.classifiers.row_file import RowFile
from visualwords.classifiers.solvers.byte_rows import exact_product, products_of


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


@pytest.mark.parametrize("kind", [LinearClassifier, ByteLinearClassifier])
def test_an_unknown_loss_or_a_cost_that_is_not_positive_is_refused(kind):
    X = np.array([[0], [1]], np.int8)
    with pytest.raises(ValueError, match="loss='hinge'; choose one of squared_hinge, squared_"):
        kind(loss="hinge").fit(X, [0, 1])
    with pytest.raises(ValueError, match="C=0; expected a positive number"):
        kind(C=0, loss="squared_error").fit(X, [0, 1])


@pytest.mark.parametrize("C", [1e-300, 1e300, np.inf])
def test_scores_of_squared_errors_are_finite_for_any_cost(C):
    X, y = make_blobs(30, 5, centers=3, random_state=0)
    model = LinearClassifier(C=C, loss="squared_error")
    for rows in (X.astype(np.float32), sparse.csr_array(X.astype(np.float32))):
        assert np.isfinite(model.fit(rows, y).decision_function(X)).all()


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


@pytest.fixture
def byte_vectors(rng):
    """Four overlapping classes of bytes in many columns."""
    y = np.repeat(np.arange(4), 25)
    centers = rng.normal(0, 6, (4, 3000))
    X = np.clip(np.rint(rng.normal(centers[y], 25)), -127, 127).astype(np.int8)
    return X, np.array(["a", "b", "c", "d"])[y]


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_products_are_exact_where_floats_would_round(rng, n_jobs):
    tiles = rng.integers(-127, 128, (37, 3000), dtype=np.int8)
    whole = tiles.astype(np.int64) @ tiles.T.astype(np.int64)
    np.testing.assert_array_equal(products_of(tiles, n_jobs), whole)
    X = rng.integers(-128, 128, (7, 5000)).astype(np.int8)
    Y = np.full((2, 5000), 127, np.int8)
    np.testing.assert_array_equal(exact_product(X, Y), X.astype(int) @ Y.astype(int).T)
    np.testing.assert_array_equal(exact_product(X, X), X.astype(int) @ X.astype(int).T)


def test_scores_do_not_depend_on_what_else_is_scored(byte_vectors):
    X, y = byte_vectors
    model = ByteLinearClassifier().fit(X, y)
    one_by_one = np.vstack([model.decision_function(row[None]) for row in X])
    np.testing.assert_array_equal(model.decision_function(X), one_by_one)


def test_held_out_scores_are_those_of_models_trained_without_the_fold(byte_vectors):
    X, y = byte_vectors
    model = ByteLinearClassifier()
    folds = np.arange(len(X)) % 25
    scores = model.fit_and_hold_out(X, y, folds)
    left_out = ByteLinearClassifier().fit(X[1:], y[1:]).decision_function(X[:1])[0]
    np.testing.assert_allclose(scores[0], left_out, atol=0.1)  # its fold holds out three more
    np.testing.assert_array_equal(
        model.decision_function(X), clone(model).fit(X, y).decision_function(X)
    )


def test_a_restored_state_gives_the_same_scores(byte_vectors):
    X, y = byte_vectors
    model = ByteLinearClassifier().fit(X, y)
    again = ByteLinearClassifier().set_state(model.get_state())
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="do not belong together"):
        ByteLinearClassifier().set_state(model.get_state() | {"factors": np.ones(2)})


def test_other_rows_are_refused_with_a_sentence(byte_vectors):
    X, y = byte_vectors
    with pytest.raises(TypeError, match="needed is an int8 matrix"):
        ByteLinearClassifier().fit(X.astype(float), y)
    with pytest.raises(ValueError, match="7 columns; the model has 3000"):
        ByteLinearClassifier().fit(X, y).decision_function(X[:, :7])


@pytest.mark.parametrize("class_weight", [None, {"a": 3.0, "b": 0.5}])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_squared_errors_of_bytes_are_ridge_regression(byte_vectors, n_classes, class_weight):
    X, y = byte_vectors
    X, y = X[: 25 * n_classes], y[: 25 * n_classes]
    unit = X / np.sqrt((X.astype(float) ** 2).sum(axis=1).mean())
    ours = ByteLinearClassifier(C=2, loss="squared_error", class_weight=class_weight).fit(X, y)
    weights = None if class_weight is None else [class_weight.get(label, 1.0) for label in y]
    classes = ["b"] if n_classes == 2 else ["a", "b", "c", "d"]
    peer = Ridge(alpha=1 / (2 * 2), fit_intercept=False)
    scores = [peer.fit(unit, np.where(y == c, 1, -1), weights).predict(unit) for c in classes]
    found = ours.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(found, np.transpose(scores), atol=0.02)  # weights are rounded


def test_held_out_scores_of_squared_errors_are_those_without_the_fold(byte_vectors):
    X, y = byte_vectors
    folds = np.arange(len(X)) % 3
    held_out = ByteLinearClassifier(loss="squared_error").fit_and_hold_out(X, y, folds)
    unit = X / np.sqrt((X.astype(float) ** 2).sum(axis=1).mean())
    peer = Ridge(alpha=1 / 20, fit_intercept=False)
    for fold in range(3):
        rest, own = folds != fold, folds == fold
        for number, label in enumerate("abcd"):
            peer.fit(unit[rest], np.where(y[rest] == label, 1, -1))
            np.testing.assert_allclose(held_out[own, number], peer.predict(unit[own]), atol=1e-6)


def test_weights_can_be_found_after_learning_from_products(byte_vectors, tmp_path):
    X, y = byte_vectors
    folds = np.arange(len(X)) % 4
    whole, parts = (ByteLinearClassifier(loss="squared_error") for _ in range(2))
    held_out = whole.fit_and_hold_out(X, y, folds)
    found, coefficients = parts.fit_on_products(exact_product(X, X), y, folds)
    np.testing.assert_array_equal(found, held_out)
    file = RowFile(tmp_path / "rows")
    file.append(X)
    for rows in (X, file):
        parts.weigh(rows, coefficients)
        np.testing.assert_array_equal(parts.decision_function(X), whole.decision_function(X))
    with pytest.raises(ValueError, match="99 rows; the coefficients are of 100"):
        parts.weigh(X[1:], coefficients)
