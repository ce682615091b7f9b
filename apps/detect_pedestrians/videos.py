"""Frames from video files and cameras, and videos of annotated frames."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from visualwords.errors import VisualWordsError

__all__ = ["Frames", "VideoFile"]

CODECS = {".mp4": "mp4v", ".m4v": "mp4v", ".mov": "mp4v", ".avi": "MJPG", ".mkv": "MJPG"}

SILENT = 0  # OpenCV's log level


class VideoError(VisualWordsError):
    """A video or camera that can't be used."""


class Frames:
    """The frames of a video file or camera, RGB.

    Parameters
    ----------
    source : str or int
        A path, or the number of a camera.
    every : int
        Take every n-th frame only.
    most : int, optional
        Take no more frames than this.

    Attributes
    ----------
    rate : float
        Frames per second by the source's header; 25 where that is unusable.
    n_promised : int or None
        Number of frames by the file's header.
    n_read : int
        Frames read so far.
    """

    def __init__(self, source: str | int, every: int = 1, most: int | None = None):
        self.source = source
        self.every = every
        self.most = most
        self.n_read = 0
        # this class reports faults itself, in one sentence
        logging = cv2 if hasattr(cv2, "setLogLevel") else cv2.utils.logging  # OpenCV 4, and 5
        logging.setLogLevel(SILENT)
        os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
        self.capture = cv2.VideoCapture(source)
        if not self.capture.isOpened():
            raise VideoError(self._cannot_open())
        rate = self.capture.get(cv2.CAP_PROP_FPS)
        self.rate = rate if np.isfinite(rate) and 0 < rate <= 1000 else 25.0
        count = self.capture.get(cv2.CAP_PROP_FRAME_COUNT)
        promised = isinstance(source, str) and np.isfinite(count) and count > 0
        self.n_promised = int(count) if promised else None

    def __iter__(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield numbers of frames and frames; ends where the source does."""
        n_given = 0
        try:
            while self.most is None or n_given < self.most:
                if not self.capture.grab():
                    return
                number = self.n_read
                self.n_read += 1
                if number % self.every == 0:
                    good, frame = self.capture.retrieve()
                    if not good:
                        return
                    n_given += 1
                    yield number, np.ascontiguousarray(frame[:, :, ::-1])
        finally:
            self.capture.release()

    def fault(self) -> str | None:
        """Return what went wrong after the last frame, if anything."""
        if not self.n_read:
            return "no frame could be read"
        cut = self.most is not None and -(-self.n_read // self.every) >= self.most
        if self.n_promised is not None and self.n_read < self.n_promised and not cut:
            return f"ended early, after {self.n_read} of {self.n_promised} frames"
        return None

    def _cannot_open(self) -> str:
        if isinstance(self.source, int):
            return (
                f"camera {self.source}: not found, or in use by another program; "
                "give the number of another camera, or a video file"
            )
        return f"{self.source}: not a readable video; convert it to MP4"


class VideoFile:
    """A video file that gets its name only when it is complete.

    Parameters
    ----------
    path : str
    rate : float
        Frames per second.
    """

    def __init__(self, path: str, rate: float):
        self.path = Path(path)
        self.rate = rate
        self.partial = self.path.with_name(
            f".writing-{secrets.token_hex(8)}{self.path.suffix.lower()}"
        )
        self.writer: cv2.VideoWriter | None = None

    def add(self, frame: np.ndarray) -> None:
        """Append an RGB frame; all must have the first one's size."""
        if self.writer is None:
            codec = cv2.VideoWriter.fourcc(*CODECS[self.path.suffix.lower()])
            size_wh = frame.shape[1], frame.shape[0]
            self.writer = cv2.VideoWriter(str(self.partial), codec, self.rate, size_wh)
            if not self.writer.isOpened():
                raise VideoError(f"{self.path}: this video can't be written; use .avi or a folder")
        self.writer.write(np.ascontiguousarray(frame[:, :, ::-1]))

    def close(self, keep: bool = True) -> None:
        """Rename the complete file to its final name, or remove it."""
        if self.writer is not None:
            self.writer.release()
            if keep:
                os.replace(self.partial, self.path)
        self.partial.unlink(missing_ok=True)
