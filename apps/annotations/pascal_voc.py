"""Pascal VOC's XML: one file for each image."""

import os
from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from visualwords.apps.annotations.boxed_image import (
    Annotations,
    BoxedImage,
    BoxList,
    as_annotations,
    checked_name,
    checked_size,
)
from visualwords.apps.annotations.documents import free_name, number_of, read_xml, short, stem_of
from visualwords.errors import FolderError
from visualwords.files import write_atomically

__all__ = ["read_voc", "write_voc"]

CORNERS = ("xmin", "ymin", "xmax", "ymax")


def read_voc(paths: Sequence[str | os.PathLike[str]]) -> Annotations:
    """Read files with one ``annotation`` each.

    By the format's definition pixels count from 1 and both corners belong to the box: xmin = 1,
    xmax = width is the whole image. Objects with ``difficult`` are marked as ignored.
    """
    return as_annotations("the XML files", [_read_one(os.fspath(path)) for path in paths])


def _read_one(path: str) -> BoxList:
    root = read_xml(path)
    if root.tag != "annotation":
        raise FolderError(f"{path}: <{root.tag[:40]}> where Pascal VOC has <annotation>")
    name = checked_name(path, root.findtext("filename") or stem_of(path))
    size = root.find("size")
    sides = [] if size is None else _numbers(size, ("width", "height"), path)
    boxes = BoxList(name, checked_size(path, *sides) if sides else None)
    for k, item in enumerate(root.iterfind("object")):
        place = f"{path}, object {k + 1}"
        label = (item.findtext("name") or "").strip()
        corners = item.find("bndbox")
        if not label or corners is None:
            raise FolderError(f"{place}: no <{'name' if not label else 'bndbox'}>")
        xmin, ymin, xmax, ymax = _numbers(corners, CORNERS, place)
        confidence = item.findtext("confidence")
        boxes.add(
            place,
            [xmin - 1, ymin - 1, xmax, ymax],
            label,
            ignored=(item.findtext("difficult") or "0").strip() not in ("0", ""),
            confidence=None if confidence is None else number_of(place, confidence),
        )
    return boxes


def _numbers(parent: Element, tags: Iterable[str], place: str) -> list[float]:
    texts = {tag: parent.findtext(tag) for tag in tags}
    for tag, text in texts.items():
        if text is None:
            raise FolderError(f"{place}: no <{tag}>")
    return [number_of(f"{place}, {tag}", text) for tag, text in texts.items()]


def write_voc(folder: str | os.PathLike[str], images: Iterable[BoxedImage]) -> None:
    """Write one XML file for each image into a folder, named after the image."""
    os.makedirs(folder, exist_ok=True)
    written: set[str] = set()
    for image in images:
        path = os.path.join(folder, free_name(image.name, ".xml", written))
        root = _document(image)
        indent(root)
        write_atomically(path, tostring(root, "utf-8"), durable=False)


def _document(image: BoxedImage) -> Element:
    root = Element("annotation")
    SubElement(root, "filename").text = image.name
    if image.size_wh:
        size = SubElement(root, "size")
        for tag, value in zip(("width", "height", "depth"), (*image.size_wh, 3)):
            SubElement(size, tag).text = str(value)
    for k, (x0, y0, x1, y1) in enumerate(image.boxes_xyxy.tolist()):
        item = SubElement(root, "object")
        SubElement(item, "name").text = image.labels[k]
        SubElement(item, "difficult").text = str(int(image.ignored[k]))
        if image.confidences is not None:
            SubElement(item, "confidence").text = repr(float(image.confidences[k]))
        corners = SubElement(item, "bndbox")
        for tag, value in zip(CORNERS, (round(x0 + 1, 6), round(y0 + 1, 6), x1, y1)):
            SubElement(corners, tag).text = short(value)
    return root
