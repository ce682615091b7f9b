"""Options that several verbs of detect-pedestrians share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.command_line.options import Number

if TYPE_CHECKING:
    from visualwords.apps.detection.detector import PedestrianDetector

SHIPPED = "pedestrian"
PATH, FILE, FOLDER = click.Path(), click.Path(dir_okay=False), click.Path(file_okay=False)


def flag(
    words: str, help: str, kind: Any = None, **more: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an option: its names, and the placeholder of its value if it takes one."""
    names = [word for word in words.split() if word.startswith("-")]
    value = " ".join(word for word in words.split() if not word.startswith("-"))
    settings = {"metavar": value, "type": kind} if value else {"is_flag": True}
    return click.option(*names, help=help, **{"show_default": bool(value), **settings, **more})


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
    "--threshold CONFIDENCE",
    "Lowest confidence of a detection [default: the model's].",
    Number(0, 1, min_open=True, max_open=True),
)
annotations = flag(
    "--annotations PATH",
    "Boxes: COCO (.json), Pascal VOC (.xml), a table (.csv: file, xmin, ymin, xmax, ymax, label), "
    "or a folder of Pascal VOC or YOLO files.",
    PATH,
)


def load_detector(path: str, **settings: float | None) -> "PedestrianDetector":
    """Return the detector of a model file, with the settings of this run that are given."""
    from visualwords.apps.detection.detector import PedestrianDetector

    given = {name: value for name, value in settings.items() if value is not None}
    return PedestrianDetector.load(path).set_params(**given)
