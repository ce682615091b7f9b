"""classify-images predict: a table, CSV or JSON, written while predictions are made."""

import csv
import os
import sys
import textwrap
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import terminal, verb
from visualwords.apps.command_line.csv_cells import csv_cells, is_raw, short_number
from visualwords.apps.command_line.verb import argument, flag
from visualwords.errors import FolderError

if TYPE_CHECKING:
    from visualwords.apps.pipeline.classifier import ImageClassifier
    from visualwords.apps.pipeline.predictions import Answer
    from visualwords.frames import Frame

MOST_ROWS = 1000  # images of a table; more have several, printed as they come
NUMBERS = ("probability", "score", "novelty")
NOVELTY = (
    "novelty: share of known images that are less strange; near 100 %, an image is unlike all "
    "training images"
)
HEADER = ("path", "label", "rank", "class", *NUMBERS)
FRAME_HEADER = ("source", "frame", "time", "width", "height", "label", "probability", "novelty")


class Predict(options.Deciding, options.Reading):
    """Predict the labels of IMAGES (files, folders of files, or - for paths on stdin) with MODEL.

    A video, the number of a camera or an address (rtsp://…) is followed frame by frame, and a
    line is printed for each; such sources and images are given in separate commands.

    Paths on stdin end with a newline, or with NUL, as find -print0 prints them.

    The class with the highest probability is the label, unless costs, thresholds or --unknown,
    given here or to train, decide otherwise. Probabilities are calibrated on training images. A
    score is the signed distance from the boundary between a class and all others. Novelty is the
    share of known images that are less strange than the image.

    Parameters
    ----------
    output
        Write the results to FILE; .csv and .json name the format [default: print them].
    top
        Number of classes to print for each image, best first [default: 1; of JSON all].
    """

    model: str = argument()
    images: tuple[str, ...] = argument(required=True)
    output: str | None = flag("-o --output FILE", kind=verb.OUTPUT)
    top: int | None = flag("--top N")
    sort_into: str | None = options.sort_into
    as_csv: bool = verb.as_csv
    raw: bool = verb.raw
    min_confidence: float = options.min_confidence
    network: str | None = options.network
    allow_url: bool  # one of the next options
    stream: Any = verb.streams

    def work(self) -> None:
        """Predict, print, and sort if that was asked for."""
        self.form = options.form_of(self.output, "table", json=self.as_json, csv=self.as_csv)
        live = self.live_sources()
        classifier = self.load(self.model, self.network, **self.resources)
        if self.min_confidence and classifier.calibration_ is None:
            raise FolderError(
                f"{self.model}: the model has no probabilities, because its training images were "
                "too few; omit --min-confidence or train on more images"
            )
        self.top = self.top or (len(classifier.classes_) if self.form == "json" else 1)
        if live:
            classifier.set_params(cache_dir=None)  # a frame is seen once
            self.skip(list(self.follow(classifier, live)))
            self.check_strict()
            return
        paths, labelled = self.paths(), dict[str, str | None]()
        with terminal.results_in(self.output, held=self.strict):
            self.print_answers(self.answers(classifier, paths, labelled))
        if self.sort_into is not None and labelled:
            self.sort(labelled, self.sort_into, classifier)
        if not labelled:
            self.exit_code()
            raise FolderError("none of the images could be read")

    def live_sources(self) -> list[str]:
        """The videos, cameras and addresses; none where all sources are images or folders."""
        from visualwords.frames import kind_of_source

        verb.check_addresses(self.images, self.allow_url)
        live = [name for name in self.images if kind_of_source(name) not in ("image", "folder")]
        if live and len(live) < len(self.images):
            raise click.UsageError(
                f"{live[0]} has frames and others are images; give them in separate commands"
            )
        if live and (self.output is not None or self.sort_into is not None):
            raise click.UsageError("frames are printed; omit -o and --sort-into")
        return live

    def paths(self) -> list[str]:
        """The image files, without copies that an earlier run sorted into the folder."""
        from visualwords.folders import list_files

        given = sys.stdin.buffer.read() if "-" in self.images else b""
        lines = given.split(b"\0") if b"\0" in given else given.splitlines()
        on_stdin, paths = [os.fsdecode(line) for line in lines if line], list[str]()
        for name in chain.from_iterable(on_stdin if one == "-" else [one] for one in self.images):
            files, skipped = list_files(name) if os.path.isdir(name) else ([name], [])
            paths += files
            self.skip(skipped)
        if self.sort_into is None:
            return paths
        sorted_already = os.path.join(os.path.realpath(self.sort_into), "")
        return [path for path in paths if not os.path.realpath(path).startswith(sorted_already)]

    def answers(
        self, model: "ImageClassifier", paths: list[str], labelled: dict[str, str | None]
    ) -> "Iterator[list[Answer]]":
        """Predict images as they come; put their labels into ``labelled``, None for no class.

        On a terminal few rows follow the bar of their progress, and many take its place.
        """
        from visualwords.apps.pipeline.predictions import label_each

        waiting: list[Answer] = []
        is_watched, are_many = sys.stdout.isatty(), len(paths) > MOST_ROWS
        with self.progress(hidden=is_watched and are_many) as progress:
            found = label_each(model, paths, self.top or 1, self.min_confidence, progress=progress)
            for answers, skipped in found:
                self.skip(skipped)
                labelled |= {one.path: one.label if one.is_confident else None for one in answers}
                if is_watched and not are_many:
                    waiting += answers
                else:
                    yield answers
        yield waiting
        self.check_strict()

    def print_answers(self, answers: "Iterable[list[Answer]]") -> None:
        """Print predictions as they come; JSON ends with the files that were skipped meanwhile."""
        if self.form == "json":
            sys.stdout.write('{\n "predictions": [')
            end = "]"
            for some in answers:
                for one in some:
                    sys.stdout.write(("\n" if end == "]" else ",\n") + _indented(one.to_json(), 2))
                    end = "\n ]"
                sys.stdout.flush()
            skipped = _indented(terminal.listed(self.skipped), 1).lstrip()
            sys.stdout.write(f'{end},\n "skipped": {skipped}\n}}\n')
        elif self.form == "csv":
            self.write_csv([HEADER])
            for some in answers:
                self.write_csv(row for one in some for row in _rows(one))
        else:
            _print_tables(answers)

    def write_csv(self, rows: Iterable[Iterable[Any]]) -> None:
        """Write rows of CSV at once."""
        csv.writer(sys.stdout).writerows(csv_cells(row, is_raw(self.raw)) for row in rows)
        sys.stdout.flush()

    def sort(self, labelled: dict[str, str | None], folder: str, model: "ImageClassifier") -> None:
        """Copy images into folders of their labels."""
        from visualwords.apps.command_line.sort_into import Sorter, folder_of_rejected

        rejected, sorter = folder_of_rejected(model.classes_.tolist()), Sorter(folder)
        with self.progress() as progress:
            progress.start("copying images", len(labelled))
            for path, label in labelled.items():
                sorter.copy(path, rejected if label is None else label)
                progress.advance()
        terminal.note(f"{folder}: {len(labelled)} images in {len(set(labelled.values()))} folders")

    def follow(self, model: "ImageClassifier", sources: list[str]) -> Iterator[tuple[str, str]]:
        """Predict the frames of sources; yield those that end by a fault."""
        from visualwords.apps.pipeline.predictions import label_images
        from visualwords.frames import frames_of

        if self.form == "csv":
            self.write_csv([FRAME_HEADER])
        for source in sources:
            frames, fault = frames_of(source, **self.stream), None
            for frame in frames:
                shown = [frame.image]
                answers, skipped = label_images(model, shown, self.top or 1, self.min_confidence)
                for answer in answers:
                    self.print_frame(source, frame, answer)
                if skipped:  # such as frames of too many pixels
                    fault = skipped[0].reason
                    break
            if dropped := getattr(frames, "n_dropped", 0):
                terminal.note(
                    f"{source}: {dropped} of {frames.n_read} frames dropped, to stay up to date"
                )
            if fault := fault or frames.fault():
                yield source, fault

    def print_frame(self, source: str, frame: "Frame", answer: "Answer") -> None:
        """Print the prediction of a frame."""
        height, width = frame.image.shape[:2]
        place = {"frame": frame.number, "time": round(frame.seconds, 3)}
        place |= {"width": width, "height": height}
        if self.form == "csv":
            chances = map(short_number, (answer.probability, answer.novelty))
            self.write_csv([[source, *place.values(), answer.label, *chances]])
        elif self.form == "json":
            print(terminal.json_text(answer.to_json() | {"path": source} | place), flush=True)
        else:
            sure = "" if answer.probability is None else f"  {answer.probability:.1%}"
            print(terminal.printable(f"{source}  {frame.number}  {answer.label}{sure}"), flush=True)


def _indented(value: Any, depth: int) -> str:
    return textwrap.indent(terminal.json_text(value, 1), " " * depth)


def _rows(answer: "Answer") -> Iterator[list[str | int]]:
    """The cells of each class of an answer."""
    for rank, (name, score) in enumerate(answer.scores.items(), start=1):
        probability = None if answer.probabilities is None else answer.probabilities[name]
        numbers = map(short_number, (probability, score, answer.novelty))
        yield [answer.path, answer.label, rank, name, *numbers]


def _print_tables(answers: "Iterable[list[Answer]]") -> None:
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
        terminal.print_table(["image", "label", *NUMBERS], rows, right=NUMBERS)
    if has_novelty:
        terminal.show(NOVELTY, "dim")
