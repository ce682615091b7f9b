"""MOT Challenge's text: tracks of a video, a line for each box."""

import os
from collections.abc import Iterable

from visualwords.apps.annotations.boxed_image import Annotations, BoxedImage, BoxList
from visualwords.apps.annotations.documents import number_of, short, text_of
from visualwords.errors import FolderError
from visualwords.files import write_atomically

__all__ = ["read_mot", "write_mot"]


def read_mot(path: str | os.PathLike[str]) -> Annotations:
    """Read lines of frame, track, x, y, width, height, confidence and three unused numbers.

    Frames count from 1 in the file and from 0 in what is returned; images are named
    ``frame_000000``. A frame without boxes has no line.
    """
    name = os.fspath(path)
    frames: dict[int, BoxList] = {}
    for number, line in enumerate(text_of(path).splitlines(), start=1):
        if not line.strip():
            continue
        place = f"{name}, line {number}"
        values = [number_of(place, word) for word in line.split(",")]
        if len(values) < 6:
            raise FolderError(f"{place}: {len(values)} numbers; frame, track and a box are 6")
        frame, track, x, y, width, height = values[:6]
        if not (frame.is_integer() and 1 <= frame <= 10**9 and track.is_integer()):
            raise FolderError(f"{place}: frames are numbered from 1 on, and tracks are numbers")
        if width < 0 or height < 0:
            raise FolderError(f"{place}: a box of negative size, {width:g} by {height:g}")
        k = int(frame) - 1
        boxes = frames.setdefault(k, BoxList(f"frame_{k:06}"))
        boxes.add(
            place,
            [x, y, x + width, y + height],
            confidence=values[6] if len(values) > 6 and 0 <= values[6] <= 1 else None,
            track=max(int(track), 0),
        )
    images = [boxes.image(k) for k, boxes in sorted(frames.items())]
    return Annotations(images, [one for boxes in frames.values() for one in boxes.skipped])


def write_mot(path: str | os.PathLike[str], images: Iterable[BoxedImage]) -> None:
    """Write the boxes that have a track, of frames in their order."""
    lines = []
    for number, image in enumerate(images):
        frame = (number if image.frame is None else image.frame) + 1
        for k, (x0, y0, x1, y1) in enumerate(image.boxes_xyxy.tolist()):
            if image.tracks is None or not image.tracks[k]:
                continue
            box = ",".join(short(round(v, 6)) for v in (x0, y0, x1 - x0, y1 - y0))
            confidence = 1 if image.confidences is None else float(image.confidences[k])
            lines.append(f"{frame},{image.tracks[k]},{box},{short(confidence)},-1,-1,-1\n")
    write_atomically(path, "".join(lines).encode())
