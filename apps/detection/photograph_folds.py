"""How well a detector does on photographs that it was not trained on: folds over photographs."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import clone

from visualwords.apps.annotations.boxed_image import BoxedImage
from visualwords.apps.detection.boxed_training import Region, training_regions
from visualwords.apps.detection.detector import ImageOrPath, PedestrianDetector
from visualwords.apps.detection.detector_figures import (
    DetectionFigures,
    compare_detections,
    drop_ignored,
)
from visualwords.errors import FolderError, ImageError
from visualwords.progress import Progress, Silent

__all__ = ["LOWEST", "best_threshold", "held_out_figures", "true_boxes"]

LOWEST = 1e-3  # lowest confidence of the detections that curves are made of


def held_out_figures(
    detector: PedestrianDetector,
    photographs: Sequence[BoxedImage],
    label: str,
    *,
    negatives: Sequence[ImageOrPath] = (),
    n_folds: int = 3,
    progress: Progress | None = None,
) -> DetectionFigures:
    """Train without a part of the photographs and search that part, for each part in turn.

    Photographs are divided in their order, so that neighbours, which may show the same scene, stay
    together; those with objects and those without are divided alike.

    Parameters
    ----------
    detector : PedestrianDetector
        Its parameters; it is not trained itself.
    photographs : sequence of BoxedImage
    label : str
    negatives : sequence of images or paths
        Photographs without objects that are used for training in every fold.
    n_folds : int
    progress : Progress, optional
    """
    fold = _folds(photographs, label, n_folds)
    progress = progress or Silent()
    detections, marked = [], []
    for k in range(n_folds):
        progress.status(f"part {k + 1} of {n_folds} held out")
        others = [image for image, part in zip(photographs, fold) if part != k]
        regions = training_regions(others, detector, label)
        backgrounds: list[ImageOrPath | Region] = [*regions.backgrounds, *negatives]
        own = clone(detector).fit(regions.crops, backgrounds, progress=progress)
        own.set_params(threshold=LOWEST)
        held_out = [image for image, part in zip(photographs, fold) if part == k]
        progress.start("searching", len(held_out))
        for image in held_out:
            truth, ignored = true_boxes(image, label)
            try:
                boxes, scores = own.detect(image.name)
            except ImageError:  # listed by the training on all photographs
                continue
            finally:
                progress.advance()
            detections.append(drop_ignored(boxes, scores, truth, ignored))
            marked.append(truth)
    return compare_detections(detections, marked)


def true_boxes(image: BoxedImage, label: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the boxes that must be found, and those that may be, (n, 4) each."""
    wanted = np.array([name == label for name in image.labels], bool)
    return image.boxes_xyxy[wanted & ~image.ignored], image.boxes_xyxy[wanted & image.ignored]


def best_threshold(figures: DetectionFigures) -> tuple[float, float]:
    """Return the confidence with the best F1 score, and that score.

    Examples
    --------
    >>> figures = DetectionFigures(np.array([0.9, 0.4, 0.2]), np.array([True, True, False]), 2, 1)
    >>> best_threshold(figures)
    (0.4, 1.0)
    """
    precision, recall = figures.precision, figures.recall
    if not len(precision):
        return 1.0, 0.0
    total = precision + recall
    f1 = np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)
    best = int(f1.argmax())
    return float(figures.scores[best]), float(f1[best])


def _folds(photographs: Sequence[BoxedImage], label: str, n_folds: int) -> np.ndarray:
    has = np.array([len(true_boxes(image, label)[0]) > 0 for image in photographs])
    if has.sum() < n_folds:
        raise FolderError(
            f"{has.sum()} photographs show the object; {n_folds} folds need at least {n_folds}"
        )
    fold = np.empty(len(has), np.int64)
    for chosen in (has, ~has):
        n = int(chosen.sum())
        fold[chosen] = np.arange(n) * n_folds // max(n, 1)
    return fold
