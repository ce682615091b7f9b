"""Videos of annotated frames."""

import os
import secrets
from pathlib import Path

import cv2
import numpy as np

from visualwords.frames import VideoError

CODECS = {".mp4": "mp4v", ".m4v": "mp4v", ".mov": "mp4v", ".avi": "MJPG", ".mkv": "MJPG"}


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
