"""Solvers on data that nobody would collect: they end, finite, or say in words what is wrong."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from visualwords.classifiers import ICDClassifier, KernelSVC, PmSVMClassifier

SOLVERS = {
    "Gram": ICDClassifier(solver="gram"),
    "dual": ICDClassifier(solver="dual"),
    "primal": ICDClassifier(solver="primal"),
    "Crammer–Singer": ICDClassifier(multi_class="crammer_singer"),
    "quantiles": ICDClassifier(quantization="quantile"),
    "PmSVM": PmSVMClassifier(),
    "LIBSVM": KernelSVC(max_iter=200),
}
rng = np.random.default_rng(14)
LABELS = np.arange(36) % 3
GOOD = rng.random((36, 5)) + (LABELS[:, None] == np.arange(5))
DATA = {
    "all zeros": np.zeros_like(GOOD),
    "all equal": np.ones_like(GOOD),
    "one feature": GOOD[:, :1],
    "duplicates with other labels": np.repeat(GOOD[:12], 3, axis=0),
    "one large value": np.where(np.arange(36)[:, None] == 7, 1e12, GOOD),
    "counts beyond 16 bits": np.round(GOOD * 1e6),
    "one column of many that is not zero": np.eye(36)[:, :1].repeat(5, axis=1) * [[0, 0, 1, 0, 0]],
}


def fit(solver, X, y=LABELS, **parameters):
    """A fitted clone; only not having converged may be warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return SOLVERS[solver].__class__(**SOLVERS[solver].get_params() | parameters).fit(X, y)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_ends_with_finite_scores_on_any_data_at_any_cost_that_is_positive(solver):
    for name, X in DATA.items():
        scores = fit(solver, X).decision_function(X)
        assert scores.shape == (36, 3)
        assert np.isfinite(scores).all(), name
    for C in (1e-300, 1e-30, 1e12, 1e300, np.inf):
        for X in GOOD, DATA["duplicates with other labels"]:
            assert np.isfinite(fit(solver, X, C=C).decision_function(X)).all(), C
    for C in (0, -1, np.nan):
        with pytest.raises(ValueError, match="C"):
            fit(solver, GOOD, C=C)


@pytest.mark.parametrize("solver", ["Gram", "dual", "primal"])
@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_icd_does_not_see_the_unit_of_the_data(factor, solver):
    expected = fit(solver, GOOD).decision_function(GOOD)
    scores = fit(solver, GOOD * factor).decision_function(GOOD * factor)
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)
