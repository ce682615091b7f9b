"""The page: its parts in their order, in one file that needs no other.

There is no script in it and nothing is fetched; a content security policy holds it to that.
"""

import os
from importlib.resources import files

from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.apps.report.accuracy import classes, headline
from visualwords.apps.report.confusion import confusion
from visualwords.apps.report.markup import percent, text
from visualwords.apps.report.mistakes import mistakes
from visualwords.apps.report.reliability import calibration
from visualwords.apps.report.repeating import repeating, timing
from visualwords.apps.report.thumbnails import Thumbnails
from visualwords.apps.report.words import words
from visualwords.files import write_atomically
from visualwords.progress import Progress, Silent

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
PARTS = {
    "classes": "Classes",
    "confusion": "Confusion",
    "mistakes": "Mistakes",
    "words": "What tells",
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
        Explains the mistakes.
    trial : Trial
    title : str
        What was tried, as the name of a folder.
    command : str, optional
        The command that does all this again.
    seconds : dict of stage → seconds, optional
        How long it took (`visualwords.progress.StageTimes`).
    progress : Progress, optional
    """
    progress = progress or Silent()
    thumbnails = Thumbnails()
    parts = [
        headline(model, trial, title),
        classes(trial.evaluation),
        # The pictures of mistakes and words come first: they are few, and what is left is shared
        # by the cells.
        *_in_order(model, trial, thumbnails, progress),
        calibration(trial),
        timing(seconds or {}),
        repeating(model, command),
    ]
    page = _page(f"{percent(trial.evaluation.accuracy)} right: {text(title)}", "".join(parts))
    write_atomically(path, page.encode("utf-8"))


def _in_order(
    model: ImageClassifier, trial: Trial, thumbnails: Thumbnails, progress: Progress
) -> list[str]:
    wrong = mistakes(model, trial, thumbnails, progress)
    telling = words(model, trial, thumbnails, progress)
    progress.start("drawing the report", 1)
    matrix = confusion(trial, thumbnails)
    progress.advance()
    return [matrix, wrong, telling]


def _page(title: str, body: str) -> str:
    style = files("visualwords.apps.report").joinpath("report.css").read_text(encoding="utf-8")
    links = "".join(f'<a href="#{identity}">{name}</a>' for identity, name in PARTS.items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{style}</style></head>"
        f"<body><nav>{links}</nav><main>{body}</main></body></html>"
    )
