"""The figures of a test, against scikit-learn and SciPy."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from visualwords.apps.evaluation.figures import compare


@pytest.fixture
def labels(rng):
    truth = rng.choice(["a", "b", "c"], 200, p=[0.6, 0.3, 0.1])
    guesses = np.where(rng.random(200) < 0.8, truth, rng.choice(["a", "b", "c"], 200))
    return truth.tolist(), guesses.tolist()


def test_accuracies_agree_with_scikit_learn(labels):
    result = compare(*labels, known=["a", "b", "c"])
    assert result.accuracy == accuracy_score(*labels)
    assert result.mean_per_class == pytest.approx(balanced_accuracy_score(*labels))


def test_the_interval_is_wilsons(labels):
    result = compare(*labels, known=["a", "b", "c"])
    expected = binomtest(result.n_right, result.n_images).proportion_ci(method="wilson")
    np.testing.assert_allclose(result.interval, expected, atol=1e-6)


def test_a_class_without_test_images_does_not_enter_the_mean():
    result = compare(["a", "a"], ["a", "b"], known=["a", "b", "c"])
    assert result.mean_per_class == 0.5
    assert result.support.tolist() == [2, 0, 0]


def test_a_class_the_model_does_not_know_counts_as_wrong():
    result = compare(["a", "z"], ["a", "a"], known=["a", "b"])
    assert result.classes == ["a", "b", "z"]
    assert result.accuracy == 0.5


def test_nothing_to_compare_is_an_error():
    with pytest.raises(ValueError, match="no image"):
        compare([], [], known=["a"])
