"""What joblib is told to use changes no result: threads stay threads, classes go to processes."""

import joblib
import numpy as np
import pytest

from visualwords.classifiers import (
    GCWSHasher,
    ICDClassifier,
    one_vs_rest,
)
from visualwords.classifiers.kernels import intersection
from visualwords.classifiers.linear import ByteLinearClassifier


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.gamma(0.5, 1.0, (60, 12)).astype(np.float32)
    return X, np.repeat(["a", "b", "c"], 20)


WORK = {
    "intersection": lambda X, y: intersection(X),
    "hashes": lambda X, y: GCWSHasher(16, n_jobs=2).fit(X).transform(X).toarray(),
    "icd": lambda X, y: ICDClassifier(n_jobs=2).fit(X, y).decision_function(X),
}


MANY = np.repeat(np.arange(10), 6)  # classes, so that each of two workers has lanes full of them
TRAINED = {
    "gram": lambda X: scores_of(ICDClassifier(solver="gram"), X),
    "tables": lambda X: scores_of(ICDClassifier(solver="dual"), X),
    "primal": lambda X: scores_of(ICDClassifier(solver="primal"), X),
    "two classes": lambda X: ICDClassifier().fit(X, MANY < 5).decision_function(X),
    "probabilities": lambda X: ICDClassifier(C=0.1, probability=True).fit(X, MANY).predict_proba(X),
    "bytes": lambda X: scores_of(ByteLinearClassifier(), np.rint(20 * X).astype(np.int8)),
    "held out": lambda X: ByteLinearClassifier().fit_and_hold_out(
        np.rint(20 * X).astype(np.int8), MANY, np.arange(len(X)) % 3
    ),
}


def scores_of(model, X):
    """Train; the scores, and how many passes that took."""
    scores = model.fit(X, MANY).decision_function(X)
    return np.append(scores, model.n_iter_)


@pytest.mark.parametrize("name", TRAINED)
def test_blocks_of_classes_trained_by_processes_are_those_trained_here(name, data):
    expected = TRAINED[name](data[0])
    with joblib.parallel_config("multiprocessing", n_jobs=2):
        np.testing.assert_array_equal(TRAINED[name](data[0]), expected)


def test_problems_are_divided_among_processes_only():
    assert len(one_vs_rest.blocks(10)) == 1
    with joblib.parallel_config("multiprocessing", n_jobs=3):
        assert [block.tolist() for block in one_vs_rest.blocks(4)] == [[0, 1], [2], [3]]


@pytest.mark.parametrize("name", WORK)
def test_processes_give_what_threads_give(name, data):
    expected = WORK[name](*data)
    with joblib.parallel_config("multiprocessing", n_jobs=2):
        np.testing.assert_array_equal(WORK[name](*data), expected)
