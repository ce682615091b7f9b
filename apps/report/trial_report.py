"""The report of an image classifier's trial: its sections in their order."""

import os

from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.apps.report.accuracy import classes, headline
from visualwords.apps.report.confusion import confusion
from visualwords.apps.report.markup import document, percent, text
from visualwords.apps.report.mistakes import mistakes
from visualwords.apps.report.reliability import calibration
from visualwords.apps.report.repeating import repeating, timing
from visualwords.apps.report.thresholds import operating_points
from visualwords.apps.report.thumbnails import Thumbnails
from visualwords.apps.report.words import words
from visualwords.files import write_atomically
from visualwords.progress import Progress, Silent

PARTS = {
    "classes": "Classes",
    "confusion": "Confusion",
    "mistakes": "Mistakes",
    "words": "Discriminative words",
    "points": "Operating points",
    "calibration": "Calibration",
    "repeat": "Repeat",
}


def write_report(
    path: str | os.PathLike[str],
    model: ImageClassifier,
    trial: Trial,
    *,
    title: str = "visualwords",
    command: str | None = None,
    seconds: dict[str, float] | None = None,
    progress: Progress | None = None,
) -> None:
    """Write the report of a trial.

    Parameters
    ----------
    path : path-like
    model : ImageClassifier
        Its explanations of the mistakes are drawn.
    trial : Trial
    title : str
        Name of the test data, such as a folder.
    command : str, optional
        The command that reproduces the report.
    seconds : dict of stage → seconds, optional
        Time of each stage (`visualwords.progress.StageTimes`).
    progress : Progress, optional
    """
    progress = progress or Silent()
    thumbnails = Thumbnails()
    parts = [
        headline(model, trial, title),
        classes(trial.evaluation),
        # Mistakes and words take their few pictures first; the cells share what is left.
        *_in_order(model, trial, thumbnails, progress),
        operating_points(trial),
        calibration(trial),
        timing(seconds or {}),
        repeating(model, command),
    ]
    page = document(
        f"{percent(trial.evaluation.accuracy)} right: {text(title)}", "".join(parts), sections=PARTS
    )
    write_atomically(path, page.encode("utf-8"))


def _in_order(
    model: ImageClassifier, trial: Trial, thumbnails: Thumbnails, progress: Progress
) -> list[str]:
    wrong = mistakes(model, trial, thumbnails, progress)
    discriminative = words(model, trial, thumbnails, progress)
    progress.start("drawing the report", 1)
    matrix = confusion(trial, thumbnails)
    progress.advance()
    return [matrix, wrong, discriminative]
