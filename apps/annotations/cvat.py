"""CVAT's own XML exports, of images and of videos (versions 1.1)."""

import os
from xml.etree.ElementTree import Element

from visualwords.apps.annotations.boxed_image import (
    Annotations,
    BoxList,
    checked_name,
    checked_size,
    refuse_twins,
)
from visualwords.apps.annotations.documents import number_of, read_xml
from visualwords.errors import FolderError

__all__ = ["cvat_images", "read_cvat"]

CORNERS = ("xtl", "ytl", "xbr", "ybr")
MOST_FRAMES = 10**7


def read_cvat(path: str | os.PathLike[str]) -> Annotations:
    """Read an export "for images" or "for video".

    Frames of a video are named as CVAT writes them, ``frame_000000``; boxes of a track have its
    number plus 1. Boxes are read; polygons, points and masks are listed as skipped.
    """
    return cvat_images(read_xml(path), os.fspath(path))


def cvat_images(root: Element, path: str) -> Annotations:
    """Return the annotations of a document; sentences about faults begin with ``path``."""
    if root.tag != "annotations":
        raise FolderError(f"{path}: <{root.tag[:40]}> where CVAT has <annotations>")
    skipped: list[tuple[str, str]] = []
    lists = [_image(item, path, k, skipped) for k, item in enumerate(root.iterfind("image"))]
    images = [boxes.image() for boxes in lists]
    frames = _frames(root, path, skipped)
    images += [boxes.image(number) for number, boxes in sorted(frames.items())]
    refuse_twins(path, images)
    skipped += [one for boxes in (*lists, *frames.values()) for one in boxes.skipped]
    return Annotations(images, skipped)


def _image(item: Element, path: str, k: int, skipped: list[tuple[str, str]]) -> BoxList:
    place = f"{path}, image {k + 1}"
    name = checked_name(place, _attribute(item, "name", place))
    sides = (number_of(place, _attribute(item, side, place)) for side in ("width", "height"))
    boxes = BoxList(name, checked_size(place, *sides))
    for number, shape in enumerate(item):
        where = f"{place}, {shape.tag[:20]} {number + 1}"
        if shape.tag == "box":
            boxes.add(where, _corners(shape, where), _attribute(shape, "label", where))
        elif "label" in shape.attrib:
            skipped.append((where, f"a {shape.tag[:20]}, not a box"))
    return boxes


def _frames(root: Element, path: str, skipped: list[tuple[str, str]]) -> dict[int, BoxList]:
    """Return the boxes of a video's tracks, by frame."""
    size = _video_size(root, path)
    frames: dict[int, BoxList] = {}
    for k, track in enumerate(root.iterfind("track")):
        place = f"{path}, track {k + 1}"
        label = _attribute(track, "label", place)
        for number, shape in enumerate(track):
            where = f"{place}, {shape.tag[:20]} {number + 1}"
            if shape.tag != "box":
                skipped.append((where, f"a {shape.tag[:20]}, not a box"))
                continue
            if shape.get("outside") == "1":
                continue
            frame = number_of(where, _attribute(shape, "frame", where))
            if not (frame.is_integer() and 0 <= frame <= MOST_FRAMES):
                raise FolderError(f"{where}: {frame:g} is not the number of a frame")
            boxes = frames.setdefault(int(frame), BoxList(f"frame_{int(frame):06}", size))
            boxes.add(where, _corners(shape, where), label, track=k + 1)
    return frames


def _video_size(root: Element, path: str) -> tuple[int, int] | None:
    size = next(root.iter("original_size"), None)
    if size is None:
        return None
    sides = (number_of(f"{path}, {side}", size.findtext(side)) for side in ("width", "height"))
    return checked_size(path, *sides)


def _corners(shape: Element, place: str) -> list[float]:
    if number_of(place, shape.get("rotation", "0")):
        raise FolderError(f"{place}: a rotated box; export upright boxes")
    return [number_of(f"{place}, {name}", _attribute(shape, name, place)) for name in CORNERS]


def _attribute(item: Element, name: str, place: str) -> str:
    if name not in item.attrib:
        raise FolderError(f"{place}: no {name}")
    return item.attrib[name]
