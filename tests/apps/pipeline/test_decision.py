"""The rule that makes labels of probabilities, and alarms."""

import numpy as np
import pytest

from tests.apps.conftest import COLORS
from visualwords import ImageClassifier, load
from visualwords.apps.pipeline.decision import Alarm, Decision

P = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8]])


def test_costs_choose_the_lowest_expected_cost():
    rule = Decision.of("abc", costs={("c", "a"): 10})
    expected = [
        min("abc", key=lambda said: sum(p * _cost(true, said) for p, true in zip(row, "abc")))
        for row in P
    ]
    assert rule.labels(P).tolist() == expected
    assert expected[0] != "a"
    found = rule.expected_costs(np.array([0, 0, 1, -1]), np.array([0, 2, 2, 2]))
    assert found.tolist() == [0, 10, 1, 1]


def _cost(true, said):
    return 0 if true == said else 10 if (true, said) == ("c", "a") else 1


def test_a_class_is_the_label_from_its_threshold_on_and_never_below():
    assert Decision.of("abc", thresholds={"c": 0.1}).labels(P).tolist() == ["c", "c", "c"]
    assert Decision.of("abc", thresholds={"c": 0.9}).labels(P).tolist() == ["a", "b", "a"]
    rule = Decision.of("abc", thresholds=dict.fromkeys("abc", 0.5))
    assert rule.labels(P).tolist() == ["a", "unknown", "c"]


def test_strange_images_are_unknown_at_the_chosen_rate():
    novelty = np.array([0.94, 0.96, 0.2])
    assert Decision.of("abc", unknown=0.05).labels(P, novelty).tolist() == ["a", "unknown", "c"]
    assert Decision.of("abc").labels(P, novelty).tolist() == ["a", "b", "c"]
    assert Decision.of("abc").labels(P).tolist() == ["a", "b", "c"]  # the most probable


def test_a_class_called_unknown_is_not_confused_with_rejected_images():
    rule = Decision.of(["cat", "unknown"], unknown=0.05)
    chances, novelty = np.array([[0.2, 0.8], [0.2, 0.8]]), np.array([0.5, 0.99])
    assert rule.labels(chances, novelty).tolist() == ["unknown", "unknown-2"]


def test_the_state_is_the_same_rule():
    alarm = Alarm.of(np.array(list("abc")), ["b"])
    rule = Decision.of("abc", {("a", "b"): 3}, {"b": 0.3}, 0.1)
    rule = Decision(rule.classes, rule.costs, rule.thresholds, rule.unknown, alarm)
    restored = Decision.from_state(rule.get_state(), np.array(list("abc")))
    novelty = np.array([0.0, 0.95, 0.5])
    assert restored.labels(P, novelty).tolist() == rule.labels(P, novelty).tolist()
    assert restored.alarm.names == ("b",)
    assert restored.alarm.raised(P).tolist() == alarm.raised(P).tolist()
    for forged in ({"thresholds": np.zeros(2)}, {"costs": np.zeros((2, 3))}):
        with pytest.raises(ValueError, match="do not fit the classes"):
            Decision.from_state({**rule.get_state(), **forged}, np.array(list("abc")))
    with pytest.raises(ValueError, match="the alarm does not fit"):
        Decision.from_state({**rule.get_state(), "alarm": np.zeros(3)}, np.array(list("abc")))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"costs": {("x", "a"): 1}}, "a cost is given for 'x', which is no class; there are a, b"),
        ({"costs": {("a", "a"): 1}}, "right label"),
        ({"costs": {("a", "b"): -1}}, "must be 0 or more"),
        ({"costs": {("a", "b"): np.nan}}, "must be 0 or more"),
        ({"thresholds": {"x": 0.5}}, "a threshold is given for 'x'"),
        ({"thresholds": {"a": 1.5}}, "a probability is 0 to 1"),
        ({"unknown": 1.0}, "between 0 and 1"),
    ],
)
def test_wrong_input_gets_one_sentence(wrong, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        Decision.of("ab", **wrong)
    assert "\n" not in str(error.value)


MEMBERS = np.array([True, True, False])
NAMES = np.array(["crack", "hole", "ok"])


def outcome(p, is_member, threshold, price):
    """The shares of escapes and of false alarms, and the cost, by their definition."""
    raised = p >= threshold
    escapes = np.mean(~raised[is_member]) if is_member.any() else 0.0
    false = np.mean(raised[~is_member]) if (~is_member).any() else 0.0
    return escapes, false, price[raised != is_member].sum()


@pytest.mark.parametrize("seed", range(12))
def test_the_threshold_of_an_alarm_is_that_of_an_obvious_search(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 30)
    chances = rng.dirichlet([0.5, 0.5, 1], n)
    if seed % 3 == 0:  # many are equal, and some are certain
        chances = np.round(chances * 4) / 4
        chances[:, 2] = 1 - chances[:, :2].sum(axis=1)
    truth = rng.integers(0, 3, n)
    truth[:2] = [0, 2]
    costs = 1 - np.eye(3)
    costs[0, 2], costs[2, 1] = 9, 2.5
    p, is_member = chances[:, :2].sum(axis=1), MEMBERS[truth]
    price = np.array([{0: 9, 1: 1, 2: 1}[t] for t in truth], float)  # the least of each kind
    between = np.unique(p)
    tried = np.concatenate([[-1], (between[1:] + between[:-1]) / 2, [2]])  # one for every outcome
    results = np.array([outcome(p, is_member, t, price) for t in tried])
    alarm = Alarm.of(NAMES, ["crack", "hole"])
    for share in (0.0, 0.1, 0.5, 1.0):
        found = alarm.fitted(chances, truth, escapes=share)
        escapes, false, _ = outcome(p, is_member, found.threshold, price)
        assert escapes <= share
        assert false == results[results[:, 0] <= share, 1].min()
        found = alarm.fitted(chances, truth, false_alarms=share)
        escapes, false, _ = outcome(p, is_member, found.threshold, price)
        assert false <= share
        assert escapes == results[results[:, 1] <= share, 0].min()
    found = alarm.fitted(chances, truth, costs=costs)
    cost = outcome(p, is_member, found.threshold, price)[2]
    assert cost == pytest.approx(results[:, 2].min())
    np.testing.assert_array_equal(found.raised(chances), p >= found.threshold)


@pytest.mark.parametrize("certain", [1.0, 1.0 + 2**-51])  # as sums of probabilities can be
def test_no_false_alarm_is_raised_even_by_what_is_certain(certain):
    chances = np.array([[certain, 0, 0], [certain, 0, 0], [0.2, 0, 0.8]])
    alarm = Alarm.of(NAMES, "crack").fitted(chances, np.array([0, 2, 2]), false_alarms=0.0)
    assert not alarm.raised(chances).any()


def test_a_model_keeps_its_alarm_which_changes_no_label(photos, tmp_path):
    plain = ImageClassifier("tiny").fit(photos)
    model = ImageClassifier("tiny", alarm=["sea", "sand"], escapes=0.0).fit(photos)
    assert model.predict(photos).tolist() == plain.predict(photos).tolist()
    decided = model.decide(model.score_images(str(photos)))
    assert decided.alarms.tolist() == [label != "wood" for label in decided.labels]
    model.save(tmp_path / "m.vw")
    again = load(tmp_path / "m.vw")
    assert again.decision_.alarm.threshold == model.decision_.alarm.threshold
    assert again.predict_one(photos / "sea" / "0.png").alarm is True
    assert plain.predict_one(photos / "sea" / "0.png").alarm is None
    for wrong, sentence in (
        ({"alarm": "dent"}, "an alarm is given for 'dent', which is no class"),
        ({"alarm": list(COLORS)}, "classes that raise it and classes that do not"),
        ({"escapes": 1.5}, "escapes=1.5: a share of images is 0 to 1"),
        ({"false_alarms": -0.1}, "false_alarms=-0.1: a share of images is 0 to 1"),
        ({"escapes": 0.1, "false_alarms": 0.1}, "give escapes or false_alarms, not both"),
        ({"alarm": None, "escapes": 0.1}, "escapes and false_alarms are of an alarm"),
    ):
        with pytest.raises(ValueError, match=sentence):
            ImageClassifier("tiny", **{"alarm": "sea", **wrong}).fit(photos)
