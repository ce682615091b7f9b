import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from tests.reference import hik
from visualwords.classifiers import ICDClassifier


@pytest.fixture
def histograms(rng):
    y = rng.integers(0, 3, 70)
    return rng.poisson(0.5 + 2 * rng.random((3, 8))[y]), np.array(["a", "b", "c"])[y]


def objective(scores, w_norms, codes, C):
    """Crammer–Singer's primal objective."""
    own = scores[np.arange(codes.size), codes]
    margins = 1 + scores - own[:, None]
    margins[np.arange(codes.size), codes] = 0
    return 0.5 * w_norms + C * np.maximum(margins.max(axis=1), 0).sum()


# LIBLINEAR does not count the passes of this solver: scikit-learn compares memory as it was.
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.parametrize("solver", ["gram", "dual"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_agrees_with_liblinear_on_the_unary_expansion(histograms, solver, form):
    X, y = histograms
    codes = np.searchsorted(["a", "b", "c"], y)
    B = hik.unary_expansion(X, X.max())
    how = {"multi_class": "crammer_singer", "fit_intercept": False, "tol": 1e-9}
    peer = LinearSVC(C=0.05, **how, max_iter=10**6, random_state=0).fit(B, y)
    model = ICDClassifier(
        C=0.05,
        multi_class="crammer_singer",
        solver=solver,
        tol=1e-8,
        max_iter=10**5,
        quantization="integer",
    ).fit(form(X), y)
    assert model.solver_ == solver
    steps = np.diff(model.tables_.astype(float), axis=2)
    ours = objective(model.decision_function(X), np.sum(steps**2), codes, 0.05)
    theirs = objective(peer.decision_function(B), np.sum(peer.coef_**2), codes, 0.05)
    assert ours == pytest.approx(theirs, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(B), atol=1e-4)


def test_two_classes_give_one_score(histograms):
    X, y = histograms
    two = y != "c"
    model = ICDClassifier(C=0.1, multi_class="crammer_singer", quantization="integer")
    model.fit(X[two], y[two])
    assert model.decision_function(X).shape == (70,)
    assert model.tables_.shape[0] == 1
    assert np.mean(model.predict(X[two]) == y[two]) > 0.8
