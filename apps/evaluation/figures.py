"""Comparing labels with the truth: the figures behind the tables, and their intervals."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Evaluation", "bootstrap", "compare", "group_codes", "wilson"]

RESAMPLES = 2000
AT_ONCE = 100  # resamples whose counts are in memory together


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
    n_groups = 0
    if groups is None or all(group is None for group in groups):
        interval = wilson(int(right.sum()), len(right))
    else:
        n_groups = int(group_codes(groups).max()) + 1
        is_plain = right.all() or not right.any()  # resamples of groups would be all alike
        interval = (
            wilson(n_groups * bool(right.all()), n_groups) if is_plain else bootstrap(right, groups)
        )
    rejected = support - confusion.sum(axis=1)
    return Evaluation(
        classes, confusion, precision, recall, f1, support, rejected, interval, n_groups
    )


def wilson(n_right: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % score interval of a share of n independent images.

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
    """Return the 95 % percentile interval of a mean over images, resampled with replacement.

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
    """Return the number of each image's group; an image without a group is one of its own."""
    known: dict[str | tuple[int], int] = {}
    names = ((i,) if group is None else group for i, group in enumerate(groups))
    return np.array([known.setdefault(name, len(known)) for name in names], np.intp)
