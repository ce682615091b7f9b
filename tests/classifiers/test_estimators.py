"""What all classifiers promise: scikit-learn's contract, states, contributions, threads."""

import io

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from visualwords.classifiers import (
    GCWSHasher,
    ICDClassifier,
    KernelSVC,
    PmSVMClassifier,
    Quantizer,
)
from visualwords.classifiers.calibration import SoftmaxCalibration, random_folds
from visualwords.classifiers.linear import ByteLinearClassifier, LinearClassifier

MODELS = {
    "icd": ICDClassifier(C=0.01),
    "icd, crammer_singer": ICDClassifier(multi_class="crammer_singer", quantization="integer"),
    "icd, dual": ICDClassifier(solver="dual", loss="hinge", quantization="quantile"),
    "icd, primal": ICDClassifier(solver="primal"),
    "icd, blocks": ICDClassifier(solver="blocks"),
    "pmsvm": PmSVMClassifier(),
    "pmsvm, polynomial": PmSVMClassifier(approximation="polynomial", p=-8),
    "pmsvm, exact": PmSVMClassifier(table_size=None),
    "svc": KernelSVC("gmm"),
    "svc, pairs": KernelSVC("gcs", multi_class="ovo"),
    "svc, treated diagonal": KernelSVC("gmm", sub_polynomial=0.5),
    "linear": LinearClassifier(),
    "bytes": ByteLinearClassifier(),
}
SOME = ["icd", "pmsvm", "svc", "linear", "bytes"]
CALIBRATED = ["icd", "pmsvm", "svc"]


@pytest.fixture
def histograms(rng):
    """Three overlapping classes of count histograms, in bytes that every model takes."""
    y = rng.integers(0, 3, 90)
    X = rng.poisson(0.5 + 2 * rng.random((3, 8))[y]).astype(np.int8)
    return X, np.array(["coast", "forest", "street"])[y]


def rows_for(name, X):
    return X if name == "bytes" else X.astype(np.float32)


def through_a_file(state):
    """The arrays as numpy reads them back, without pickle."""
    file = io.BytesIO()
    np.savez(file, **state)
    file.seek(0)
    with np.load(file, allow_pickle=False) as read:
        return {name: read[name] for name in read.files}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_states_threads_and_contributions(histograms, name, n_classes):
    X, y = histograms
    chosen = y != "street" if n_classes == 2 else slice(None)
    X, y = rows_for(name, X[chosen]), y[chosen].astype(object)
    model = clone(MODELS[name]).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == ((len(X),) if n_classes == 2 else (len(X), 3))
    threads = clone(MODELS[name]).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(threads.decision_function(X), scores)
    again = clone(MODELS[name]).set_state(through_a_file(model.get_state()))
    new = X if name == "bytes" else 1.5 * X
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.n_features_in_ == 8 if hasattr(model, "n_features_in_") else True
    assert np.mean(model.predict(X) == y) > 0.6
    if not hasattr(model, "contributions"):
        return
    for row in X[:2], new[2:3], X[3:4] if name == "bytes" else sparse.csr_matrix(X[3:4]):
        added = model.contributions(row[:1])
        assert added.shape == (8, 1 if n_classes == 2 else 3)
        score = np.ravel(model.decision_function(row[:1]))
        np.testing.assert_allclose(added.sum(axis=0), score, atol=1e-5)


@pytest.mark.parametrize("name", CALIBRATED)
def test_probabilities_are_calibrated_on_held_out_scores(histograms, name):
    X, y = rows_for(name, histograms[0]), histograms[1]
    model = clone(MODELS[name]).set_params(probability=True, C=0.1).fit(X, y)
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert np.mean(model.classes_[chances.argmax(axis=1)] == model.predict(X)) > 0.8
    again = clone(model).set_state(through_a_file(model.get_state()))
    np.testing.assert_array_equal(again.predict_proba(X), chances)
    assert not hasattr(MODELS[name], "predict_proba")
    plain, folds = clone(MODELS[name]).set_params(C=0.1), random_folds(y)
    if hasattr(plain, "fit_and_hold_out"):
        codes = np.unique(y, return_inverse=True)[1]
        fitted = SoftmaxCalibration.fit(plain.fit_and_hold_out(X, y, folds), codes)
        np.testing.assert_array_equal(fitted.probabilities(model.decision_function(X)), chances)
    with pytest.raises(ValueError, match="two samples of every class"):
        clone(model).fit(X[:41], np.r_[np.zeros(40), 1])


@pytest.mark.parametrize("name", SOME)
def test_what_no_classifier_can_learn_is_refused(histograms, name):
    X, y = rows_for(name, histograms[0]), histograms[1]
    with pytest.raises(ValueError, match="one class only"):
        clone(MODELS[name]).fit(X, np.zeros(90))
    if name in CALIBRATED:
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            clone(MODELS[name]).set_params(max_iter=1, tol=1e-6).fit(X, y)
    for wrong in (np.nan, np.inf, -np.inf) if name != "bytes" else ():
        bad, model = X.copy(), clone(MODELS[name]).fit(X, y)
        bad[7, 3] = wrong
        for use in (lambda: clone(model).fit(bad, y), lambda: model.predict(bad)):  # noqa: B023
            with pytest.raises(ValueError, match=r"NaN|infinity"):
                use()


UP_TO_TOL = "weights equal repetitions up to tol only, as in scikit-learn's own LinearSVC"
FAILED = {
    "PmSVMClassifier": {
        "check_sample_weight_equivalence_on_dense_data": UP_TO_TOL,
        "check_sample_weight_equivalence_on_sparse_data": UP_TO_TOL,
    },
    "KernelSVC": {
        "check_class_weight_classifiers": "its data have negative values, which hik refuses"
    },
    "LinearClassifier": {
        "check_sample_weight_equivalence_on_dense_data": UP_TO_TOL,
        "check_sample_weight_equivalence_on_sparse_data": UP_TO_TOL,
        "check_class_weight_classifiers": "a plane through the origin can't give all to one class",
    },
}


@pytest.mark.filterwarnings("ignore:Liblinear failed:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        *[ICDClassifier(), ICDClassifier(multi_class="crammer_singer")],
        ICDClassifier(solver="dual", loss="hinge", quantization="quantile"),
        *[PmSVMClassifier(), LinearClassifier(), Quantizer(), GCWSHasher(n_hashes=16)],
        *[KernelSVC(tol=1e-9), KernelSVC("gcs", multi_class="ovo", tol=1e-9)],
    ],
    expected_failed_checks=lambda model: (
        {} if getattr(model, "kernel", "") == "gcs" else FAILED.get(type(model).__name__, {})
    ),
)
def test_sklearn_contract(estimator, check):
    check(estimator)
