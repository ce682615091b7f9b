"""Predictions as a table, CSV or JSON, written while they are made; of frames a line each."""

import csv
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from visualwords.apps.command_line.csv_cells import csv_cells, is_raw, short_number
from visualwords.apps.command_line.terminal import json_text, note, print_table, printable, show
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.predictions import Answer, label_images
from visualwords.errors import Skipped
from visualwords.frames import Frame, frames_of

MOST_ROWS = 1000  # images of a table; more have several, printed as they come
NUMBERS = ("probability", "score", "novelty")
NOVELTY = (
    "novelty: share of known images that are less strange; near 100 %, an image is unlike all "
    "training images"
)
FRAME_HEADER = ("source", "frame", "time", "width", "height", "label", "probability", "novelty")

Answers = Iterable[list[Answer]]  # of some images at a time, as they come


class Form(NamedTuple):
    """How predictions are printed.

    Attributes
    ----------
    name : "json", "csv" or "table"
    top : how many classes an image has
    min_confidence : probability from which a class is the label
    raw : whether texts of CSV stay as they are
    """

    name: str
    top: int
    min_confidence: float
    raw: bool


def print_answers(answers: Answers, form: Form, skipped: list[Skipped | tuple[str, str]]) -> None:
    """Print predictions as they come; JSON ends with the files that were skipped meanwhile."""
    if form.name == "json":
        sys.stdout.write('{\n "predictions": [')
        end = "]"
        for some in answers:
            for one in some:
                sys.stdout.write(("\n" if end == "]" else ",\n") + _indented(one.to_json(), 2))
                end = "\n ]"
            sys.stdout.flush()
        listed = [{"path": path, "reason": reason} for path, reason in skipped]
        sys.stdout.write(f'{end},\n "skipped": {_indented(listed, 1).lstrip()}\n}}\n')
    elif form.name == "csv":
        writer = csv.writer(sys.stdout)
        writer.writerow(["path", "label", "rank", "class", *NUMBERS])
        for some in answers:
            writer.writerows(csv_cells(row, is_raw(form.raw)) for one in some for row in _rows(one))
            sys.stdout.flush()
    else:
        _print_tables(answers)


def _indented(value: Any, depth: int) -> str:
    return textwrap.indent(json_text(value, 1), " " * depth)


def _rows(answer: Answer) -> Iterator[list[str | int]]:
    """The cells of each class of an answer."""
    for rank, (name, score) in enumerate(answer.scores.items(), start=1):
        probability = None if answer.probabilities is None else answer.probabilities[name]
        numbers = map(short_number, (probability, score, answer.novelty))
        yield [answer.path, answer.label, rank, name, *numbers]


def _print_tables(answers: Answers) -> None:
    """Print tables of up to `MOST_ROWS` images, and what novelty is."""
    has_novelty, each = False, chain.from_iterable(answers)
    while some := list(islice(each, MOST_ROWS)):
        has_novelty |= any(one.novelty is not None for one in some)
        rows = []
        for one in some:
            for rank, (name, score) in enumerate(one.scores.items()):
                chance = "" if one.probabilities is None else f"{one.probabilities[name]:.1%}"
                strange = "" if rank or one.novelty is None else f"{one.novelty:.1%}"
                if rank == 0 and one.label != name:
                    name = f"{one.label} ({name}?)"
                rows.append(["" if rank else one.path, name, chance, f"{score:+.2f}", strange])
        print_table(["image", "label", *NUMBERS], rows, right=NUMBERS)
    if has_novelty:
        show(NOVELTY, "dim")


def follow(
    model: ImageClassifier, sources: Sequence[str], form: Form, stream: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    """Predict the frames of videos, cameras and addresses; yield sources that ended by a fault.

    ``stream`` are the parameters of `visualwords.frames.frames_of`.
    """
    if form.name == "csv":
        csv.writer(sys.stdout).writerow(FRAME_HEADER)
    for source in sources:
        frames = frames_of(source, **stream)
        fault = None
        for frame in frames:
            answers, skipped = label_images(model, [frame.image], form.top, form.min_confidence)
            for answer in answers:
                _print_frame(source, frame, answer, form)
            if skipped:  # such as frames of too many pixels
                fault = skipped[0].reason
                break
        dropped = getattr(frames, "n_dropped", 0)
        if dropped:
            note(f"{source}: {dropped} of {frames.n_read} frames dropped, to stay up to date")
        fault = fault or frames.fault()
        if fault:
            yield source, fault


def _print_frame(source: str, frame: Frame, answer: Answer, form: Form) -> None:
    height, width = frame.image.shape[:2]
    place = {"frame": frame.number, "time": round(frame.seconds, 3)}
    place |= {"width": width, "height": height}
    if form.name == "json":
        print(json_text(answer.to_json() | {"path": source} | place))
    elif form.name == "csv":
        chances = [short_number(answer.probability), short_number(answer.novelty)]
        cells = csv_cells([source, *place.values(), answer.label, *chances], is_raw(form.raw))
        csv.writer(sys.stdout).writerow(cells)
    else:
        sure = "" if answer.probability is None else f"  {answer.probability:.1%}"
        print(printable(f"{source}  {frame.number}  {answer.label}{sure}"))
    sys.stdout.flush()
