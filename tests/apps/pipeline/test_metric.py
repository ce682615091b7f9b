"""What "auto" optimises."""

import numpy as np
import pytest

from visualwords import ImageClassifier, load
from visualwords.apps.pipeline.decision import Decision
from visualwords.apps.pipeline.metric import Metric

TRUTH = np.array([0] * 10 + [1] * 90)  # defect, ok


@pytest.fixture
def blind(rng):
    """Give scores that call everything ok, and ones that find defects at the price of alarms."""
    is_ok = np.where(TRUTH, 1.0, -1.0)
    return 1 + 0.01 * rng.normal(size=100), is_ok * np.where(rng.random(100) < 0.92, 1, -1)


def figure(name, scores, **rule):
    weights = None if name == "mean-per-class" else np.ones(2)
    metric = Metric(name, Decision.of(["defect", "ok"], **rule), weights)
    gains = metric.gains(metric.probabilities(scores, TRUTH), TRUTH)
    return metric.figure(gains, TRUTH)


def test_metrics_rank_recipes_by_what_they_are_called(blind):
    lazy, eager = blind
    assert figure("accuracy", lazy) == 0.9
    assert figure("mean-per-class", lazy) < figure("mean-per-class", eager)
    costs = {("defect", "ok"): 10}
    assert figure("cost", eager, costs=costs) < figure("cost", lazy, costs=costs)
    assert figure("accuracy", eager, thresholds={"defect": 0.0}) == pytest.approx(0.1)


def test_figures_are_shown_with_their_names():
    rule = Decision.of(["defect", "ok"], costs={("ok", "defect"): 2})
    shown = [Metric(n, rule, None).shown(0.5) for n in ("mean-per-class", "accuracy", "cost")]
    assert shown == ["50.0% mean per class", "50.0% right", "mean cost 0.500"]


def test_wrong_metrics_get_one_sentence(photos):
    with pytest.raises(ValueError, match="choose from mean-per-class, accuracy, cost"):
        ImageClassifier("tiny", metric="f1").fit(photos)
    with pytest.raises(ValueError, match="the metric 'cost' needs costs"):
        ImageClassifier("tiny", metric="cost").fit(photos)


def test_a_model_keeps_its_metric_and_what_it_is_about(photos, tmp_path):
    model = ImageClassifier(budget=1, metric="cost", costs={("sea", "sand"): 3}).fit(photos)
    model.save(tmp_path / "m.vw", name="beach", note="a first try", date="2020-02-20")
    again = load(tmp_path / "m.vw")
    assert (again.metric, again.tried_) == ("cost", model.tried_)
    about = {"trained on": "photos", "name": "beach", "note": "a first try", "date": "2020-02-20"}
    assert again.about_ == about
    again.save(tmp_path / "n.vw", note="a second")
    assert load(tmp_path / "n.vw").about_ == {**about, "note": "a second"}
