"""Files of detections that `run` writes beside what it prints: COCO and YOLO."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace

from visualwords.apps.annotations.boxed_image import BoxedImage
from visualwords.apps.annotations.coco import write_coco
from visualwords.apps.annotations.documents import stem_of
from visualwords.apps.annotations.yolo import YoloFolder
from visualwords.errors import FolderError

__all__ = ["ResultFiles"]


class ResultFiles:
    """Collects the results of a run; label files of YOLO are written at once, others at the end.

    Frames get names of their own, ``walk-000012.png`` for frame 12 of walk.mp4.

    Parameters
    ----------
    label : str
    coco, yolo : str or None
        Where to write; None: not at all.
    """

    def __init__(
        self,
        label: str,
        *,
        coco: str | None = None,
        yolo: str | None = None,
    ):
        self.label = label
        self.coco = coco
        self.folder = None if yolo is None else YoloFolder(yolo, [label])
        self.images: list[BoxedImage] = []
        self.is_empty = True

    def check_names(self, paths: Sequence[str]) -> None:
        """Refuse images, before they are searched, that would have the same label file."""
        if self.folder is None:
            return
        seen: dict[str, str] = {}
        for path in paths:
            other = seen.setdefault(stem_of(path), path)
            if other != path:
                raise FolderError(
                    f"{other} and {path} would have the same label file in {self.folder.folder}; "
                    "search their folders one by one"
                )

    def add(self, image: BoxedImage) -> None:
        """Add the detections of an image or frame."""
        self.is_empty = False
        if image.frame is not None:
            stem = re.sub(r"[^\w.-]+", "-", stem_of(image.name))
            image = replace(image, name=f"{stem}-{image.frame:06}.png")
        if self.folder is not None:
            self.folder.add(image)
        if self.coco is not None:
            self.images.append(image)

    def close(self) -> None:
        """Write what is written at the end; nothing if nothing was searched."""
        if self.is_empty:
            return
        if self.folder is not None:
            self.folder.close()
        if self.coco is not None:
            named = [replace(one, name=one.name.replace(os.sep, "/")) for one in self.images]
            write_coco(self.coco, named, [self.label])
