"""Where a class may be told from the others: ROC and precision-recall curves, thresholds, costs."""

import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from visualwords.apps.evaluation.figures import bootstrap
from visualwords.apps.evaluation.trial import Trial

__all__ = [
    "ClassCurve",
    "OperatingPoint",
    "alarm_curve",
    "class_curves",
    "describe_alarm",
    "expected_cost",
]

FALSE_ALARMS = 0.01  # share of other classes' images that the suggested thresholds allow
DIGITS = 3  # of a suggested threshold


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold of a class, and what it does on the images of a trial.

    Attributes
    ----------
    name : the class
    threshold : predict the class from this probability on
    limit : share of false alarms that was allowed
    false_alarms : share of images of other classes that reach the threshold
    found : share of images of the class that reach it
    n_others : images of other classes
    """

    name: str
    threshold: float
    limit: float
    false_alarms: float
    found: float
    n_others: int

    def __str__(self) -> str:
        flag = shlex.quote(f"{self.name}={self.threshold:g}")
        return (
            f"to keep false alarms of {self.name} below {100 * self.limit:g} %, use --threshold "
            f"{flag}: {self.found:.0%} of its images are found"
        )

    @property
    def means_something(self) -> bool:
        """Whether there are so many other images that the limit allows one false alarm."""
        return self.limit * self.n_others >= 1

    def to_json(self) -> dict[str, float]:
        """The point as what JSON can hold."""
        rates = {"false_alarm_limit": self.limit, "false_alarms": self.false_alarms}
        return {"threshold": self.threshold, **rates, "found": self.found}


@dataclass(frozen=True)
class ClassCurve:
    """One class against the others, by its probability.

    Attributes
    ----------
    name : the class
    probabilities : (n,) of the class, of all images
    positive : (n,) bool, whether an image is of the class
    """

    name: str
    probabilities: np.ndarray
    positive: np.ndarray

    @cached_property
    def roc(self) -> tuple[np.ndarray, np.ndarray]:
        """False-alarm rates and shares found, from the highest threshold to the lowest."""
        from sklearn.metrics import roc_curve

        false_alarms, found, _ = roc_curve(self.positive, self.probabilities)
        return false_alarms, found

    @cached_property
    def precision_recall(self) -> tuple[np.ndarray, np.ndarray]:
        """Recall and precision, from the highest threshold to the lowest."""
        from sklearn.metrics import precision_recall_curve

        precision, recall, _ = precision_recall_curve(self.positive, self.probabilities)
        return recall[::-1], precision[::-1]

    @cached_property
    def area(self) -> float:
        """Area under the ROC curve: how often an image of the class is ranked above another."""
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(self.positive, self.probabilities))

    @cached_property
    def average_precision(self) -> float:
        """Mean precision over recall."""
        from sklearn.metrics import average_precision_score

        return float(average_precision_score(self.positive, self.probabilities))

    def point(self, limit: float | None = None) -> OperatingPoint | None:
        """Return the lowest threshold whose false alarms are no more than a share of the others.

        It is rounded up to three digits, as people type it, and its figures are those of the
        rounded one. None where no probability below 1 will do.
        """
        limit = FALSE_ALARMS if limit is None else limit
        own = self.probabilities[self.positive]
        others = np.sort(self.probabilities[~self.positive])
        allowed = int(np.floor(limit * len(others)))
        below = others[len(others) - allowed - 1]  # the highest one that must stay below
        threshold = float((np.floor(below * 10**DIGITS) + 1) / 10**DIGITS)
        if threshold > 1:
            return None
        false_alarms, found = (float((p >= threshold).mean()) for p in (others, own))
        return OperatingPoint(self.name, threshold, limit, false_alarms, found, len(others))

    def to_json(self) -> dict[str, Any]:
        """Return the figures, without the curves, as what JSON can hold."""
        point = self.point()
        return {
            "roc_area": self.area,
            "average_precision": self.average_precision,
            "operating_point": None if point is None else point.to_json(),
        }


def class_curves(trial: Trial) -> list[ClassCurve]:
    """Return the curves of all classes that have test images, and others have too.

    Probabilities are needed; without them there are no curves.
    """
    if trial.probabilities is None:
        return []
    truth = np.array(trial.truth)
    curves = [
        ClassCurve(name, trial.probabilities[:, column], truth == name)
        for column, name in enumerate(trial.classes)
    ]
    return [curve for curve in curves if 0 < curve.positive.sum() < len(truth)]


def alarm_curve(trial: Trial) -> tuple[ClassCurve, OperatingPoint] | None:
    """The classes of an alarm against the others, and its threshold; None without either."""
    alarm = None if trial.decision is None else trial.decision.alarm
    if alarm is None or trial.probabilities is None:
        return None
    positive = np.isin(trial.truth, alarm.names)
    if positive.all() or not positive.any():
        return None
    curve = ClassCurve(" or ".join(alarm.names), alarm.probability(trial.probabilities), positive)
    raised = curve.probabilities >= alarm.threshold
    false, found = float(raised[~positive].mean()), float(raised[positive].mean())
    return curve, OperatingPoint(
        curve.name, alarm.threshold, false, false, found, int((~positive).sum())
    )


def describe_alarm(point: OperatingPoint, curve: ClassCurve) -> str:
    """What an alarm does on the images of a trial, in a sentence."""
    return (
        f"alarm for {point.name} from probability {point.threshold:.3g} on: {point.found:.1%} of "
        f"{curve.positive.sum()} images raise it ({1 - point.found:.1%} escape), and "
        f"{point.false_alarms:.1%} of {point.n_others} others"
    )


def expected_cost(trial: Trial) -> tuple[float, tuple[float, float]] | None:
    """The mean cost of a label, and its 95 % interval (bootstrap, over groups).

    Images of classes that the model does not know are left out. None where it has no costs, or
    knows the class of no image.
    """
    if trial.decision is None or trial.decision.costs is None:
        return None
    column = {name: i for i, name in enumerate(trial.classes)}
    known = [i for i, name in enumerate(trial.truth) if name in column]
    if not known:
        return None
    codes = np.array([column.get(trial.guesses[i], -1) for i in known], np.intp)
    truth = np.array([column[trial.truth[i]] for i in known], np.intp)
    costs = trial.decision.expected_costs(codes, truth)
    groups = None if trial.groups is None else [trial.groups[i] for i in known]
    return float(costs.mean()), bootstrap(costs, groups)
