"""One run over images, videos and cameras: detect, follow, draw, print, and write."""

import copy
import csv
import json
import os
import re
import secrets
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, count, groupby
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from visualwords.apps.annotations import checks
from visualwords.apps.annotations.box_table import HEADER, box_rows
from visualwords.apps.annotations.boxed_image import BoxedImage
from visualwords.apps.annotations.coco import write_coco
from visualwords.apps.annotations.yolo import YoloFolder
from visualwords.apps.cluster.connection import check_seen
from visualwords.apps.command_line import terminal
from visualwords.apps.command_line.csv_cells import csv_cells, is_raw
from visualwords.apps.command_line.verb import DONE, SKIPPED
from visualwords.apps.detection.detector import PedestrianDetector
from visualwords.apps.detection.drawing import draw_detections
from visualwords.apps.detection.tracking import Tracker
from visualwords.errors import FolderError, ImageError, Skipped
from visualwords.files import write_atomically
from visualwords.folders import list_files
from visualwords.frames import VideoError, frames_of, kind_of_source
from visualwords.images import encode_image, read_image
from visualwords.parallel import map_on_workers, workers_share_memory

__all__ = ["ResultFiles", "Searching", "search_files"]

CODECS = {".mp4": "mp4v", ".m4v": "mp4v", ".mov": "mp4v", ".avi": "MJPG", ".mkv": "MJPG"}

COLUMNS = ("x0", "y0", "x1", "y1")


def search_files(
    detector: PedestrianDetector, paths: Sequence[str], n_jobs: int | None
) -> Iterator[BoxedImage | Skipped]:
    """Yield the detections of every image file, in order; why it is skipped if unreadable.

    Threads search one file each, or the scales of a single one. Workers of a cluster get paths and
    return boxes.
    """
    if workers_share_memory() and len(paths) == 1:
        detector = copy.copy(detector).set_params(n_jobs=n_jobs)
    pieces = ((os.path.abspath(path),) for path in paths)
    answers = map_on_workers(_search_file, pieces, shared=[detector], n_jobs=n_jobs)
    for path, answer in zip(paths, answers, strict=True):
        if isinstance(answer, Skipped):
            answer = replace(answer, source=path)
            check_seen([answer])  # workers warn of an end unseen
            yield answer
        else:
            yield replace(answer, name=path)


def _search_file(detector: PedestrianDetector, path: str) -> BoxedImage | Skipped:
    try:
        return search(detector, read_image(path))
    except ImageError as problem:
        return Skipped.of(path, problem)


def search(detector: PedestrianDetector, pixels: np.ndarray) -> BoxedImage:
    """The detections in an image that has no name yet."""
    boxes, confidences = detector.detect(pixels, order="rgb")
    labels, size_wh = (detector.label,) * len(boxes), (pixels.shape[1], pixels.shape[0])
    return BoxedImage("", boxes, labels, size_wh, confidences)


class ResultFiles:
    """Writes the results of a run: pictures and label files at once, the others at the end.

    Frames get names of their own, ``walk-000012.png`` for frame 12 of walk.mp4.

    Parameters
    ----------
    label : str
    output : str or None
        Folder for annotated pictures, or name of a video.
    coco, yolo : str or None
        Where to write; None: not at all.
    """

    def __init__(self, label: str, output: str | None, coco: str | None, yolo: str | None):
        self.label, self.output, self.coco = label, output, coco
        self.folder = None if yolo is None else YoloFolder(yolo, [label])
        self.images: list[BoxedImage] = []
        self.pictures: set[str] = set()
        self.video: VideoFile | None = None
        self.is_video = os.path.splitext(output or "")[1].lower() in CODECS
        if output is not None and not self.is_video:
            os.makedirs(output, exist_ok=True)

    def check_names(self, paths: Sequence[str]) -> None:
        """Refuse images, before they are searched, that can't be written."""
        if self.is_video:
            raise FolderError(f"{self.output}: images need a folder, not a video, with -o")
        stems = Counter(map(checks.stem_of, paths) if self.folder else ())
        if stems and (most := stems.most_common(1)[0])[1] > 1:
            raise FolderError(f"{most[1]} images would have the same label file, {most[0]}.txt")

    @contextmanager
    def writing_video(self, rate: float) -> Iterator[None]:
        """Write the pictures of a block into a video, if that is wanted."""
        if self.output is None or not self.is_video:
            yield
            return
        with closing(VideoFile(self.output, rate)) as self.video:  # also when Ctrl-C ends a camera
            yield
        self.video = None

    def add(self, image: BoxedImage, source: str | np.ndarray) -> None:
        """Add the detections of an image or frame, which is a file or pixels."""
        stem = checks.stem_of(image.name)
        if self.output is not None:
            pixels = read_image(source) if isinstance(source, str) else source
            found = image.boxes_xyxy, np.array(image.confidences), image.tracks
            self._write(draw_detections(pixels, *found), image.frame, stem)
        if image.frame is not None:
            safe = re.sub(r"[^\w.-]+", "-", stem)
            image = replace(image, name=f"{safe}-{image.frame:06}.png")
        if self.folder is not None:
            self.folder.add(image)
        if self.coco is not None:
            self.images.append(replace(image, name=image.name.replace(os.sep, "/")))

    def close(self) -> None:
        """Write what is written at the end."""
        if self.folder is not None:
            self.folder.close()
        if self.coco is not None:
            write_coco(self.coco, self.images, [self.label])

    def _write(self, picture: np.ndarray, frame: int | None, stem: str) -> None:
        """Write an annotated picture into the video, or under a name that is unique in the run."""
        if self.video is not None:
            self.video.add(picture)
            return
        stem = stem if frame is None else f"frame{frame:06}"
        more = (f"{stem}-{number}.png" for number in count(2))
        name = next(name for name in chain([f"{stem}.png"], more) if name not in self.pictures)
        self.pictures.add(name)
        path = os.path.join(self.output or "", name)
        write_atomically(path, encode_image(picture), durable=False)


class VideoFile:
    """A video file that gets its name only when it is complete.

    Parameters
    ----------
    path : str
    rate : float
        Frames per second.
    """

    def __init__(self, path: str, rate: float):
        self.path, self.rate = Path(path), rate
        self.partial = self.path.with_name(f".writing-{secrets.token_hex(8)}{self.path.suffix}")
        self.writer: cv2.VideoWriter | None = None

    def add(self, frame: np.ndarray) -> None:
        """Append an RGB frame; all must have the first one's size."""
        if self.writer is None:
            codec = cv2.VideoWriter.fourcc(*CODECS[self.path.suffix.lower()])
            self.writer = cv2.VideoWriter(str(self.partial), codec, self.rate, frame.shape[1::-1])
            if not self.writer.isOpened():
                raise VideoError(f"{self.path}: this video can't be written; use .avi or a folder")
        self.writer.write(np.ascontiguousarray(frame[:, :, ::-1]))

    def close(self) -> None:
        """Rename the complete file to its final name; without frames there is none."""
        if self.writer is not None:
            is_complete = self.writer.isOpened()
            self.writer.release()
            if is_complete:
                os.replace(self.partial, self.path)
            self.partial.unlink(missing_ok=True)


@dataclass
class Searching:
    """Searches sources one after the other and collects the detections.

    Parameters
    ----------
    detector : PedestrianDetector
    files : ResultFiles
        Written beside what is printed.
    form : "json", "csv" or "table"
    as_they_come : bool
        Print the JSON of every image or frame when it was searched, not one document at the end.
    raw : bool
        Leave texts of CSV as they are.
    n_jobs : int or None
        Images, or scales of a frame, that are searched at the same time.
    quiet : bool
        Show no progress.
    tracker : Tracker or None
        Gives the objects of videos numbers.

    Attributes
    ----------
    found : list of BoxedImage
    skipped : list of (name, reason)
    n_searched, n_found : int
        Images and frames, and detections in them.
    """

    detector: PedestrianDetector
    files: ResultFiles
    form: str = "table"
    as_they_come: bool = False
    raw: bool = False
    n_jobs: int | None = None
    quiet: bool = False
    tracker: Tracker | None = None
    found: list[BoxedImage] = field(default_factory=list)
    skipped: list[Skipped | tuple[str, str]] = field(default_factory=list)
    n_searched: int = 0
    n_found: int = 0

    def sources(self, sources: Sequence[str], stream: dict[str, Any]) -> None:
        """Search images, folders, videos and cameras, one after the other.

        ``stream`` are the parameters of `visualwords.frames.frames_of`.
        """
        try:
            for kind, group in groupby(sources, kind_of_source):
                if kind == "image":
                    self.images(list(group))
                    continue
                for source in group:
                    if kind == "folder":
                        paths, skipped = list_files(source)
                        self.skipped += skipped
                        self.images(paths)
                    else:
                        self.video(source, **stream)
        finally:  # also what was found when Ctrl-C ends a camera
            if self.n_searched:
                self.files.close()

    def images(self, paths: list[str]) -> None:
        """Search images; unreadable ones are skipped with the reason."""
        self.files.check_names(paths)
        with terminal.progress_bars(self.quiet) as progress:
            progress.start("searching", len(paths))
            for answer in search_files(self.detector, paths, self.n_jobs):
                if isinstance(answer, Skipped):
                    self.skipped.append(answer)
                else:
                    self._add(answer, answer.name)
                progress.advance()

    def video(self, source: str, **stream: Any) -> None:
        """Search frames on this machine until the source ends or Ctrl-C."""
        if not workers_share_memory():
            terminal.say(f"{source}: frames are searched here; a cluster searches image files")
        frames, every = frames_of(source, **stream), stream["every"]
        name = f"camera {source}" if kind_of_source(source) == "camera" else source
        detector, last = copy.copy(self.detector).set_params(n_jobs=self.n_jobs), None
        if self.tracker is not None:
            self.tracker.forget()
        with (
            self.files.writing_video(frames.rate / every),
            terminal.progress_bars(self.quiet) as progress,
        ):
            progress.start("searching", max(-(-(frames.n_promised or 0) // every), 1))
            for number, frame, seconds in frames:
                image = search(detector, frame)
                image = replace(image, name=name, frame=number, seconds=seconds)
                if self.tracker is not None:
                    steps = (number - last) / every if last is not None else 1.0
                    tracks = self.tracker.update(image.boxes_xyxy, steps)
                    image, last = replace(image, tracks=tracks), number
                self._add(image, frame)
                progress.advance()
        if fault := frames.fault():
            self.skipped.append((name, fault))

    def print_results(self) -> None:
        """Print all detections, unless they were printed as they came, and a hint if none."""
        if self.form == "table":
            self._print_table()
        elif self.form == "json" and not self.as_they_come:
            images = [_described(image, self.detector.label) for image in self.found]
            pairs = [(image, box) for image in self.found for box in _listed(image)]
            boxes = [{"source": one.name, "frame": one.frame, **box} for one, box in pairs]
            skipped = [{"source": name, "reason": reason} for name, reason in self.skipped]
            terminal.print_json({"detections": boxes, "images": images, "skipped": skipped})
        if not self.n_found:
            usual = f"--threshold below {self.detector.threshold:g}"
            terminal.note(f"nothing found; {usual} or a smaller --min-height finds more")

    def end(self, strict: bool) -> int:
        """List the skipped sources and return the exit code."""
        terminal.say_skipped(self.skipped)
        if not self.n_searched:
            raise FolderError("none of the sources could be read")
        if strict and self.skipped:
            raise FolderError("files had to be skipped, which --strict forbids")
        return SKIPPED if self.skipped else DONE

    def _add(self, image: BoxedImage, source: str | np.ndarray) -> None:
        """Add the detections of an image or frame to the results, or print them, rounded."""
        confidences = np.array(image.confidences).round(4)
        image = replace(image, boxes_xyxy=image.boxes_xyxy.round(1), confidences=confidences)
        self.n_searched += 1
        self.n_found += len(image)
        self.files.add(image, source)
        if self.form == "csv":
            rows = [csv_cells(row, is_raw(self.raw)) for row in box_rows(image)]
            csv.writer(sys.stdout).writerows([HEADER, *rows] if self.n_searched == 1 else rows)
            sys.stdout.flush()
        elif self.form == "json" and self.as_they_come:
            one = _described(image, self.detector.label) | {"boxes": _listed(image)}
            print(json.dumps(one), flush=True)
        elif len(image) or self.form == "json":  # a camera may run for days
            self.found.append(image)

    def _print_table(self) -> None:
        rows = []
        for image in self.found:
            frame = "" if image.frame is None else str(image.frame)
            for box in _listed(image):
                cells = [f"{box[name]:.0f}" for name in COLUMNS] + [f"{box['confidence']:.0%}"]
                track = [] if self.tracker is None else [str(box["track"] or "")]
                rows.append([image.name, frame, *cells, *track])
        columns = ["frame", *COLUMNS, "confidence", *([] if self.tracker is None else ["track"])]
        if rows:
            terminal.print_table(["source", *columns], rows, right=columns)
        things = "frame or image" if self.n_searched == 1 else "frames or images"
        terminal.note(f"{self.n_found} found in {self.n_searched} {things}")


def _listed(image: BoxedImage) -> list[dict[str, Any]]:
    """The boxes of an image as JSON has them."""
    boxes: list[dict[str, Any]] = []
    for k, (box, confidence) in enumerate(zip(image.boxes_xyxy, np.array(image.confidences))):
        boxes.append({**dict(zip(COLUMNS, box.tolist())), "confidence": float(confidence)})
        if image.tracks is not None:
            boxes[-1]["track"] = int(image.tracks[k]) or None
    return boxes


def _described(image: BoxedImage, label: str) -> dict[str, Any]:
    width, height = image.size_wh or (None, None)
    one = {"source": image.name, "frame": image.frame, "time": image.seconds}
    return one | {"width": width, "height": height, "label": label}
