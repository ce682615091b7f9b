"""Labels and probabilities against the truth: figures, curves, thresholds, and their intervals."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

__all__ = ["Alarms", "ClassCurve", "Evaluation", "OperatingPoint", "bootstrap", "compare", "wilson"]

RESAMPLES = 2000
AT_ONCE = 100  # resamples whose counts are in memory together
FALSE_ALARMS = 0.01  # share of other classes' images that the suggested thresholds allow
DIGITS = 3  # of a suggested threshold


@dataclass(frozen=True)
class Evaluation:
    """How well labels agree with the truth.

    Attributes
    ----------
    classes : the labels that occur in the truth or are known to the model, sorted
    confusion : counts[true class, given class]
    rejected : test images of each class that were given none of the classes
    precision, recall, f1 : of each class; 0 where a class has no test image
    support : test images of each class
    interval : 95 % confidence interval of the accuracy: Wilson's score interval, or, where images
        belong to groups, the bootstrap over groups
    n_groups : the number of groups; 0 where images are independent
    """

    classes: list[str]
    confusion: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray
    support: np.ndarray
    rejected: np.ndarray
    interval: tuple[float, float]
    n_groups: int = 0

    def _repr_html_(self) -> str:
        """Accuracy and classes, for a notebook."""
        from visualwords.apps.report.notebook import evaluation_html

        return evaluation_html(self)

    def __repr__(self) -> str:
        return f"<Evaluation: {self.headline}>"

    @property
    def headline(self) -> str:
        """The accuracy in one sentence."""
        low, high = self.interval
        groups = f", over {self.n_groups} groups" if self.n_groups else ""
        rejected = f"; {self.n_rejected} rejected, which count as errors" if self.n_rejected else ""
        return (
            f"{self.n_right} of {self.n_images} right: {self.accuracy:.1%} "
            f"(95 % interval {low:.1%} to {high:.1%}{groups}), "
            f"mean per class {self.mean_per_class:.1%}{rejected}"
        )

    @property
    def n_images(self) -> int:
        return int(self.support.sum())

    @property
    def n_right(self) -> int:
        return int(np.trace(self.confusion))

    @property
    def n_rejected(self) -> int:
        return int(self.rejected.sum())

    @property
    def accuracy(self) -> float:
        """Share of all images that got the right label."""
        return self.n_right / self.n_images

    @property
    def mean_per_class(self) -> float:
        """Mean of the classes' shares of right labels; every tested class counts the same."""
        return float(np.mean(self.recall[self.support > 0]))

    def most_confused(self, i: int) -> int | None:
        """The class that images of class i are most often taken for, if any are."""
        counts = self.confusion[i].copy()
        counts[i] = 0
        return int(counts.argmax()) if counts.any() else None

    def to_json(self) -> dict[str, Any]:
        """The figures as what JSON can hold."""
        columns = {"images": self.support, "rejected": self.rejected, "precision": self.precision}
        columns |= {"recall": self.recall, "f1": self.f1}
        return {
            "images": self.n_images,
            "accuracy": self.accuracy,
            "accuracy_interval_95": list(self.interval),
            "groups": self.n_groups or None,
            "rejected": self.n_rejected,
            "mean_per_class_accuracy": self.mean_per_class,
            "classes": {
                name: {column: values[i].item() for column, values in columns.items()}
                for i, name in enumerate(self.classes)
            },
            "confusion": self.confusion.tolist(),
        }


def compare(
    truth: list[str],
    guesses: list[str],
    known: list[str],
    groups: Sequence[str | None] | None = None,
) -> Evaluation:
    """Compare the true labels with the given ones.

    Parameters
    ----------
    truth, guesses : list of str
        A guess that is no class, such as "unknown", is counted as rejected: it is not right.
    known : list of str
        The classes of the model.
    groups : sequence of str or None, optional
        What belongs together (one object, patient or scene).

    Examples
    --------
    >>> result = compare(["cat", "cat", "dog"], ["cat", "dog", "dog"], ["cat", "dog"])
    >>> round(result.accuracy, 3), result.mean_per_class
    (0.667, 0.75)
    """
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    if not truth:
        raise ValueError("there is no image to compare")
    classes = sorted(set(truth) | set(known))
    precision, recall, f1, support = precision_recall_fscore_support(
        truth, guesses, labels=classes, zero_division=0.0
    )
    confusion = confusion_matrix(truth, guesses, labels=classes)
    right, n_groups = np.array(truth) == np.array(guesses), 0
    if groups is None or all(group is None for group in groups):
        interval = wilson(int(right.sum()), len(right))
    else:
        n_groups = int(group_codes(groups).max()) + 1
        is_plain = right.all() or not right.any()  # resamples of groups would be all alike
        n_right = n_groups * bool(right.all())
        interval = wilson(n_right, n_groups) if is_plain else bootstrap(right, groups)
    rejected = support - confusion.sum(axis=1)
    return Evaluation(
        classes, confusion, precision, recall, f1, support, rejected, interval, n_groups
    )


def wilson(n_right: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % score interval of a share of n independent images.

    Examples
    --------
    >>> low, high = wilson(90, 100)
    >>> round(low, 3), round(high, 3)
    (0.826, 0.945)
    """
    from scipy.stats import binomtest

    low, high = binomtest(n_right, n).proportion_ci(method="wilson")
    return float(low), float(high)


def bootstrap(
    values: np.ndarray, groups: Sequence[str | None] | None = None, seed: int = 0
) -> tuple[float, float]:
    """The 95 % percentile interval of a mean over images, resampled with replacement.

    Images of a group (one object, patient or scene) succeed and fail together, so that they say
    less than as many independent ones: whole groups are drawn, each with all its images [1]_.

    Parameters
    ----------
    values : (n,)
    groups : sequence of str or None, optional
        The group of each image; None is an image of its own.
    seed : int
        Of the resamples.

    References
    ----------
    .. [1] C. Field, A. Welsh: Bootstrapping clustered data, J. R. Statist. Soc. B 69, 2007.

    Examples
    --------
    >>> right = np.repeat([1.0, 1.0, 1.0, 0.0], 25)
    >>> [round(end, 2) for end in bootstrap(right, np.repeat(list("abcd"), 25))]
    [0.25, 1.0]
    >>> [round(end, 2) for end in bootstrap(right)]
    [0.67, 0.83]
    """
    values = np.asarray(values, np.float64)
    member = group_codes(groups) if groups is not None else np.arange(len(values))
    sizes = np.bincount(member).astype(np.float64)
    sums = np.bincount(member, values)
    random, n = np.random.default_rng(seed), len(sizes)
    means = []
    for _ in range(0, RESAMPLES, AT_ONCE):
        drawn = random.multinomial(n, np.full(n, 1 / n), AT_ONCE)
        means.append((drawn @ sums) / (drawn @ sizes))
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return float(low), float(high)


def group_codes(groups: Sequence[str | None]) -> np.ndarray:
    """The number of each image's group; an image without a group is one of its own."""
    known: dict[str | tuple[int], int] = {}
    names = ((i,) if group is None else group for i, group in enumerate(groups))
    return np.array([known.setdefault(name, len(known)) for name in names], np.intp)


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

        return roc_curve(self.positive, self.probabilities)[:2]

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

    def at(self, threshold: float, limit: float) -> OperatingPoint:
        """What a threshold does."""
        reached, others = self.probabilities >= threshold, ~self.positive
        rates = float(reached[others].mean()), float(reached[self.positive].mean())
        return OperatingPoint(self.name, threshold, limit, *rates, int(others.sum()))

    def point(self, limit: float = FALSE_ALARMS) -> OperatingPoint | None:
        """The lowest threshold whose false alarms are no more than a share of the others.

        It is rounded up to three digits, as people type it, and its figures are those of the
        rounded one. None where no probability below 1 will do.
        """
        others = np.sort(self.probabilities[~self.positive])
        below = others[len(others) - int(limit * len(others)) - 1]  # the highest one to stay below
        threshold = float((np.floor(below * 10**DIGITS) + 1) / 10**DIGITS)
        return None if threshold > 1 else self.at(threshold, limit)

    def to_json(self) -> dict[str, Any]:
        """The figures, without the curves, as what JSON can hold."""
        point = self.point()
        return {
            "roc_area": self.area,
            "average_precision": self.average_precision,
            "operating_point": None if point is None else point.to_json(),
        }


@dataclass(frozen=True)
class Alarms:
    """What an alarm does on the images of a trial.

    Attributes
    ----------
    classes : those that raise it
    curve : these classes against the others
    point : the threshold of the alarm
    """

    classes: list[str]
    curve: ClassCurve
    point: OperatingPoint

    def __str__(self) -> str:
        point, n_positive = self.point, self.curve.positive.sum()
        return (
            f"alarm for {point.name} from probability {point.threshold:.3g} on: {point.found:.1%} "
            f"of {n_positive} images raise it ({1 - point.found:.1%} escape), and "
            f"{point.false_alarms:.1%} of {point.n_others} others"
        )

    def to_json(self) -> dict[str, Any]:
        """The figures as what JSON can hold."""
        return {
            "classes": self.classes,
            "threshold": self.point.threshold,
            "found": self.point.found,
            "false_alarms": self.point.false_alarms,
            "roc_area": self.curve.area,
        }
