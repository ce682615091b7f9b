"""Predictions of the frames of videos, cameras and streams, printed as they come."""

import csv
import sys
from typing import Any

from visualwords.apps.command_line.csv_cells import csv_cells, is_raw, short_number
from visualwords.apps.command_line.terminal import json_text, note, printable
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.apps.pipeline.predictions import Answer, label_images
from visualwords.frames import Frame, frames_of

HEADER = ("source", "frame", "time", "width", "height", "label", "probability", "novelty")


class FramePrinter:
    """Predicts frames and prints a line for each.

    Parameters
    ----------
    model : ImageClassifier
    form : "json", "csv" or "table"
    top : int
        How many classes a line of JSON has.
    min_confidence : float
        Probability from which a class is the label.
    raw : bool
        Leave texts of CSV as they are.
    """

    def __init__(
        self, model: ImageClassifier, form: str, top: int, min_confidence: float, raw: bool
    ):
        self.model, self.form, self.top = model, form, top
        self.min_confidence, self.raw = min_confidence, raw
        if form == "csv":
            csv.writer(sys.stdout).writerow(HEADER)

    def follow(self, source: str, **stream: Any) -> str | None:
        """Predict all frames of a source; return what went wrong at its end, if anything.

        ``stream`` are the parameters of `visualwords.frames.frames_of`.
        """
        frames = frames_of(source, **stream)
        for frame in frames:
            answers, skipped = label_images(
                self.model, [frame.image], self.top, self.min_confidence
            )
            for answer in answers:
                self._print(source, frame, answer)
            for one in skipped:  # such as frames of too many pixels
                return one.reason
        dropped = getattr(frames, "n_dropped", 0)
        if dropped:
            note(f"{source}: {dropped} of {frames.n_read} frames dropped, to stay up to date")
        return frames.fault()

    def _print(self, source: str, frame: Frame, answer: Answer) -> None:
        height, width = frame.image.shape[:2]
        place = {"frame": frame.number, "time": round(frame.seconds, 3)}
        size = {"width": width, "height": height}
        if self.form == "json":
            print(json_text(answer.to_json() | {"path": source} | place | size), flush=True)
            return
        chances = [short_number(answer.probability), short_number(answer.novelty)]
        cells = [source, *place.values(), *size.values(), answer.label, *chances]
        if self.form == "csv":
            csv.writer(sys.stdout).writerow(csv_cells(cells, is_raw(self.raw)))
        else:
            sure = "" if answer.probability is None else f"  {answer.probability:.1%}"
            print(printable(f"{source}  {frame.number}  {answer.label}{sure}"))
        sys.stdout.flush()
