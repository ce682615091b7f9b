"""Comparing labels with the truth: the figures behind the tables and the report."""

from dataclasses import dataclass
from typing import Any

import numpy as np

Z_95 = 1.959964  # the normal distribution's 97.5th percentile


@dataclass(frozen=True)
class Evaluation:
    """How well labels agree with the truth.

    Attributes
    ----------
    classes : the labels that occur in the truth or are known to the model, sorted
    confusion : counts[true class, given class]
    precision, recall, f1 : of each class; 0 where a class has no test image
    support : test images of each class
    """

    classes: list[str]
    confusion: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray
    support: np.ndarray

    def __repr__(self) -> str:
        return f"<Evaluation: {self.headline}>"

    @property
    def headline(self) -> str:
        """The accuracy in one sentence."""
        low, high = self.interval
        return (
            f"{self.n_right} of {self.n_images} right: {self.accuracy:.1%} "
            f"(95 % interval {low:.1%} to {high:.1%}), mean per class {self.mean_per_class:.1%}"
        )

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
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the accuracy (Wilson's score interval)."""
        n, share = self.n_images, self.accuracy
        spread = Z_95 * np.sqrt(share * (1 - share) / n + Z_95**2 / (4 * n**2))
        centre, scale = share + Z_95**2 / (2 * n), 1 + Z_95**2 / n
        return float((centre - spread) / scale), float((centre + spread) / scale)

    def to_json(self) -> dict[str, Any]:
        """Return the figures as what JSON can hold."""
        return {
            "images": self.n_images,
            "accuracy": self.accuracy,
            "accuracy_interval_95": list(self.interval),
            "mean_per_class_accuracy": self.mean_per_class,
            "classes": {
                name: {
                    "images": int(self.support[i]),
                    "precision": float(self.precision[i]),
                    "recall": float(self.recall[i]),
                    "f1": float(self.f1[i]),
                }
                for i, name in enumerate(self.classes)
            },
            "confusion": self.confusion.tolist(),
        }


def compare(truth: list[str], guesses: list[str], known: list[str]) -> Evaluation:
    """Compare the true labels with the given ones.

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
    return Evaluation(classes, confusion, precision, recall, f1, confusion.sum(axis=1))
