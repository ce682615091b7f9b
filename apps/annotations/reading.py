"""Reading annotations of any format, recognised by name and content; and finding their images.

Pascal VOC's XML, one file for each image, is read here.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn
from xml.etree import ElementTree as Tree
from xml.etree.ElementTree import Element

from visualwords.apps.annotations import checks
from visualwords.apps.annotations.box_table import read_box_table
from visualwords.apps.annotations.boxed_image import Annotations, BoxedImage, BoxList
from visualwords.apps.annotations.coco import read_coco
from visualwords.apps.annotations.yolo import read_yolo
from visualwords.errors import FolderError, ImageError
from visualwords.folders import list_files
from visualwords.images import image_size

__all__ = ["Photographs", "chosen_label", "find_photographs", "read_annotations", "read_voc"]

FORMATS = "COCO (.json), Pascal VOC (.xml), a table (.csv), or a folder of Pascal VOC or YOLO files"
CORNERS = ("xmin", "ymin", "xmax", "ymax")


def read_annotations(
    path: str | os.PathLike[str], images: str | os.PathLike[str] | None = None
) -> Annotations:
    """Read boxes in any of the known formats.

    Parameters
    ----------
    path : path-like
        COCO (``.json``), Pascal VOC (``.xml``), a table (``.csv``, ``.tsv``), YOLO (``data.yaml``,
        or the folder), or a folder of Pascal VOC files.
    images : path-like, optional
        Folder of the images; YOLO's boxes need their sizes.

    Raises
    ------
    FolderError
        One sentence with the file, the place in it and what was expected.
    """
    name = os.fspath(path)
    if os.path.isdir(name):
        return _read_folder(name, images)
    match os.path.splitext(name)[1].lower():
        case ".json":
            return read_coco(name)
        case ".xml":
            return read_voc([name])
        case ".csv" | ".tsv":
            return read_box_table(name)
        case ".yaml" | ".yml":
            return read_yolo(os.path.dirname(os.path.abspath(name)), images)
    fault = f"not a known kind of annotations; give {FORMATS}"
    raise FolderError(f"{name}: {fault if os.path.exists(name) else 'no such file or directory'}")


def _read_folder(name: str, images: str | os.PathLike[str] | None) -> Annotations:
    """Read a folder by what it holds: XML files, one JSON, or else text files."""
    for place in (name, os.path.join(name, "Annotations"), os.path.join(name, "annotations")):
        files = sorted(os.listdir(place)) if os.path.isdir(place) else []
        xml = [os.path.join(place, file) for file in files if file.lower().endswith(".xml")]
        if xml:
            return read_voc(xml)
        coco = [file for file in files if file.lower().endswith(".coco.json")]
        if len(coco) == 1:
            return read_coco(os.path.join(place, coco[0]))
    try:
        return read_yolo(name, images)
    except FolderError as problem:
        if "no label files" not in str(problem):
            raise
    raise FolderError(f"{name}: no annotations in this folder; give {FORMATS}")


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


@dataclass(frozen=True)
class Photographs:
    """Annotated images that are in a folder.

    Attributes
    ----------
    images : list of BoxedImage
        Their ``name`` is the path of the file; all have their size.
    missing : list of (name, reason)
        Annotated images that are not there, can't be read, or have another size.
    others : list of str
        Images of the folder that no annotation names.
    """

    images: list[BoxedImage]
    missing: list[tuple[str, str]]
    others: list[str]


def find_photographs(annotations: Annotations, folder: str | os.PathLike[str]) -> Photographs:
    """Find the annotated images in a folder: by relative path, by file name, or by name alone.

    Raises
    ------
    FolderError
        None of them is there, or a name stands for several files.
    """
    paths, _ = list_files(folder)
    names: dict[str, list[str]] = {}  # as they are, of the file alone, and without its suffix
    for path in paths:
        relative = os.path.relpath(path, folder).replace(os.sep, "/")
        for name in {f"./{relative}", os.path.basename(path), f"{checks.stem_of(path)}.*"}:
            names.setdefault(name, []).append(path)
    images: dict[str, BoxedImage] = {}
    missing: list[tuple[str, str]] = []
    for image in annotations.images:
        place = _by_name(image.name, names)
        if place is None:
            missing.append((image.name, "annotated, but missing"))
            continue
        try:
            size = image_size(place)
        except ImageError as problem:
            missing.append((place, str(problem)))
            continue
        if image.size_wh not in (None, size):
            sizes = "{}x{} pixels, but annotated as {}x{}".format(*size, *(image.size_wh or ()))
            missing.append((place, sizes))
        elif place in images:
            raise FolderError(f"{place}: two annotated images are found in this one file")
        else:
            images[place] = replace(image, name=place, size_wh=size)
    if not images and missing:
        named = _some([image.name for image in annotations.images])
        raise FolderError(f"the annotations name none of the images in {folder}, but {named}")
    others = [path for path in paths if path not in images]
    return Photographs(list(images.values()), missing, others)


def _by_name(name: str, names: dict[str, list[str]]) -> str | None:
    """The file of a path, else of its name in any folder, else with another suffix."""
    keys = f"./{name}", os.path.basename(name), f"{checks.stem_of(name)}.*"
    same = next((names[key] for key in keys if key in names), [])
    if len(same) > 1:
        found = f"{len(same)} files have this name, {_some(same)}"
        raise FolderError(f"{name}: {found}; annotations must then hold their paths")
    return same[0] if same else None


def chosen_label(annotations: Annotations, label: str | None, default: str | None = None) -> str:
    """The label to take: the given one, the default if it occurs, or the only one.

    Where boxes have no labels it is the empty one.

    Raises
    ------
    FolderError
        The label does not occur, or there are several and none was given.
    """
    counts = annotations.counts()
    listed = _some([f"{name!r} ({n})" for name, n in counts.items()])
    if not counts:
        raise FolderError("no box in any annotated image")
    if set(counts) == {""}:  # a format, or a table, without labels
        return ""
    if label is not None and label not in counts:
        raise FolderError(f"no box is labelled {label!r}, but {listed}")
    label = label if label is not None else default
    if label in counts:
        return label
    if len(counts) > 1:
        raise FolderError(f"boxes are labelled {listed}; choose one with --label")
    return next(iter(counts))


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
