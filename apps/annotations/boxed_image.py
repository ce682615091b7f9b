"""The boxes of one image: what every format is read into and written from."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

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
        set_field = object.__setattr__  # the class is frozen
        set_field(self, "boxes_xyxy", boxes)
        set_field(self, "labels", tuple(self.labels) or ("",) * len(boxes))
        ignored = np.asarray(self.ignored, bool)
        set_field(self, "ignored", ignored if len(ignored) else np.zeros(len(boxes), bool))
        for name, kind in (("confidences", np.float64), ("tracks", np.int64)):
            if getattr(self, name) is not None:
                set_field(self, name, np.asarray(getattr(self, name), kind))
        lengths = {len(self.labels), len(self.ignored)}
        lengths |= {len(part) for part in (self.confidences, self.tracks) if part is not None}
        if lengths != {len(boxes)}:
            raise ValueError(f"{len(boxes)} boxes, but labels or numbers for {sorted(lengths)}")

    def __len__(self) -> int:
        return len(self.boxes_xyxy)

    def part(self, chosen: np.ndarray) -> "BoxedImage":
        """Return the image with some of its boxes."""
        kept = np.flatnonzero(np.asarray(chosen))
        return replace(
            self,
            boxes_xyxy=self.boxes_xyxy[kept],
            labels=tuple(self.labels[k] for k in kept),
            ignored=self.ignored[kept],
            confidences=None if self.confidences is None else self.confidences[kept],
            tracks=None if self.tracks is None else self.tracks[kept],
        )


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


class BoxList:
    """Collects the boxes of one image while a file is read, and checks each.

    Parameters
    ----------
    name : str
        File name of the image.
    size_wh : (int, int) or None
    """

    def __init__(self, name: str, size_wh: tuple[int, int] | None = None):
        self.name = name
        self.size_wh = size_wh
        self.boxes: list[list[float]] = []
        self.labels: list[str] = []
        self.ignored: list[bool] = []
        self.confidences: list[float] = []
        self.tracks: list[int] = []
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
        fault, corners = checked_box(place, box, self.size_wh)
        if fault:
            self.skipped.append((place, fault))
            return
        if len(label) > MOST_LABEL:
            raise FolderError(f"{place}: a label of more than {MOST_LABEL} characters")
        if confidence is not None and not 0 <= confidence <= 1:
            raise FolderError(f"{place}: confidence {confidence}; it lies between 0 and 1")
        self.boxes.append(corners)
        self.labels.append(label)
        self.ignored.append(ignored)
        if confidence is not None:
            self.confidences.append(confidence)
        if track is not None:
            self.tracks.append(track)

    def image(self, frame: int | None = None, seconds: float | None = None) -> BoxedImage:
        """Return the image with its boxes; confidences only if all of them have one."""
        n = len(self.boxes)
        return BoxedImage(
            self.name,
            np.array(self.boxes, np.float64).reshape(-1, 4),
            tuple(self.labels),
            self.size_wh,
            np.array(self.confidences) if n and len(self.confidences) == n else None,
            np.array(self.ignored, bool),
            np.array(self.tracks, np.int64) if n and len(self.tracks) == n else None,
            frame,
            seconds,
        )


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
    if not np.isfinite(corners).all() or max(map(abs, corners)) > FARTHEST:
        raise FolderError(f"{place}: {_shown(corners)} is not a box; its numbers are no pixels")
    x0, y0, x1, y1 = corners
    if x0 > x1 or y0 > y1:
        raise FolderError(
            f"{place}: {_shown(corners)} is not a box with xmin < xmax and ymin < ymax"
        )
    if round(x1 - x0, DECIMALS) <= 0 or round(y1 - y0, DECIMALS) <= 0:
        return "a box without area", corners
    if size_wh is None:
        return None, corners
    width, height = size_wh
    if x0 >= width or y0 >= height or x1 <= 0 or y1 <= 0:
        return f"a box outside its image of {width}x{height}", corners
    return None, [max(x0, 0.0), max(y0, 0.0), min(x1, float(width)), min(y1, float(height))]


def checked_size(place: str, width: float, height: float) -> tuple[int, int] | None:
    """Return the size of an image; None where the annotations give 0 for unknown."""
    if width == height == 0:
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


def refuse_twins(path: str | os.PathLike[str], images: Sequence[BoxedImage]) -> None:
    """Raise ``FolderError`` if two entries have the name of the same image and frame."""
    seen = set()
    for image in images:
        key = image.name, image.frame
        if key in seen:
            raise FolderError(f"{os.fspath(path)}: the image {image.name} is listed twice")
        seen.add(key)


def _shown(corners: Sequence[float]) -> str:
    return "[" + ", ".join(f"{value:g}" for value in corners) + "]"
