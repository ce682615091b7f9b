"""What "auto" optimises."""

import numpy as np
import pytest

from visualwords import ImageClassifier, load
from visualwords.apps.pipeline.decision import Decision
from visualwords.apps.pipeline.metric import Metric
from visualwords.apps.pipeline.trained import Trained

LABELS = np.array(["defect"] * 10 + ["ok"] * 90)


def trained(scores, labels=LABELS):
    """Return held-out scores, of the second class, without what made them."""
    return Trained(None, [], None, np.arange(len(labels)), [], [], scores, labels)


@pytest.fixture
def blind():
    """Give scores that call everything ok, and ones that find defects at the price of alarms."""
    rng = np.random.default_rng(0)
    is_ok = np.where(LABELS == "ok", 1.0, -1.0)
    return trained(1 + 0.01 * rng.normal(size=100)), trained(
        is_ok * np.where(rng.random(100) < 0.92, 1, -1)
    )


def metric(name, **rule):
    weights = None if name == "mean-per-class" else np.ones(2)
    return Metric(name, Decision.of(["defect", "ok"], **rule), weights)


def test_metrics_rank_recipes_by_what_they_are_called(blind):
    lazy, eager = blind
    by_images, by_classes = metric("accuracy"), metric("mean-per-class")
    assert by_images.of(lazy) == 0.9
    assert by_classes.of(lazy) < by_classes.of(eager)
    by_cost = metric("cost", costs={("defect", "ok"): 10})
    assert by_cost.merit(by_cost.of(eager)) > by_cost.merit(by_cost.of(lazy))
    assert by_cost.of(eager) < by_cost.of(lazy)


def test_the_figure_is_that_of_the_rule_with_its_thresholds(blind):
    _, eager = blind
    assert metric("accuracy", thresholds={"defect": 0.0}).of(eager) == pytest.approx(0.1)
    assert metric("cost", costs={("defect", "ok"): 10}).mean_per_class(eager) > 0.7


def test_without_held_out_scores_there_is_no_figure():
    assert metric("accuracy").of(trained(None)) is None


def test_figures_are_shown_with_their_names():
    assert metric("mean-per-class").shown(0.5) == "50.0% mean per class"
    assert metric("accuracy").shown(0.5) == "50.0% right"
    assert metric("cost", costs={("ok", "defect"): 2}).shown(0.5) == "mean cost 0.500"


def test_wrong_metrics_get_one_sentence(photos):
    with pytest.raises(ValueError, match="choose from mean-per-class, accuracy, cost"):
        ImageClassifier("color", metric="f1").fit(photos)
    with pytest.raises(ValueError, match="the metric 'cost' needs costs"):
        ImageClassifier("color", metric="cost").fit(photos)


def test_a_model_keeps_its_metric_and_what_it_is_about(photos, tmp_path):
    costs = {("sea", "sand"): 3}
    model = ImageClassifier("auto", representation="histogram", metric="cost", costs=costs)
    model.fit(photos).save(tmp_path / "m.vw", name="beach", note="a first try", date="2020-02-20")
    assert min(model.tried_.values()) == model.tried_[model.recipe_.name]
    again = load(tmp_path / "m.vw")
    assert (again.metric, again.tried_) == ("cost", model.tried_)
    about = {"trained on": "photos", "name": "beach", "note": "a first try", "date": "2020-02-20"}
    assert again.about_ == about
    again.save(tmp_path / "n.vw", note="a second")
    assert load(tmp_path / "n.vw").about_ == {**about, "note": "a second"}
