"""Options that several verbs of detect-pedestrians share."""

from typing import TYPE_CHECKING

from visualwords.apps.command_line.verb import PATH, SHARE, Number, flag

if TYPE_CHECKING:
    from visualwords.apps.detection.detector import PedestrianDetector

SHIPPED = "pedestrian"

model = flag(
    "--model FILE",
    "Model file of a detector; pedestrian is the bundled one.",
    PATH,
    default=SHIPPED,
)
min_height = flag(
    "--min-height PIXELS",
    "Height of the smallest objects to search for; smaller is slower [default: the model's].",
    Number(min=8),
)
threshold = flag(
    "--threshold CONFIDENCE", "Lowest confidence of a detection [default: the model's].", SHARE
)
annotations = flag(
    "--annotations PATH",
    "Boxes: COCO (.json), Pascal VOC (.xml), a table (.csv: file, xmin, ymin, xmax, ymax, label), "
    "or a folder of Pascal VOC or YOLO files.",
    PATH,
)


def load_detector(path: str, **settings: float | None) -> "PedestrianDetector":
    """The detector of a model file, with the settings of this run that are given."""
    from visualwords.apps.detection.detector import PedestrianDetector

    given = {name: value for name, value in settings.items() if value is not None}
    return PedestrianDetector.load(path).set_params(**given)
