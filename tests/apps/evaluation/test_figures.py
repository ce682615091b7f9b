"""The figures of a test, against scikit-learn and SciPy; intervals of images and of groups."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from visualwords.apps.evaluation.figures import bootstrap, compare, wilson


def test_accuracies_agree_with_scikit_learn_and_the_interval_with_scipy(rng):
    truth = rng.choice(["a", "b", "c"], 200, p=[0.6, 0.3, 0.1])
    guesses = np.where(rng.random(200) < 0.8, truth, rng.choice(["a", "b", "c"], 200))
    result = compare(truth.tolist(), guesses.tolist(), known=["a", "b", "c"])
    assert result.accuracy == accuracy_score(truth, guesses)
    assert result.mean_per_class == pytest.approx(balanced_accuracy_score(truth, guesses))
    expected = binomtest(result.n_right, result.n_images).proportion_ci(method="wilson")
    np.testing.assert_allclose(result.interval, expected, atol=1e-6)


def test_classes_without_images_and_images_without_a_known_class():
    result = compare(["a", "a", "z"], ["a", "b", "a"], known=["a", "b", "c"])
    assert result.classes == ["a", "b", "c", "z"]
    assert result.support.tolist() == [2, 0, 0, 1]
    assert (result.accuracy, result.mean_per_class) == (1 / 3, 0.25)  # of two tested classes
    with pytest.raises(ValueError, match="no image"):
        compare([], [], known=["a"])


def test_rejected_images_count_as_wrong():
    result = compare(["a", "a", "b", "b"], ["a", "unknown", "unknown", "b"], ["a", "b"])
    assert (result.n_images, result.accuracy, result.n_rejected) == (4, 0.5, 2)
    assert result.rejected.tolist() == [1, 1]
    assert result.recall.tolist() == [0.5, 0.5]
    assert result.to_json()["classes"]["b"]["rejected"] == 1


def test_groups_that_succeed_and_fail_together_have_the_interval_of_their_number(rng):
    right = np.repeat(rng.random(60) < 0.8, 40)
    groups = np.repeat(np.arange(60), 40).astype(str).tolist()
    low, high = bootstrap(right, groups)
    np.testing.assert_allclose((low, high), wilson(right[::40].sum(), 60), atol=0.03)
    plain = bootstrap(right)
    assert bootstrap(right, [None] * len(right)) == plain  # each a group of its own
    assert high - low > 4 * (plain[1] - plain[0])


def test_the_interval_covers_the_truth_about_as_often_as_promised(rng):
    """Groups of ten with their own difficulty: plain intervals cover far too rarely."""
    covered, plain = 0, 0
    groups = np.repeat(np.arange(50), 10).astype(str).tolist()
    for _ in range(100):
        chance = rng.beta(4, 1, 50)
        right = (rng.random((50, 10)) < chance[:, None]).ravel()
        low, high = bootstrap(right, groups)
        covered += low <= 0.8 <= high
        low, high = wilson(right.sum(), 500)
        plain += low <= 0.8 <= high
    assert covered >= 88 > plain


def test_figures_of_grouped_images_have_the_interval_of_groups():
    truth, guesses = ["a", "b"] * 30, ["a", "b"] * 25 + ["b", "a"] * 5
    groups = [f"g{i // 10}" for i in range(60)]
    plain = compare(truth, guesses, ["a", "b"])
    grouped = compare(truth, guesses, ["a", "b"], groups)
    assert (plain.n_groups, grouped.n_groups) == (0, 6)
    assert grouped.interval == bootstrap(np.array(truth) == np.array(guesses), groups)
    assert grouped.interval[0] < plain.interval[0]
    assert grouped.to_json()["groups"] == 6
