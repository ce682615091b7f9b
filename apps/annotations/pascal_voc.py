"""Pascal VOC's XML: one file for each image."""

import os
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from visualwords.apps.annotations.boxed_image import (
    Annotations,
    BoxedImage,
    BoxList,
    checked_name,
    checked_size,
    refuse_twins,
)
from visualwords.apps.annotations.documents import number_of, read_xml, short, stem_of
from visualwords.errors import FolderError
from visualwords.files import write_atomically

__all__ = ["read_voc", "voc_image", "write_voc"]

CORNERS = ("xmin", "ymin", "xmax", "ymax")


def read_voc(paths: Iterable[str | os.PathLike[str]]) -> Annotations:
    """Read files with one ``annotation`` each.

    By the format's definition pixels count from 1 and both corners belong to the box: xmin = 1,
    xmax = width is the whole image. Objects with ``difficult`` are marked as ignored.
    """
    lists = [voc_image(read_xml(path), os.fspath(path)) for path in paths]
    images = [boxes.image() for boxes in lists]
    refuse_twins("the XML files", images)
    return Annotations(images, [one for boxes in lists for one in boxes.skipped])


def voc_image(root: Element, path: str) -> BoxList:
    """Return the boxes of one annotation; sentences about faults begin with ``path``."""
    if root.tag != "annotation":
        raise FolderError(f"{path}: <{root.tag[:40]}> where Pascal VOC has <annotation>")
    name = checked_name(path, root.findtext("filename") or stem_of(path))
    boxes = BoxList(name, _size(root, path))
    for k, item in enumerate(root.iterfind("object")):
        place = f"{path}, object {k + 1}"
        label = (item.findtext("name") or "").strip()
        if not label:
            raise FolderError(f"{place}: no <name>")
        corners = item.find("bndbox")
        if corners is None:
            raise FolderError(f"{place}: no <bndbox>")
        xmin, ymin, xmax, ymax = (_number(corners, corner, place) for corner in CORNERS)
        confidence = item.findtext("confidence")
        boxes.add(
            place,
            [xmin - 1, ymin - 1, xmax, ymax],
            label,
            ignored=(item.findtext("difficult") or "0").strip() not in ("0", ""),
            confidence=None if confidence is None else number_of(place, confidence),
        )
    return boxes


def _size(root: Element, path: str) -> tuple[int, int] | None:
    size = root.find("size")
    if size is None:
        return None
    return checked_size(path, *(_number(size, side, path) for side in ("width", "height")))


def _number(parent: Element, tag: str, place: str) -> float:
    text = parent.findtext(tag)
    if text is None:
        raise FolderError(f"{place}: no <{tag}>")
    return number_of(f"{place}, {tag}", text)


def write_voc(folder: str | os.PathLike[str], images: Iterable[BoxedImage]) -> None:
    """Write one XML file for each image into a folder, named after the image."""
    os.makedirs(folder, exist_ok=True)
    written: set[str] = set()
    for image in images:
        name = f"{stem_of(image.name)}.xml"
        if name in written:
            raise FolderError(f"{name}: two images would have this file; give them other names")
        written.add(name)
        root = _document(image)
        indent(root)
        write_atomically(os.path.join(folder, name), tostring(root, "utf-8"), durable=False)


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
