"""One run over images, videos and cameras: detect, draw, print."""

import csv
import json
import os
import sys
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

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
from visualwords.apps.detect_pedestrians.one_image import Found, search_files, search_image
from visualwords.apps.detect_pedestrians.videos import CODECS, VideoFile
from visualwords.apps.detection.detector import PedestrianDetector
from visualwords.errors import FolderError, Skipped
from visualwords.files import write_atomically
from visualwords.folders import list_files
from visualwords.frames import frames_of, kind_of_source
from visualwords.images import encode_image
from visualwords.workers import workers_share_memory

__all__ = ["Searching"]

HEADER = ("source", "frame", "x0", "y0", "x1", "y1", "confidence")


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
        Images that are searched at the same time.
    quiet : bool
        Show no progress.
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
    ):
        self.detector = detector
        self.output = output
        self.form = form
        self.as_they_come = as_they_come and form != "table"
        self.raw = raw
        self.n_jobs = n_jobs
        self.quiet = quiet
        self.found: list[dict[str, Any]] = []
        self.skipped: list[Skipped | tuple[str, str]] = []
        self.n_searched = 0
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
        draw = self.output is not None
        with progress_bars(self.quiet) as progress:
            progress.start("searching", len(paths))
            answers = search_files(self.detector, paths, draw, self.n_jobs)
            for path, answer in zip(paths, answers):
                if isinstance(answer, Skipped):
                    self.skipped.append(answer)
                else:
                    self._note(answer, path, None)
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
        video = None
        if self.output is not None and self._is_video(self.output):
            video = VideoFile(self.output, frames.rate / every)
        try:
            with progress_bars(self.quiet) as progress:
                progress.start("searching", max(-(-(frames.n_promised or 0) // every), 1))
                for number, frame, seconds in frames:
                    found = search_image(self.detector, frame, self.output is not None)
                    self._note(found, name, number, seconds)
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

    def print_results(self) -> None:
        """Print all detections, unless they were printed as they came."""
        if self.as_they_come:
            return
        if self.form == "json":
            skipped = [{"source": name, "reason": reason} for name, reason in self.skipped]
            print_json({"detections": self.found, "skipped": skipped})
        elif self.form == "csv":
            self._print_rows(self.found)
        else:
            self._print_table()

    def end(self, strict: bool) -> int:
        """List the skipped sources and return the exit code."""
        say_skipped(self.skipped)
        if not self.n_searched:
            raise FolderError("none of the sources could be read")
        if strict and self.skipped:
            raise FolderError("files had to be skipped, which --strict forbids")
        return SKIPPED if self.skipped else DONE

    def _note(
        self, found: Found, source: str, frame: int | None, seconds: float | None = None
    ) -> None:
        """Add the detections of an image or frame to the results, or print them."""
        self.n_searched += 1
        boxes, confidences = found.boxes.round(1).tolist(), found.confidences.round(4).tolist()
        listed = [
            {**dict(zip(HEADER[2:6], box)), "confidence": confidence}
            for box, confidence in zip(boxes, confidences)
        ]
        named = [{"source": source, "frame": frame, **one} for one in listed]
        if not self.as_they_come:
            self.found += named
        elif self.form == "csv":
            self._print_rows(named)
        else:
            height, width = found.shape
            one: dict[str, Any] = {
                "source": source,
                "frame": frame,
                "time": seconds,
                "width": width,
            }
            one |= {"height": height, "label": self.detector.label, "boxes": listed}
            print(json.dumps(one), flush=True)

    def _print_rows(self, found: list[dict[str, Any]]) -> None:
        writer = csv.writer(sys.stdout)
        if not self.has_header:
            writer.writerow(HEADER)
            self.has_header = True
        rows = ([one[name] for name in HEADER] for one in found)
        writer.writerows(csv_cells(row, is_raw(self.raw)) for row in rows)
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
        for column in HEADER[1:]:
            table.add_column(column, justify="right")
        for one in self.found:
            frame = "" if one["frame"] is None else str(one["frame"])
            corners = [f"{one[name]:.0f}" for name in HEADER[2:6]]
            table.add_row(
                Text(printable(one["source"])), frame, *corners, f"{one['confidence']:.0%}"
            )
        if self.found:
            stdout().print(table)
        things = "frame or image" if self.n_searched == 1 else "frames or images"
        note(f"{len(self.found)} found in {self.n_searched} {things}")

    @staticmethod
    def _is_video(path: str) -> bool:
        return os.path.splitext(path)[1].lower() in CODECS
