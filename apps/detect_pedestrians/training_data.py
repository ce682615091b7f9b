"""What `train` learns from: folders of crops and photographs, or photographs with boxes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from visualwords.apps.annotations.boxed_image import BoxedImage
from visualwords.apps.annotations.reading import chosen_label, find_photographs, read_annotations
from visualwords.apps.detection.boxed_training import fitting_parameters, training_regions
from visualwords.apps.detection.detector import ImageOrPath, PedestrianDetector
from visualwords.folders import list_files

__all__ = ["TrainingData", "from_boxes", "from_crops"]


@dataclass(frozen=True)
class TrainingData:
    """A detector that is to be trained, and its images.

    Attributes
    ----------
    detector : PedestrianDetector
    crops, backgrounds : sequences of images
        For `PedestrianDetector.fit`.
    summary : str
        What there is, in one line.
    skipped : list of (name, reason)
    photographs : list of BoxedImage
        Those with boxes.
    label : str
        Of their boxes; empty where boxes have no labels.
    negatives : list of str
        Photographs without objects that were given beside them.
    """

    detector: PedestrianDetector
    crops: Sequence[ImageOrPath]
    backgrounds: Sequence[ImageOrPath]
    summary: str
    skipped: list[tuple[str, str]]
    photographs: list[BoxedImage] = field(default_factory=list)
    label: str = ""
    negatives: list[str] = field(default_factory=list)


def from_crops(positives: str, negatives: str, settings: Mapping[str, Any]) -> TrainingData:
    """Return the images of two folders: crops, and photographs without the object."""
    detector = _detector(settings)
    (crops, skipped), (photographs, others) = list_files(positives), list_files(negatives)
    summary = (
        f"{len(crops)} crops and their mirror images, {len(photographs)} photographs without the "
        "object"
    )
    return TrainingData(detector, crops, photographs, summary, [*skipped, *others])


def from_boxes(
    folder: str, negatives: str | None, annotations: str, settings: Mapping[str, Any]
) -> TrainingData:
    """Return the objects and the backgrounds of photographs with boxes.

    Images of the folder that the annotations do not name are left out: they may show the object.
    """
    _detector(settings)  # wrong settings are reported before anything is read
    boxes = read_annotations(annotations, folder)
    label = chosen_label(boxes, settings.get("label"), "person")
    found = find_photographs(boxes, folder)
    fitting = fitting_parameters(found.images, label) | {"label": label or "object"}
    if "window" in settings or "object_share" in settings:
        fitting = {"label": fitting["label"]}
    detector = _detector({**fitting, **settings})
    regions = training_regions(found.images, detector, label)
    others, unreadable = list_files(negatives) if negatives is not None else ([], [])
    summary = (
        f"{len(regions.crops)} objects and their mirror images in {len(found.images)} photographs; "
        f"{len(regions.backgrounds)} parts and {len(others)} photographs without the object"
    )
    if found.others:
        summary += f"; {len(found.others)} images without annotations left out"
    skipped = [*boxes.skipped, *found.missing, *regions.skipped, *unreadable]
    backgrounds: list[ImageOrPath] = [*regions.backgrounds, *others]
    return TrainingData(
        detector, regions.crops, backgrounds, summary, skipped, found.images, label, others
    )


def _detector(settings: Mapping[str, Any]) -> PedestrianDetector:
    try:
        detector = PedestrianDetector(**settings)
        detector.check_parameters()
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None
    return detector
