"""Comparing labels with the truth: the figures behind the tables and the report."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from visualwords.apps.evaluation.intervals import bootstrap, group_codes, wilson


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

    def __repr__(self) -> str:
        return f"<Evaluation: {self.headline}>"

    @property
    def headline(self) -> str:
        """The accuracy in one sentence."""
        low, high = self.interval
        groups = f", over {self.n_groups} groups" if self.n_groups else ""
        line = (
            f"{self.n_right} of {self.n_images} right: {self.accuracy:.1%} "
            f"(95 % interval {low:.1%} to {high:.1%}{groups}), "
            f"mean per class {self.mean_per_class:.1%}"
        )
        if self.n_rejected:
            line += f"; {self.n_rejected} rejected, which count as errors"
        return line

    @property
    def n_images(self) -> int:
        return int(self.support.sum())

    @property
    def n_right(self) -> int:
        return int(np.trace(self.confusion))

    @property
    def accuracy(self) -> float:
        """Share of all images that got the right label."""
        return self.n_right / self.n_images

    @property
    def mean_per_class(self) -> float:
        """Mean of the classes' shares of right labels; every tested class counts the same."""
        return float(np.mean(self.recall[self.support > 0]))

    @property
    def n_rejected(self) -> int:
        return int(self.rejected.sum())

    def most_confused(self, i: int) -> int | None:
        """Return the class that images of class i are most often taken for, if any are."""
        counts = self.confusion[i].copy()
        counts[i] = 0
        return int(counts.argmax()) if counts.any() else None

    def to_json(self) -> dict[str, Any]:
        """Return the figures as what JSON can hold."""
        return {
            "images": self.n_images,
            "accuracy": self.accuracy,
            "accuracy_interval_95": list(self.interval),
            "groups": self.n_groups or None,
            "rejected": self.n_rejected,
            "mean_per_class_accuracy": self.mean_per_class,
            "classes": {
                name: {
                    "images": int(self.support[i]),
                    "rejected": int(self.rejected[i]),
                    "precision": float(self.precision[i]),
                    "recall": float(self.recall[i]),
                    "f1": float(self.f1[i]),
                }
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
    precision, recall, f1, _ = precision_recall_fscore_support(
        truth, guesses, labels=classes, zero_division=0.0
    )
    confusion = confusion_matrix(truth, guesses, labels=classes)
    counts = Counter(truth)
    support = np.array([counts[name] for name in classes])
    right = np.array(truth) == np.array(guesses)
    interval, n_groups = _interval(right, groups)
    rejected = support - confusion.sum(axis=1)
    return Evaluation(
        classes, confusion, precision, recall, f1, support, rejected, interval, n_groups
    )


def _interval(
    right: np.ndarray, groups: Sequence[str | None] | None
) -> tuple[tuple[float, float], int]:
    """Return the interval of the accuracy, and the number of groups it is over."""
    if groups is None or all(group is None for group in groups):
        return wilson(int(right.sum()), len(right)), 0
    n_groups = int(group_codes(groups).max()) + 1
    if right.all() or not right.any():  # resamples of groups are all alike
        return wilson(n_groups * bool(right.all()), n_groups), n_groups
    return bootstrap(right, groups), n_groups
