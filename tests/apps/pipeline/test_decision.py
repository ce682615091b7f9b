"""The rule that makes labels of probabilities."""

import numpy as np
import pytest

from visualwords.apps.pipeline.decision import Decision

P = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8]])


def test_the_label_is_the_most_probable_class():
    assert Decision.of("abc").labels(P).tolist() == ["a", "b", "c"]


def test_costs_choose_the_lowest_expected_cost():
    rule = Decision.of("abc", costs={("c", "a"): 10})
    expected = [
        min("abc", key=lambda said: sum(p * _cost(true, said) for p, true in zip(row, "abc")))
        for row in P
    ]
    assert rule.labels(P).tolist() == expected
    assert expected[0] != "a"


def _cost(true, said):
    return 0 if true == said else 10 if (true, said) == ("c", "a") else 1


def test_a_class_is_the_label_from_its_threshold_on_and_never_below():
    assert Decision.of("abc", thresholds={"c": 0.1}).labels(P).tolist() == ["c", "c", "c"]
    assert Decision.of("abc", thresholds={"c": 0.9}).labels(P).tolist() == ["a", "b", "a"]


def test_where_no_class_may_be_the_label_it_is_unknown():
    rule = Decision.of("abc", thresholds=dict.fromkeys("abc", 0.5))
    assert rule.labels(P).tolist() == ["a", "unknown", "c"]


def test_strange_images_are_unknown_at_the_chosen_rate():
    novelty = np.array([0.94, 0.96, 0.2])
    assert Decision.of("abc", unknown=0.05).labels(P, novelty).tolist() == ["a", "unknown", "c"]
    assert Decision.of("abc").labels(P, novelty).tolist() == ["a", "b", "c"]


def test_expected_costs_are_those_of_the_matrix():
    rule = Decision.of("abc", costs={("c", "a"): 10})
    found = rule.expected_costs(np.array([0, 0, 1, -1]), np.array([0, 2, 2, 2]))
    assert found.tolist() == [0, 10, 1, 1]


def test_the_state_is_the_same_rule():
    rule = Decision.of("abc", {("a", "b"): 3}, {"b": 0.3}, 0.1)
    restored = Decision.from_state(rule.get_state(), np.array(list("abc")))
    novelty = np.array([0.0, 0.95, 0.5])
    assert restored.labels(P, novelty).tolist() == rule.labels(P, novelty).tolist()
    with pytest.raises(ValueError, match="do not fit"):
        Decision.from_state(rule.get_state(), np.array(["a", "b"]))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"costs": {("x", "a"): 1}}, "a cost is given for 'x', which is no class; there are a, b"),
        ({"costs": {("a", "a"): 1}}, "right label"),
        ({"costs": {("a", "b"): -1}}, "must be 0 or more"),
        ({"thresholds": {"x": 0.5}}, "a threshold is given for 'x'"),
        ({"thresholds": {"a": 1.5}}, "a probability is 0 to 1"),
        ({"unknown": 1.0}, "between 0 and 1"),
    ],
)
def test_wrong_input_gets_one_sentence(wrong, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        Decision.of("ab", **wrong)
    assert "\n" not in str(error.value)


def test_a_class_called_unknown_is_not_confused_with_rejected_images():
    rule = Decision.of(["cat", "unknown"], unknown=0.05)
    chances, novelty = np.array([[0.2, 0.8], [0.2, 0.8]]), np.array([0.5, 0.99])
    assert rule.labels(chances, novelty).tolist() == ["unknown", "unknown-2"]
    assert Decision.of(["cat", "dog"]).rejected == "unknown"
