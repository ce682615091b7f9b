"""Evaluation of a detector: matching with true boxes, average precision, miss rates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from visualwords.apps.annotations.boxed_image import BoxedImage
from visualwords.boxes import intersection_over_own, intersection_over_union

__all__ = ["DetectionFigures", "compare_detections", "drop_ignored", "match", "true_boxes"]

LAMR_POINTS = np.logspace(-2, 0, 9)  # false positives per image  [Dollár et al. 2012, Sec. 3.1]


@dataclass(frozen=True)
class DetectionFigures:
    """Precision, recall and miss rates over all thresholds, from the highest to the lowest.

    Attributes
    ----------
    scores : (n,)
        Of all detections, falling; entry k of the curves counts the detections 0…k.
    right : (n,) bool
        Whether a detection found a marked object.
    n_objects, n_images : int
    """

    scores: np.ndarray
    right: np.ndarray
    n_objects: int
    n_images: int

    def __repr__(self) -> str:
        found = f"{self.n_objects} objects in {self.n_images} images"
        return f"<DetectionFigures: {found}, average precision {self.average_precision:.3f}>"

    @property
    def recall(self) -> np.ndarray:
        """Share of the true objects that are detected."""
        return np.cumsum(self.right) / self.n_objects

    @property
    def precision(self) -> np.ndarray:
        """Share of the detections that are right."""
        return np.cumsum(self.right) / np.arange(1, self.right.size + 1)

    @property
    def miss_rate(self) -> np.ndarray:
        """Share of the true objects that are missed."""
        return 1 - self.recall

    @property
    def false_per_image(self) -> np.ndarray:
        """False detections per image."""
        return np.cumsum(~self.right) / self.n_images

    @property
    def average_precision(self) -> float:
        """Area under precision over recall, precision being the best at that recall or above."""
        best = np.maximum.accumulate(self.precision[::-1])[::-1]
        return float(np.sum(np.diff(self.recall, prepend=0) * best))

    def miss_rate_at(self, false_per_image: float) -> float:
        """Return the miss rate at the lowest threshold with at most so many false positives."""
        n = int(np.searchsorted(self.false_per_image, false_per_image, side="right"))
        return float(self.miss_rate[n - 1]) if n else 1.0

    @property
    def log_average_miss_rate(self) -> float:
        """Geometric mean of nine miss rates, at 10⁻² to 10⁰ false positives per image."""
        misses = np.array([self.miss_rate_at(point) for point in LAMR_POINTS])
        return float(np.exp(np.log(np.maximum(misses, 1e-10)).mean()))

    def at_threshold(self, score: float) -> dict[str, float]:
        """Return precision, recall and false positives per image at a threshold."""
        n = int(np.sum(self.scores >= score))
        found = int(self.right[:n].sum())
        precision, false = found / n if n else 1.0, (n - found) / self.n_images
        return {"precision": precision, "recall": found / self.n_objects, "false_per_image": false}

    def to_json(self) -> dict[str, Any]:
        """Return the figures without the curves."""
        counts = {"images": self.n_images, "objects": self.n_objects}
        return counts | {
            "detections": int(self.right.size),
            "average_precision": self.average_precision,
            "log_average_miss_rate": self.log_average_miss_rate,
            "miss_rate_at": {f"{p:.3g}": self.miss_rate_at(p) for p in (0.01, 0.1, 1.0)},
        }


def compare_detections(
    detections: Sequence[tuple[np.ndarray, np.ndarray]],
    marked: Sequence[np.ndarray],
    overlap: float = 0.5,
) -> DetectionFigures:
    """Compare the detections of several images with the true boxes.

    Parameters
    ----------
    detections : sequence of (boxes_xyxy, scores), one an image
    marked : sequence of (m, 4) arrays, one an image
    overlap : float
        Least intersection over union of a detection that counts as right.

    Returns
    -------
    DetectionFigures

    Examples
    --------
    >>> found = [(np.array([[0, 0, 9, 9], [50, 0, 59, 9]]), np.array([2.0, 1.0]))]
    >>> figures = compare_detections(found, [np.array([[1, 0, 9, 9]])])
    >>> figures.precision.tolist(), figures.average_precision
    ([1.0, 0.5], 1.0)
    """
    n_objects = sum(len(boxes) for boxes in marked)
    if not n_objects:
        raise ValueError("no object is marked in any image; there is nothing to compare with")
    if len(detections) != len(marked):
        raise ValueError(f"detections of {len(detections)} images, marks of {len(marked)}")
    right = [
        match(boxes, scores, truth, overlap) for (boxes, scores), truth in zip(detections, marked)
    ]
    scores = np.concatenate([scores for _, scores in detections])
    order = np.argsort(-scores, kind="stable")
    return DetectionFigures(scores[order], np.concatenate(right)[order], n_objects, len(marked))


def match(
    boxes_xyxy: np.ndarray, scores: np.ndarray, marked_xyxy: np.ndarray, overlap: float = 0.5
) -> np.ndarray:
    """Return which detections of one image are right.

    Best score first, a detection takes the marked box that it overlaps most among those not
    taken yet, if by at least ``overlap`` (intersection over union). A second detection of the same
    object is wrong.

    Returns
    -------
    (n,) bool
    """
    shared = intersection_over_union(boxes_xyxy, marked_xyxy)
    right = np.zeros(len(shared), bool)
    if not shared.shape[1]:
        return right
    for i in np.argsort(-np.asarray(scores), kind="stable"):
        best = int(shared[i].argmax())
        if shared[i, best] >= overlap:
            right[i] = True
            shared[:, best] = -1
    return right


def drop_ignored(
    boxes_xyxy: np.ndarray, scores: np.ndarray, marked_xyxy: np.ndarray, ignored_xyxy: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Drop detections that lie by half in an ignored box, unless they are right.

    Crowds and difficult objects then count neither as missed nor as false.
    """
    if not len(ignored_xyxy):
        return boxes_xyxy, scores
    inside = intersection_over_own(boxes_xyxy, ignored_xyxy).max(axis=1) >= 0.5
    kept = ~inside | match(boxes_xyxy, scores, marked_xyxy)
    return boxes_xyxy[kept], scores[kept]


def true_boxes(image: BoxedImage, label: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the boxes that must be found, and those that may be, (n, 4) each."""
    wanted = np.array([name == label for name in image.labels], bool)
    return image.boxes_xyxy[wanted & ~image.ignored], image.boxes_xyxy[wanted & image.ignored]
