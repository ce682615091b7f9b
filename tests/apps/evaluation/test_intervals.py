"""Intervals of shares: of independent images and of groups."""

import numpy as np

from visualwords.apps.evaluation.figures import bootstrap, compare, group_codes, wilson


def test_images_without_a_group_are_groups_of_their_own():
    assert group_codes(["x", None, "x", None, "y"]).tolist() == [0, 1, 0, 2, 3]


def test_groups_that_succeed_and_fail_together_have_the_interval_of_their_number(rng):
    right = np.repeat(rng.random(60) < 0.8, 40)
    groups = np.repeat(np.arange(60), 40).astype(str).tolist()
    low, high = bootstrap(right, groups)
    expected = wilson(right[::40].sum(), 60)
    np.testing.assert_allclose((low, high), expected, atol=0.03)
    plain = bootstrap(right)
    assert high - low > 4 * (plain[1] - plain[0])


def test_the_interval_covers_the_truth_about_as_often_as_promised(rng):
    """Groups of ten with their own difficulty: plain intervals cover far too rarely."""
    covered, plain = 0, 0
    for _ in range(100):
        chance = rng.beta(4, 1, 50)
        right = (rng.random((50, 10)) < chance[:, None]).ravel()
        groups = np.repeat(np.arange(50), 10).astype(str).tolist()
        low, high = bootstrap(right, groups)
        covered += low <= 0.8 <= high
        low, high = wilson(right.sum(), 500)
        plain += low <= 0.8 <= high
    assert covered >= 88 > plain


def test_figures_of_grouped_images_have_the_interval_of_groups():
    truth = ["a", "b"] * 30
    guesses = ["a", "b"] * 25 + ["b", "a"] * 5
    groups = [f"g{i // 10}" for i in range(60)]
    plain, grouped = (
        compare(truth, guesses, ["a", "b"]),
        compare(truth, guesses, ["a", "b"], groups),
    )
    assert (plain.n_groups, grouped.n_groups) == (0, 6)
    assert grouped.interval == bootstrap(np.array(truth) == np.array(guesses), groups)
    assert grouped.interval[0] < plain.interval[0]
    assert grouped.to_json()["groups"] == 6


def test_rejected_images_count_as_wrong():
    result = compare(["a", "a", "b", "b"], ["a", "unknown", "unknown", "b"], ["a", "b"])
    assert (result.n_images, result.accuracy, result.n_rejected) == (4, 0.5, 2)
    assert result.rejected.tolist() == [1, 1]
    assert result.recall.tolist() == [0.5, 0.5]
    assert result.to_json()["classes"]["b"]["rejected"] == 1
