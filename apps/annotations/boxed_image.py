"""The boxes of one image: what every format is read into and written from."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from visualwords.errors import FolderError

__all__ = ["Annotations", "BoxedImage", "checked_box"]

DECIMALS = 6  # of a pixel; formats that store other numbers than corners lose less than that
FARTHEST = 1e7  # pixels; nothing that is an image has larger coordinates
MOST_LABEL = 1000  # characters
MOST_SIDE = 10**6  # pixels


@dataclass(frozen=True, eq=False)
class BoxedImage:
    """An image and the boxes in it.

    Attributes
    ----------
    name : str
        File name of the image as the annotations give it, with forward slashes.
    boxes_xyxy : (n, 4) float64
        x0, y0, x1, y1 in pixels, the far edges exclusive; multiples of 10⁻⁶.
    labels : tuple of str
        One for each box; empty where the format names none.
    size_wh : (int, int) or None
        Width and height of the image.
    confidences : (n,) float64 or None
        Of detections; None for annotated boxes.
    ignored : (n,) bool
        Crowds and difficult objects: neither to be found nor to be learned from.
    tracks : (n,) int64 or None
        Numbers from 1 on of objects that are followed over frames; 0 where there is none.
    frame : int or None
        Number of a video's frame.
    seconds : float or None
        Its time.

    Examples
    --------
    >>> image = BoxedImage("street.jpg", np.array([[10, 20, 50, 120]]), ("person",))
    >>> len(image), image.ignored.tolist()
    (1, [False])
    """

    name: str
    boxes_xyxy: np.ndarray = field(default_factory=lambda: np.empty((0, 4)))
    labels: tuple[str, ...] = ()
    size_wh: tuple[int, int] | None = None
    confidences: np.ndarray | None = None
    ignored: np.ndarray = field(default_factory=lambda: np.empty(0, bool))
    tracks: np.ndarray | None = None
    frame: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        boxes = np.asarray(self.boxes_xyxy, np.float64).reshape(-1, 4).round(DECIMALS)
        ignored = np.asarray(self.ignored, bool)
        parts = {
            "boxes_xyxy": boxes,
            "labels": tuple(self.labels) or ("",) * len(boxes),
            "ignored": ignored if len(ignored) else np.zeros(len(boxes), bool),
        }
        for name, kind in (("confidences", np.float64), ("tracks", np.int64)):
            if getattr(self, name) is not None:
                parts[name] = np.asarray(getattr(self, name), kind)
        lengths = {len(part) for part in parts.values()}
        if len(lengths) > 1:
            raise ValueError(f"{len(boxes)} boxes, but labels or numbers for {sorted(lengths)}")
        for name, part in parts.items():
            object.__setattr__(self, name, part)  # the class is frozen

    def __len__(self) -> int:
        return len(self.boxes_xyxy)


@dataclass(frozen=True)
class Annotations:
    """The images that a file or folder of annotations names, in its order.

    Attributes
    ----------
    images : list of BoxedImage
    skipped : list of (place, reason)
        Annotations that are no boxes with an area.
    """

    images: list[BoxedImage]
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<Annotations: {sum(map(len, self.images))} boxes in {len(self.images)} images>"

    def counts(self) -> dict[str, int]:
        """Return how many boxes each label has, the most frequent first."""
        return dict(Counter(label for one in self.images for label in one.labels).most_common())


class _Row(NamedTuple):
    """A box and what is known about it."""

    corners: list[float]
    label: str
    ignored: bool
    confidence: float | None
    track: int | None


class BoxList:
    """Collects the boxes of one image while a file is read, and checks each.

    Parameters
    ----------
    name : str
        File name of the image.
    size_wh : (int, int) or None
    frame, seconds : of a video
    """

    def __init__(
        self,
        name: str,
        size_wh: tuple[int, int] | None = None,
        frame: int | None = None,
        seconds: float | None = None,
    ):
        self.empty = BoxedImage(name, size_wh=size_wh, frame=frame, seconds=seconds)
        self.rows: list[_Row] = []
        self.skipped: list[tuple[str, str]] = []

    def add(
        self,
        place: str,
        box: Sequence[float],
        label: str = "",
        *,
        ignored: bool = False,
        confidence: float | None = None,
        track: int | None = None,
    ) -> None:
        """Add a box; one without an area, or outside the image, is skipped with the reason.

        Raises
        ------
        FolderError
            A box that is no box: not finite, or turned inside out. ``place`` begins the sentence.
        """
        fault, corners = checked_box(place, box, self.empty.size_wh)
        if fault:
            self.skipped.append((place, fault))
            return
        if len(label) > MOST_LABEL:
            raise FolderError(f"{place}: a label of more than {MOST_LABEL} characters")
        if confidence is not None and not 0 <= confidence <= 1:
            raise FolderError(f"{place}: confidence {confidence}; it lies between 0 and 1")
        self.rows.append(_Row(corners, label, ignored, confidence, track))

    def image(self) -> BoxedImage:
        """Return the image with its boxes; confidences and tracks only if all of them have one."""
        confidences = [row.confidence for row in self.rows if row.confidence is not None]
        tracks = [row.track for row in self.rows if row.track is not None]
        n = len(self.rows)
        return replace(
            self.empty,
            boxes_xyxy=np.array([row.corners for row in self.rows], np.float64),
            labels=tuple(row.label for row in self.rows),
            ignored=np.array([row.ignored for row in self.rows], bool),
            confidences=np.array(confidences) if n and len(confidences) == n else None,
            tracks=np.array(tracks, np.int64) if n and len(tracks) == n else None,
        )


def as_annotations(path: str | os.PathLike[str], lists: Iterable[BoxList]) -> Annotations:
    """Return the images of a file or folder, none of which may be listed twice."""
    lists, seen = list(lists), set()
    for boxes in lists:
        key = boxes.empty.name, boxes.empty.frame
        if key in seen:
            raise FolderError(f"{os.fspath(path)}: the image {boxes.empty.name} is listed twice")
        seen.add(key)
    skipped = [one for boxes in lists for one in boxes.skipped]
    return Annotations([boxes.image() for boxes in lists], skipped)


def checked_box(
    place: str, box: Sequence[float], size_wh: tuple[int, int] | None = None
) -> tuple[str | None, list[float]]:
    """Return why a box is left out, or None, and its corners, cut to the image.

    Examples
    --------
    >>> checked_box("line 2", [-3, 0, 8, 9], (10, 10))
    (None, [0.0, 0.0, 8.0, 9.0])
    >>> checked_box("line 2", [5, 5, 5, 9])[0]
    'a box without area'
    """
    corners = [float(value) for value in box]
    shown = "[" + ", ".join(f"{value:g}" for value in corners) + "]"
    if not np.isfinite(corners).all() or max(map(abs, corners)) > FARTHEST:
        raise FolderError(f"{place}: {shown} is not a box; its numbers are no pixels")
    x0, y0, x1, y1 = corners
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


def checked_size(place: str, width: float | None, height: float | None) -> tuple[int, int] | None:
    """Return the size of an image; None where the annotations have none, or 0 for unknown."""
    if width is None or height is None or width == height == 0:
        return None
    whole = float(width).is_integer() and float(height).is_integer()
    if not whole or not (0 < width <= MOST_SIDE and 0 < height <= MOST_SIDE):
        raise FolderError(f"{place}: no image is {width:g} pixels wide and {height:g} high")
    return int(width), int(height)


def checked_name(place: str, name: str) -> str:
    """Return the file name of an image with forward slashes."""
    clean = name.strip().replace("\\", "/")
    if not clean or "\0" in clean or len(clean) > 4096:
        raise FolderError(f"{place}: {name[:60]!r} is not the name of an image")
    return clean
