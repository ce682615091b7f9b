"""Two models on the same images."""

import numpy as np
import pytest
from scipy.stats import binomtest

from visualwords.apps.evaluation.trial import Trial, pair_trials


def trial_of(truth, guesses, paths=None, groups=None):
    paths = paths or [f"{i}.png" for i in range(len(truth))]
    numbers = np.zeros((len(truth), 2))
    return Trial(["a", "b"], paths, list(truth), list(guesses), numbers, None, [], groups=groups)


def test_what_changed_is_listed_the_worse_first():
    pair = pair_trials(trial_of("aabb", "abbb"), trial_of("aabb", "baba"))
    assert [(c.path, c.verdict) for c in pair.changed] == [
        ("0.png", "worse"),
        ("3.png", "worse"),
        ("1.png", "better"),
    ]
    assert (pair.n_better, pair.n_worse, pair.difference) == (1, 2, -0.25)


def test_the_p_value_is_mcnemars_exact_one():
    first = trial_of("a" * 40, "a" * 25 + "b" * 15)
    second = trial_of("a" * 40, "a" * 22 + "b" * 3 + "a" * 12 + "b" * 3)
    pair = pair_trials(first, second)
    assert (pair.n_worse, pair.n_better) == (3, 12)
    assert pair.p_value == pytest.approx(binomtest(3, 15).pvalue)
    assert "12 better, 3 worse" in str(pair)
    low, high = pair.interval
    assert pair.difference == pytest.approx(9 / 40)
    assert 0 < low < 9 / 40 < high


def test_equal_models_differ_by_nothing():
    trial = trial_of("aabb", "abab")
    pair = pair_trials(trial, trial)
    assert (pair.changed, pair.p_value, pair.interval) == ([], 1.0, (0.0, 0.0))


def test_only_images_that_both_could_read_are_compared():
    first = trial_of("aab", "aab", ["1", "2", "3"])
    second = trial_of("ba", "bb", ["3", "1"])
    pair = pair_trials(first, second)
    assert pair.first.paths == pair.second.paths == ["1", "3"]
    assert [c.path for c in pair.changed] == ["1"]
    with pytest.raises(ValueError, match="could not read the same images"):
        pair_trials(first, trial_of("a", "a", ["9"]))


def test_groups_widen_the_interval_of_the_difference():
    truth = "a" * 40
    first, second = trial_of(truth, "a" * 20 + "b" * 20), trial_of(truth, "a" * 30 + "b" * 10)
    groups = [f"g{i // 10}" for i in range(40)]
    plain = pair_trials(first, second).interval
    grouped = pair_trials(
        trial_of(truth, first.guesses, groups=groups),
        trial_of(truth, second.guesses, groups=groups),
    ).interval
    assert grouped[1] - grouped[0] > 2 * (plain[1] - plain[0])
