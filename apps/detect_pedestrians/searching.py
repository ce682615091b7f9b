"""One run over images, videos and cameras: detect, draw, print."""

import csv
import json
import math
import os
import sys
from dataclasses import replace
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from visualwords.apps.annotations.box_table import HEADER, box_rows
from visualwords.apps.annotations.boxed_image import BoxedImage
from visualwords.apps.command_line.csv_cells import csv_cells, is_raw
from visualwords.apps.command_line.exit_codes import DONE, SKIPPED
from visualwords.apps.command_line.terminal import (
    note,
    print_json,
    printable,
    progress_bars,
    say,
    say_skipped,
    stdout,
)
from visualwords.apps.detect_pedestrians.one_image import (
    Found,
    search_files,
    search_image,
    with_threads,
)
from visualwords.apps.detect_pedestrians.result_files import ResultFiles
from visualwords.apps.detect_pedestrians.videos import CODECS, VideoFile
from visualwords.apps.detection.detector import PedestrianDetector
from visualwords.apps.detection.drawn_boxes import draw_detections
from visualwords.apps.detection.tracking import Tracker
from visualwords.errors import FolderError, Skipped
from visualwords.files import write_atomically
from visualwords.folders import list_files
from visualwords.frames import frames_of, kind_of_source
from visualwords.images import encode_image
from visualwords.parallel import workers_share_memory

__all__ = ["Searching"]

COLUMNS = ("source", "frame", "x0", "y0", "x1", "y1", "confidence")  # of the table
UNSURE = 3  # images without detections that are searched again for a hint
LEAST_HINT = 0.02  # confidence of a candidate that is worth a hint


class Searching:
    """Searches sources one after the other and collects the detections.

    Parameters
    ----------
    detector : PedestrianDetector
    output : str or None
        Folder for annotated pictures, or name of a video.
    form : "json", "csv" or "table"
    as_they_come : bool
        Print every image or frame when it was searched, not all of them at the end.
    raw : bool
        Leave texts of CSV as they are.
    n_jobs : int or None
        Images, or scales of a frame, that are searched at the same time.
    quiet : bool
        Show no progress.
    track : bool
        Give the objects of videos numbers.
    files : ResultFiles
        Written beside what is printed.
    """

    def __init__(
        self,
        detector: PedestrianDetector,
        output: str | None,
        form: str,
        *,
        as_they_come: bool = False,
        raw: bool = False,
        n_jobs: int | None = None,
        quiet: bool,
        track: bool = False,
        files: ResultFiles,
    ):
        self.detector = detector
        self.output = output
        self.form = form
        self.as_they_come = as_they_come and form != "table"
        self.raw = raw
        self.n_jobs = n_jobs
        self.quiet = quiet
        self.tracker = Tracker() if track else None
        self.files = files
        self.found: list[BoxedImage] = []
        self.unsure: list[tuple[str, str | np.ndarray]] = []
        self.skipped: list[Skipped | tuple[str, str]] = []
        self.n_searched = self.n_found = 0
        self.has_header = False
        self.written: set[str] = set()
        if output is not None and not self._is_video(output):
            os.makedirs(output, exist_ok=True)

    def folder(self, path: str) -> None:
        """Search all images of a folder."""
        files, skipped = list_files(path)
        self.skipped += skipped
        self.images(files)

    def images(self, paths: list[str]) -> None:
        """Search images; unreadable ones are skipped with the reason."""
        if self.output is not None and self._is_video(self.output):
            raise FolderError(
                f"{self.output}: images can't be written to a video; give a folder with -o"
            )
        self.files.check_names(paths)
        draw = self.output is not None
        with progress_bars(self.quiet) as progress:
            progress.start("searching", len(paths))
            answers = search_files(self.detector, paths, draw, self.n_jobs)
            for path, answer in zip(paths, answers):
                if isinstance(answer, Skipped):
                    self.skipped.append(answer)
                else:
                    self._note(answer, path, None, None, path)
                    self._write(answer.picture, os.path.splitext(os.path.basename(path))[0])
                progress.advance()

    def video(self, source: str, **stream: Any) -> None:
        """Search frames on this machine until the source ends or Ctrl-C.

        ``stream`` are the parameters of `visualwords.frames.frames_of`.
        """
        if not workers_share_memory():
            say(f"{source}: frames are searched on this machine; a cluster searches image files")
        frames, every = frames_of(source, **stream), stream["every"]
        name = f"camera {source}" if kind_of_source(source) == "camera" else source
        video, last = None, None
        if self.tracker is not None:
            self.tracker.forget()
        if self.output is not None and self._is_video(self.output):
            video = VideoFile(self.output, frames.rate / every)
        try:
            with progress_bars(self.quiet) as progress:
                progress.start("searching", max(-(-(frames.n_promised or 0) // every), 1))
                for number, frame, seconds in frames:
                    steps = 1.0 if last is None else (number - last) / every
                    found, last = self._search_frame(frame, steps), number
                    self._note(found, name, number, seconds, frame)
                    if video is not None and found.picture is not None:
                        video.add(found.picture)
                    else:
                        self._write(found.picture, f"frame{number:06}")
                    progress.advance()
        finally:  # keep what was recorded when Ctrl-C ends a camera
            if video is not None:
                video.close()
        fault = frames.fault()
        if fault:
            self.skipped.append((name, fault))

    def _search_frame(self, frame: np.ndarray, steps: float) -> Found:
        """Search a frame that is so many steps after the last one, and number what is followed."""
        draw, detector = self.output is not None, with_threads(self.detector, self.n_jobs)
        if self.tracker is None:
            return search_image(detector, frame, draw)
        found = search_image(detector, frame, False)
        tracks = self.tracker.update(found.boxes, steps)
        picture = draw_detections(frame, found.boxes, found.confidences, tracks) if draw else None
        return replace(found, picture=picture, tracks=tracks)

    def print_results(self) -> None:
        """Print all detections, unless they were printed as they came."""
        if self.as_they_come:
            return
        if self.form == "json":
            skipped = [{"source": name, "reason": reason} for name, reason in self.skipped]
            named = [
                {"source": image.name, "frame": image.frame, **box}
                for image in self.found
                for box in _listed(image)
            ]
            images = [_described(image, self.detector.label) for image in self.found]
            print_json({"detections": named, "images": images, "skipped": skipped})
        elif self.form == "csv":
            self._print_rows(self.found)
        else:
            self._print_table()

    def print_hint(self) -> None:
        """Where nothing was found, name the best candidate below the threshold."""
        if self.n_found or not self.unsure:
            return
        usual, best, where = self.detector.threshold, 0.0, ""
        try:
            self.detector.set_params(threshold=LEAST_HINT)
            for name, image in self.unsure:
                confidences = self.detector.detect(image)[1]
                if len(confidences) and confidences[0] > best:
                    best, where = float(confidences[0]), name
        finally:
            self.detector.set_params(threshold=usual)
        if where:
            note(
                f"nothing has a confidence of {usual:g}; the best candidate has {best:.2f}, in "
                f"{printable(where)}: try --threshold {math.floor(100 * best) / 100:g}"
            )

    def end(self, strict: bool) -> int:
        """List the skipped sources and return the exit code."""
        say_skipped(self.skipped)
        if not self.n_searched:
            raise FolderError("none of the sources could be read")
        if strict and self.skipped:
            raise FolderError("files had to be skipped, which --strict forbids")
        return SKIPPED if self.skipped else DONE

    def _note(
        self,
        found: Found,
        source: str,
        frame: int | None,
        seconds: float | None,
        image: str | np.ndarray,
    ) -> None:
        """Add the detections of an image or frame to the results, or print them."""
        self.n_searched += 1
        self.n_found += len(found.boxes)
        if not len(found.boxes) and len(self.unsure) < UNSURE:
            self.unsure.append((source, image))
        boxed = BoxedImage(
            source,
            found.boxes.round(1),
            (self.detector.label,) * len(found.boxes),
            (found.shape[1], found.shape[0]),
            found.confidences.round(4),
            tracks=found.tracks,
            frame=frame,
            seconds=seconds,
        )
        self.files.add(boxed)
        if not self.as_they_come:
            if len(boxed) or self.form != "table":  # a camera may run for days
                self.found.append(boxed)
        elif self.form == "csv":
            self._print_rows([boxed])
        else:
            one = _described(boxed, self.detector.label) | {"boxes": _listed(boxed)}
            print(json.dumps(one), flush=True)

    def _print_rows(self, found: list[BoxedImage]) -> None:
        writer = csv.writer(sys.stdout)
        if not self.has_header:
            writer.writerow(HEADER)
            self.has_header = True
        for image in found:
            writer.writerows(csv_cells(row, is_raw(self.raw)) for row in box_rows(image))
        sys.stdout.flush()

    def _write(self, picture: np.ndarray | None, stem: str) -> None:
        """Write an annotated picture under a name that is unique in this run."""
        if self.output is None or picture is None:
            return
        name, number = f"{stem}.png", 1
        while name in self.written:
            number += 1
            name = f"{stem}-{number}.png"
        self.written.add(name)
        place = os.path.join(self.output, name)
        write_atomically(place, encode_image(picture), durable=False)

    def _print_table(self) -> None:
        table = Table()
        table.add_column("source", overflow="fold")
        columns = (*COLUMNS, "track") if self.tracker is not None else COLUMNS
        for column in columns[1:]:
            table.add_column(column, justify="right")
        for image in self.found:
            frame = "" if image.frame is None else str(image.frame)
            for box in _listed(image):
                cells = [f"{box[name]:.0f}" for name in COLUMNS[2:6]]
                numbers = [str(box["track"] or "")] if "track" in box else []
                confidence = f"{box['confidence']:.0%}"
                table.add_row(Text(printable(image.name)), frame, *cells, confidence, *numbers)
        if self.n_found:
            stdout().print(table)
        things = "frame or image" if self.n_searched == 1 else "frames or images"
        note(f"{self.n_found} found in {self.n_searched} {things}")

    @staticmethod
    def _is_video(path: str) -> bool:
        return os.path.splitext(path)[1].lower() in CODECS


def _listed(image: BoxedImage) -> list[dict[str, Any]]:
    """Return the boxes of an image as JSON has them."""
    confidences = np.ones(len(image)) if image.confidences is None else image.confidences
    boxes: list[dict[str, Any]] = [
        {**dict(zip(COLUMNS[2:6], box)), "confidence": confidence}
        for box, confidence in zip(image.boxes_xyxy.tolist(), confidences.tolist())
    ]
    if image.tracks is None:
        return boxes
    return [box | {"track": number or None} for box, number in zip(boxes, image.tracks.tolist())]


def _described(image: BoxedImage, label: str) -> dict[str, Any]:
    width, height = image.size_wh or (None, None)
    one = {"source": image.name, "frame": image.frame, "time": image.seconds}
    return one | {"width": width, "height": height, "label": label}
