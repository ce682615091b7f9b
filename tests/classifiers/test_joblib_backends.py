"""What works in threads of this process must do so whatever joblib is told to use elsewhere."""

import joblib
import numpy as np
import pytest

from visualwords.classifiers import GCWSHasher, ICDClassifier, KernelSVC, MinMaxIndex
from visualwords.classifiers.kernels import chi2, intersection, ngmm


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.gamma(0.5, 1.0, (60, 12)).astype(np.float32)
    return X, np.repeat(["a", "b", "c"], 20)


WORK = {
    "intersection": lambda X, y: intersection(X),
    "ngmm": lambda X, y: ngmm(X),
    "chi2": lambda X, y: chi2(X),
    "hashes": lambda X, y: GCWSHasher(16, n_jobs=2).fit(X).transform(X).toarray(),
    "index": lambda X, y: MinMaxIndex(16, n_jobs=2).fit(X).query(X, 3)[0],
    "icd": lambda X, y: ICDClassifier(n_jobs=2).fit(X, y).decision_function(X),
    "svc": lambda X, y: KernelSVC("hik", n_jobs=2).fit(X, y).decision_function(X),
}


@pytest.mark.parametrize("name", WORK)
def test_processes_give_what_threads_give(name, data):
    expected = WORK[name](*data)
    with joblib.parallel_config("multiprocessing", n_jobs=2):
        np.testing.assert_array_equal(WORK[name](*data), expected)
