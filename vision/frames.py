"""Frames of video files, cameras and streams."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import cv2
import numpy as np

from visualwords.errors import VisualWordsError

SILENT = 0  # OpenCV's log level
VIDEOS = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg", ".wmv")
ADDRESSES = ("rtsp://", "rtsps://", "http://", "https://", "rtmp://", "udp://", "tcp://")
RECONNECT_SECONDS = 1.0


class VideoError(VisualWordsError):
    """A video, camera or stream that can't be used."""


class Frame(NamedTuple):
    """One frame, RGB, its number from 0, and its time in seconds since the first one."""

    number: int
    image: np.ndarray
    seconds: float


def kind_of_source(source: str) -> str:
    """The kind: "folder", "camera", "address", "video" or "image", by the name alone.

    Examples
    --------
    >>> [kind_of_source(name) for name in ("0", "rtsp://door/1", "a.MP4", "b.jpg", "HTTP://x/a.mp4")]
    ['camera', 'address', 'video', 'image', 'address']
    """
    if os.path.isdir(source):
        return "folder"
    if source.isdecimal() and source.isascii() and not os.path.exists(source):
        return "camera"
    if source.lower().startswith(ADDRESSES):
        return "address"
    return "video" if source.lower().endswith(VIDEOS) else "image"


def frames_of(
    source: str,
    *,
    every: int = 1,
    most: int | None = None,
    max_fps: float | None = None,
    timeout: float = 10.0,
    reconnects: int = 0,
) -> "Frames":
    """Open a video file, camera or address; live sources drop frames rather than fall behind.

    Parameters
    ----------
    source : str
    every, most : of `Frames`
    max_fps : float, optional
        Frames per second at most; a file is then played like a camera.
    timeout, reconnects : of `LiveFrames`
    """
    kind = kind_of_source(source)
    if kind == "video" and max_fps is None:
        return Frames(source, every, most)
    return LiveFrames(
        int(source) if kind == "camera" else source,
        every,
        most,
        max_fps=max_fps,
        timeout=timeout,
        reconnects=reconnects if kind == "address" else 0,
    )


class Frames:
    """The frames of a video file, RGB.

    Parameters
    ----------
    source : str or int
        A path or address, or the number of a camera.
    every : int
        Take every n-th frame only.
    most : int, optional
        Take no more frames than this.
    timeout : float
        Seconds within which a stream must answer.

    Attributes
    ----------
    rate : float
        Frames per second by the source's header; 25 where that is unusable.
    n_promised : int or None
        Number of frames by the file's header.
    n_read, n_dropped : int
        Frames that came, and those of them that a live source did not give.
    """

    def __init__(
        self, source: str | int, every: int = 1, most: int | None = None, *, timeout: float = 10.0
    ):
        self.source, self.every, self.most, self.timeout = source, every, most, timeout
        self.n_read = self.n_dropped = 0
        self._capture = _open(source, timeout)
        self.rate = _rate_of(self._capture)
        count = self._capture.get(cv2.CAP_PROP_FRAME_COUNT)
        self.n_promised = int(count) if np.isfinite(count) and count > 0 else None

    def __iter__(self) -> Iterator[Frame]:
        """Yield frames; ends where the source does."""
        n_given = 0
        try:
            while self.most is None or n_given < self.most:
                number = self.n_read
                if not self._capture.grab():
                    return
                self.n_read += 1
                if number % self.every == 0:
                    good, image = self._capture.retrieve()
                    if not good:
                        return
                    n_given += 1
                    yield Frame(number, np.ascontiguousarray(image[:, :, ::-1]), number / self.rate)
        finally:
            self._capture.release()

    def fault(self) -> str | None:
        """What went wrong after the last frame, if anything."""
        if not self.n_read:
            return "no frame could be read"
        cut = self.most is not None and -(-self.n_read // self.every) >= self.most
        if self.n_promised is not None and self.n_read < self.n_promised and not cut:
            return f"ended early, after {self.n_read} of {self.n_promised} frames"
        return None


class LiveFrames(Frames):
    """The newest frames of a camera or stream, RGB; those that nobody has time for are dropped.

    A thread reads all frames, so that what is taken is never older than one frame.

    Parameters
    ----------
    source, every, most : of `Frames`
        A path is played at its own pace.
    max_fps : float, optional
        Take no more frames a second than this.
    timeout : float
        Seconds without a frame after which the source has stalled.
    reconnects : int
        How often it is opened again after it ended or stalled.
    """

    def __init__(
        self,
        source: str | int,
        every: int = 1,
        most: int | None = None,
        *,
        max_fps: float | None = None,
        timeout: float = 10.0,
        reconnects: int = 0,
    ):
        super().__init__(source, every, most, timeout=timeout)
        self.n_promised = None  # of those that come
        self.max_fps, self.reconnects = max_fps, reconnects
        self.rate = max_fps or self.rate
        self._is_file = isinstance(source, str) and os.path.exists(source)
        self._newest: Frame | None = None
        self._fault: str | None = None
        self._has_ended = self._must_end = False
        self._changed = threading.Condition()

    def __iter__(self) -> Iterator[Frame]:
        """Yield the newest frame whenever the last one was worked on."""
        reader = threading.Thread(target=self._read, name="frames", daemon=True)
        reader.start()
        n_given, next_time = 0, time.monotonic()
        try:
            while self.most is None or n_given < self.most:
                if self.max_fps is not None:
                    time.sleep(max(0.0, next_time - time.monotonic()))
                    next_time = max(next_time + 1 / self.max_fps, time.monotonic())
                frame = self._next()
                if frame is None:
                    return
                n_given += 1
                yield frame
        finally:
            self._must_end = True
            reader.join(self.timeout)  # a native read that hangs is left to the process's end

    def fault(self) -> str | None:
        """What went wrong after the last frame, if anything."""
        return self._fault or super().fault()

    def _next(self) -> Frame | None:
        """Wait for a frame; None where the source has ended or stalled."""
        patience = self.timeout + self.reconnects * (self.timeout + RECONNECT_SECONDS)
        with self._changed:
            came = self._changed.wait_for(lambda: self._newest or self._has_ended, patience)
            frame, self._newest = self._newest, None
        if not came:
            self._fault = f"stalled: no frame for {patience:g} s"
        return frame

    def _read(self) -> None:
        """Read frames until the source ends; open it again as often as is allowed."""
        start, left = time.monotonic(), self.reconnects
        while not self._must_end:
            if self._capture.grab():
                left = self.reconnects
                self._take(time.monotonic() - start)
                if self._is_file:  # at its own pace, as it would come from a camera
                    due = start + self.n_read / _rate_of(self._capture)
                    time.sleep(max(0.0, due - time.monotonic()))
                continue
            self._capture.release()
            if self._is_file or not left:
                break
            left -= 1
            time.sleep(RECONNECT_SECONDS)
            with suppress(VideoError):
                self._capture = _open(self.source, self.timeout)
        with self._changed:
            if not self._must_end and not self._is_file:
                again = f", also after {self.reconnects} reconnections" if self.reconnects else ""
                self._fault = f"ended after {self.n_read} frames{again}"
            self._has_ended = True
            self._changed.notify_all()
        self._capture.release()

    def _take(self, seconds: float) -> None:
        number = self.n_read
        self.n_read += 1
        if number % self.every:
            return
        good, image = self._capture.retrieve()
        if good:
            with self._changed:
                self.n_dropped += self._newest is not None
                self._newest = Frame(number, np.ascontiguousarray(image[:, :, ::-1]), seconds)
                self._changed.notify_all()


def _open(source: str | int, timeout: float) -> cv2.VideoCapture:
    """Open a source; `VideoError` says in one sentence why it can't be."""
    logging = cv2 if hasattr(cv2, "setLogLevel") else cv2.utils.logging  # OpenCV 4, and 5
    logging.setLogLevel(SILENT)  # faults are reported here
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    is_address = isinstance(source, str) and source.lower().startswith(ADDRESSES)
    if is_address:
        limit = int(1000 * timeout)
        settings = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, limit, cv2.CAP_PROP_READ_TIMEOUT_MSEC, limit]
        capture = cv2.VideoCapture(source, cv2.CAP_FFMPEG, settings)
    else:
        capture = cv2.VideoCapture(source)
    if capture.isOpened():
        return capture
    if isinstance(source, int):
        raise VideoError(
            f"camera {source}: not found, or in use by another program; "
            "give the number of another camera, or a video file"
        )
    if is_address:
        raise VideoError(f"{source}: no stream there, or none within {timeout:g} s")
    raise VideoError(f"{source}: not a readable video; convert it to MP4")


def _rate_of(capture: cv2.VideoCapture) -> float:
    rate = capture.get(cv2.CAP_PROP_FPS)
    return float(rate) if np.isfinite(rate) and 0 < rate <= 1000 else 25.0
