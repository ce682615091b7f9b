"""Options that several verbs of detect-pedestrians share."""

from typing import TYPE_CHECKING

import click

from visualwords.apps.command_line.options import Number

if TYPE_CHECKING:
    from visualwords.apps.detection.detector import PedestrianDetector

SHIPPED = "pedestrian"

model = click.option(
    "--model",
    type=click.Path(),
    default=SHIPPED,
    show_default=True,
    metavar="FILE",
    help="Model file of a detector; pedestrian is the bundled one.",
)
min_height = click.option(
    "--min-height",
    type=Number(min=8),
    metavar="PIXELS",
    help="Height of the smallest objects to search for; smaller is slower [default: the model's].",
)
threshold = click.option(
    "--threshold",
    type=Number(0, 1, min_open=True, max_open=True),
    metavar="CONFIDENCE",
    help="Lowest confidence of a detection [default: the model's].",
)
annotations = click.option(
    "--annotations",
    type=click.Path(),
    metavar="PATH",
    help="Boxes: COCO (.json), Pascal VOC (.xml), a table (.csv: file, xmin, ymin, xmax, ymax, "
    "label), or a folder of Pascal VOC or YOLO files.",
)
classifier = click.option(
    "--classifier",
    type=click.Choice(["cascade", "hik", "linear"]),
    default="cascade",
    show_default=True,
    help="How to score windows; cascade gives up a window as soon as its score is low.",
)


def load_detector(
    path: str,
    *,
    min_height: float | None = None,
    threshold: float | None = None,
    classifier: str = "cascade",
) -> "PedestrianDetector":
    """Return the detector of a model file, with the settings of this run."""
    from visualwords.apps.detection.detector import PedestrianDetector
    from visualwords.apps.pipeline.loading import load
    from visualwords.errors import ModelFileError

    detector = load(path)
    if not isinstance(detector, PedestrianDetector):
        raise ModelFileError(
            f"{path}: an image classifier, not a detector; use it with classify-images predict"
        )
    given = {"min_height": min_height, "threshold": threshold}
    return detector.set_params(
        classifier=classifier,
        **{name: value for name, value in given.items() if value is not None},
    )
