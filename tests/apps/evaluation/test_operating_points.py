"""Thresholds, curves and costs of a trial."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.pipeline.decision import Decision


def trial_of(rng, n=600, rule=None, **more):
    """A trial of defects, a sixth of the images, and good parts."""
    truth = np.where(np.arange(n) % 6 == 0, "defect", "ok")
    chance = np.clip(rng.normal(np.where(truth == "defect", 0.6, 0.15), 0.15), 0.001, 0.999)
    chances = np.stack([chance, 1 - chance], axis=1)
    rule = rule or Decision.of(["defect", "ok"])
    names, labels = [f"{i}.png" for i in range(n)], truth.tolist()
    guesses, classes = rule.labels(chances).tolist(), ["defect", "ok"]
    return Trial(classes, names, labels, guesses, chances, chances, [], decision=rule, **more)


def test_a_threshold_does_what_its_sentence_says(rng):
    trial = trial_of(rng)
    point = trial.curves[0].point(0.01)
    assert str(point).startswith(
        f"to keep false alarms of defect below 1 %, use --threshold defect={point.threshold:g}: "
    )
    labels = Decision.of(trial.classes, thresholds={"defect": point.threshold}).labels(
        trial.probabilities
    )
    truth = np.array(trial.truth)
    assert (labels[truth == "ok"] == "defect").mean() == point.false_alarms <= 0.01
    assert (labels[truth == "defect"] == "defect").mean() == point.found > 0.5


def test_few_other_images_mean_little(rng):
    few, many = (trial_of(rng, n=n).curves[0].point() for n in (60, 600))
    assert few.false_alarms == 0
    assert (few.means_something, many.means_something) == (False, True)
    certain = trial_of(rng, n=12)
    certain.probabilities[:, 0] = 1.0
    assert certain.curves[0].point() is None


def test_curves_are_those_of_scikit_learn(rng):
    trial = trial_of(rng)
    curve = trial.curves[0]
    positive = np.array(trial.truth) == "defect"
    assert curve.area == roc_auc_score(positive, trial.probabilities[:, 0])
    false_alarms, found = curve.roc
    assert (false_alarms[0], found[0], false_alarms[-1], found[-1]) == (0, 0, 1, 1)
    recall, precision = curve.precision_recall
    assert (np.diff(recall) >= 0).all()
    assert precision[-1] == pytest.approx(positive.mean())
    assert curve.to_json()["operating_point"]["threshold"] == curve.point().threshold


def test_there_are_no_curves_without_probabilities_or_with_one_class(rng):
    trial = trial_of(rng)
    assert trial.part(range(0, 60, 6)).curves == []
    bare = Trial(trial.classes, trial.paths, trial.truth, trial.guesses, trial.scores, None, [])
    assert bare.curves == []


def test_the_cost_is_the_mean_of_the_labels_costs(rng):
    rule = Decision.of(["defect", "ok"], costs={("defect", "ok"): 10})
    trial = trial_of(rng, rule=rule)
    mean, (low, high) = trial.cost
    cost = {("defect", "ok"): 10, ("ok", "defect"): 1}
    assert mean == np.mean([cost.get(pair, 0) for pair in zip(trial.truth, trial.guesses)])
    assert low < mean < high
    groups = [f"g{i // 100}" for i in range(600)]
    assert replace(trial, groups=groups).cost[1] != (low, high)  # the interval of groups
    assert trial_of(rng).cost is None
    assert replace(trial, truth=["scratch"] * 600).cost is None  # no class of the model
