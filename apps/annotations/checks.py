"""Checked values of annotations: numbers, names, sizes, boxes, and the files they stand in.

The places that are given begin the sentences about faults.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from visualwords.errors import FolderError
from visualwords.files import read_settings

DECIMALS = 6  # of a pixel; formats that store other numbers than corners lose less than that
FARTHEST = 1e7  # pixels; nothing that is an image has larger coordinates
MOST_SIDE = 10**6  # pixels
MOST_BYTES = 1 << 29  # of a file of annotations; those of the largest public sets have 450 MB


def box(
    place: str, box: Sequence[float], size_wh: tuple[int, int] | None = None
) -> tuple[str | None, list[float]]:
    """Why a box is left out, or None, and its corners, cut to the image.

    Examples
    --------
    >>> box("line 2", [-3, 0, 8, 9], (10, 10))
    (None, [0.0, 0.0, 8.0, 9.0])
    >>> box("line 2", [5, 5, 5, 9])[0]
    'a box without area'
    """
    x0, y0, x1, y1 = corners = [float(value) for value in box]
    shown = "[" + ", ".join(f"{value:g}" for value in corners) + "]"
    if not np.isfinite(corners).all() or max(map(abs, corners)) > FARTHEST:
        raise FolderError(f"{place}: {shown} is not a box; its numbers are no pixels")
    if x0 > x1 or y0 > y1:
        raise FolderError(f"{place}: {shown} is not a box with xmin < xmax and ymin < ymax")
    if round(x1 - x0, DECIMALS) <= 0 or round(y1 - y0, DECIMALS) <= 0:
        return "a box without area", corners
    if size_wh is None:
        return None, corners
    width, height = size_wh
    if x0 >= width or y0 >= height or x1 <= 0 or y1 <= 0:
        return f"a box outside its image of {width}x{height}", corners
    return None, [max(x0, 0.0), max(y0, 0.0), min(x1, float(width)), min(y1, float(height))]


def size(place: str, width: float | None, height: float | None) -> tuple[int, int] | None:
    """The size of an image; None where the annotations have none, or 0 for unknown."""
    if width is None or height is None or width == height == 0:
        return None
    for side in (width, height):
        if not float(side).is_integer() or not 0 < side <= MOST_SIDE:
            raise FolderError(f"{place}: no image is {width:g} pixels wide and {height:g} high")
    return int(width), int(height)


def name_of(place: str, name: str) -> str:
    """The file name of an image with forward slashes."""
    clean = name.strip().replace("\\", "/")
    if not clean or "\0" in clean or len(clean) > 4096:
        raise FolderError(f"{place}: {name[:60]!r} is not the name of an image")
    return clean


def number_of(place: str, text: str | None) -> float:
    """The number that a text is; ``FolderError`` if it is none, or not finite.

    Python also reads digits of other scripts and underscores, which no program writes.
    """
    cleaned = (text or "").strip()
    try:
        value = float(cleaned) if cleaned.isascii() and "_" not in cleaned else float("nan")
    except ValueError:
        value = float("nan")
    if not abs(value) < 1e300:
        raise FolderError(f"{place}: {cleaned[:40]!r} where a number belongs")
    return value


def short(value: float) -> str:
    """A number in as few digits as give it back.

    Examples
    --------
    >>> short(12.0), short(0.25)
    ('12', '0.25')
    """
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def content_of(path: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes:
    """The bytes of a regular file of limited size."""
    try:
        return read_settings(path, most)
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise FolderError(f"{os.fspath(path)}: {reason}") from None


def text_of(path: str | os.PathLike[str], most: int = MOST_BYTES) -> str:
    """The text of a UTF-8 file, without its byte-order mark."""
    try:
        text = content_of(path, most).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FolderError(f"{os.fspath(path)}: not UTF-8 text; save it in UTF-8") from None
    if "\0" in text:
        raise FolderError(f"{os.fspath(path)}: not text, but binary data")
    return text


def stem_of(name: str) -> str:
    """The file name without folder and suffix."""
    return Path(name.replace("\\", "/")).stem
