"""The boxes of one image: what every format is read into and written from."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from visualwords.apps.annotations import checks
from visualwords.errors import FolderError

__all__ = ["Annotations", "BoxList", "BoxedImage"]

MOST_LABEL = 1000  # characters


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
        boxes = np.asarray(self.boxes_xyxy, np.float64).reshape(-1, 4).round(checks.DECIMALS)
        parts: dict[str, Any] = {
            "boxes_xyxy": boxes,
            "labels": tuple(self.labels) or ("",) * len(boxes),
        }
        parts["ignored"] = np.asarray(self.ignored if len(self.ignored) else [0] * len(boxes), bool)
        for name, kind in (("confidences", np.float64), ("tracks", np.int64)):
            if getattr(self, name) is not None:
                parts[name] = np.asarray(getattr(self, name), kind)
        if lengths := {len(part) for part in parts.values()} - {len(boxes)}:
            raise ValueError(f"{len(boxes)} boxes, but labels or numbers for {sorted(lengths)}")
        for name, part in parts.items():
            object.__setattr__(self, name, part)  # the class is frozen

    def __len__(self) -> int:
        return len(self.boxes_xyxy)

    def boxes_of(self, label: str) -> tuple[np.ndarray, np.ndarray]:
        """The boxes of a label that must be found, and those that may be, (n, 4) each."""
        wanted = np.array([name == label for name in self.labels], bool)
        return self.boxes_xyxy[wanted & ~self.ignored], self.boxes_xyxy[wanted & self.ignored]


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

    @classmethod
    def of(cls, path: str | os.PathLike[str], lists: Iterable["BoxList"]) -> "Annotations":
        """The images of a file or folder, none of which may be listed twice."""
        lists = list(lists)
        for name, n in Counter(one.empty.name for one in lists).most_common(1):
            if n > 1:
                raise FolderError(f"{os.fspath(path)}: the image {name} is listed twice")
        skipped = [fault for one in lists for fault in one.skipped]
        return cls([one.image() for one in lists], skipped)

    def counts(self) -> dict[str, int]:
        """The number of boxes of each label, the most frequent first."""
        return dict(Counter(label for one in self.images for label in one.labels).most_common())


@dataclass
class BoxList:
    """Collects the boxes of one image while a file is read, and checks each.

    Attributes
    ----------
    empty : BoxedImage
        The image without boxes.
    rows : list of tuple
        Corners, label and whether it is ignored, of each box.
    skipped : list of (place, reason)
    """

    empty: BoxedImage
    rows: list[tuple[list[float], str, bool]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def add(
        self, place: str, box: Sequence[float], label: str = "", *, ignored: bool = False
    ) -> None:
        """Add a box; one without an area, or outside the image, is skipped with the reason.

        Raises
        ------
        FolderError
            A box that is no box: not finite, or turned inside out. ``place`` begins the sentence.
        """
        fault, corners = checks.box(place, box, self.empty.size_wh)
        if len(label) > MOST_LABEL:
            raise FolderError(f"{place}: a label of more than {MOST_LABEL} characters")
        if fault:
            self.skipped.append((place, fault))
        else:
            self.rows.append((corners, label, ignored))

    def image(self) -> BoxedImage:
        """The image with its boxes."""
        if not self.rows:
            return self.empty
        boxes, labels, ignored = zip(*self.rows)
        corners = np.array(boxes)
        return replace(self.empty, boxes_xyxy=corners, labels=labels, ignored=np.array(ignored))
