"""Pascal VOC's XML: one file for each image."""

import os
from collections.abc import Iterable, Sequence
from typing import NoReturn
from xml.etree import ElementTree as Tree
from xml.etree.ElementTree import Element

from visualwords.apps.annotations import checks
from visualwords.apps.annotations.boxed_image import Annotations, BoxedImage, BoxList
from visualwords.errors import FolderError

__all__ = ["read_voc"]

CORNERS = ("xmin", "ymin", "xmax", "ymax")


def read_voc(paths: Sequence[str | os.PathLike[str]]) -> Annotations:
    """Read files with one ``annotation`` each.

    By the format's definition pixels count from 1 and both corners belong to the box: xmin = 1,
    xmax = width is the whole image. Objects with ``difficult`` are marked as ignored.
    """
    return Annotations.of("the XML files", [_read_one(os.fspath(path)) for path in paths])


class _Builder(Tree.TreeBuilder):
    """Builds elements; refuses document types.

    One may declare entities that expand to gigabytes or that name other files, and no format of
    annotations has one.
    """

    def doctype(self, *_: object) -> NoReturn:
        raise FolderError(
            "has a document type (<!DOCTYPE …>), which is refused as it may declare entities; "
            "remove it"
        )


def _root_of(path: str) -> Element:
    parser = Tree.XMLParser(target=_Builder())
    try:
        parser.feed(checks.content_of(path))
        root: Element = parser.close()
    except (Tree.ParseError, ValueError, LookupError) as problem:
        fault = str(problem) if isinstance(problem, FolderError) else f"not XML ({problem})"
        raise FolderError(f"{path}: {fault}") from None
    return root


def _read_one(path: str) -> BoxList:
    root = _root_of(path)
    if root.tag != "annotation":
        raise FolderError(f"{path}: <{root.tag[:40]}> where Pascal VOC has <annotation>")
    name = checks.name_of(path, root.findtext("filename") or checks.stem_of(path))
    size = root.find("size")
    sides = [] if size is None else _numbers(size, ("width", "height"), path)
    size_wh = checks.size(path, *sides) if sides else None
    boxes = BoxList(BoxedImage(name, size_wh=size_wh))
    for k, item in enumerate(root.iterfind("object")):
        place = f"{path}, object {k + 1}"
        label = (item.findtext("name") or "").strip()
        corners = item.find("bndbox")
        if not label or corners is None:
            raise FolderError(f"{place}: no <{'name' if not label else 'bndbox'}>")
        xmin, ymin, xmax, ymax = _numbers(corners, CORNERS, place)
        is_ignored = (item.findtext("difficult") or "0").strip() not in ("0", "")
        boxes.add(place, [xmin - 1, ymin - 1, xmax, ymax], label, ignored=is_ignored)
    return boxes


def _numbers(parent: Element, tags: Iterable[str], place: str) -> list[float]:
    for tag in tags:
        if parent.find(tag) is None:
            raise FolderError(f"{place}: no <{tag}>")
    return [checks.number_of(f"{place}, {tag}", parent.findtext(tag)) for tag in tags]
