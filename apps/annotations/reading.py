"""Reading annotations of any format, recognised by name and content; and finding their images."""

import os
import re
from dataclasses import dataclass, replace

from visualwords.apps.annotations.box_table import read_box_table
from visualwords.apps.annotations.boxed_image import Annotations, BoxedImage
from visualwords.apps.annotations.coco import coco_images, is_coco
from visualwords.apps.annotations.cvat import cvat_images
from visualwords.apps.annotations.documents import read_json, read_xml, stem_of
from visualwords.apps.annotations.label_studio import is_label_studio, label_studio_images
from visualwords.apps.annotations.pascal_voc import read_voc, voc_image
from visualwords.apps.annotations.yolo import read_yolo
from visualwords.errors import FolderError, ImageError
from visualwords.folders import list_files
from visualwords.images import image_size

__all__ = ["Photographs", "chosen_label", "find_photographs", "read_annotations"]

FORMATS = (
    "COCO or Label Studio (.json), Pascal VOC or CVAT (.xml), a table (.csv), or a folder of "
    "Pascal VOC or YOLO files"
)
UPLOADED = re.compile(r"[0-9a-f]{8}-")  # what Label Studio puts before the names of uploads


def read_annotations(
    path: str | os.PathLike[str], images: str | os.PathLike[str] | None = None
) -> Annotations:
    """Read boxes in any of the known formats.

    Parameters
    ----------
    path : path-like
        COCO or Label Studio (``.json``), Pascal VOC or CVAT (``.xml``), a table (``.csv``,
        ``.tsv``), YOLO (``data.yaml``, or the folder), or a folder of Pascal VOC files.
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
    ending = os.path.splitext(name)[1].lower()
    if ending == ".json":
        return _read_json(name)
    if ending == ".xml":
        return _read_xml(name)
    if ending in (".csv", ".tsv"):
        return read_box_table(name)
    if ending in (".yaml", ".yml"):
        return read_yolo(os.path.dirname(os.path.abspath(name)), images)
    if not os.path.exists(name):
        raise FolderError(f"{name}: no such file or directory")
    raise FolderError(f"{name}: not a known kind of annotations; give {FORMATS}")


def _read_json(name: str) -> Annotations:
    document = read_json(name)
    if is_coco(document):
        return coco_images(document, name)
    if is_label_studio(document):
        return label_studio_images(document, name)
    raise FolderError(
        f"{name}: neither COCO (an object with images, annotations and categories) nor Label "
        "Studio's JSON (a list of tasks)"
    )


def _read_xml(name: str) -> Annotations:
    root = read_xml(name)
    if root.tag == "annotations":
        return cvat_images(root, name)
    boxes = voc_image(root, name)
    return Annotations([boxes.image()], boxes.skipped)


def _read_folder(name: str, images: str | os.PathLike[str] | None) -> Annotations:
    """Read a folder by what it holds: one JSON, XML files, or else text files."""
    for place in (name, os.path.join(name, "Annotations"), os.path.join(name, "annotations")):
        files = sorted(os.listdir(place)) if os.path.isdir(place) else []
        xml = [os.path.join(place, file) for file in files if file.lower().endswith(".xml")]
        if len(xml) == 1:
            return _read_xml(xml[0])
        if xml:
            return read_voc(xml)
        coco = [file for file in files if file.lower().endswith(".coco.json")]
        if len(coco) == 1:
            return _read_json(os.path.join(place, coco[0]))
    try:
        return read_yolo(name, images)
    except FolderError as problem:
        if "no label files" not in str(problem):
            raise
    raise FolderError(f"{name}: no annotations in this folder; give {FORMATS}")


@dataclass(frozen=True)
class Photographs:
    """Annotated images that were found.

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
    places = _Places(paths, os.fspath(folder))
    found: list[BoxedImage] = []
    missing: list[tuple[str, str]] = []
    for image in annotations.images:
        path = places.of(image.name)
        if path is None:
            missing.append((image.name, "annotated, but missing"))
            continue
        try:
            size = image_size(path)
        except ImageError as problem:
            missing.append((path, str(problem)))
            continue
        if image.size_wh not in (None, size):
            sizes = "{}x{} pixels, but annotated as {}x{}".format(*size, *(image.size_wh or ()))
            missing.append((path, sizes))
        else:
            found.append(replace(image, name=path, size_wh=size))
    if not found and missing:
        raise FolderError(
            f"the annotations name none of the images in {os.fspath(folder)}, but "
            f"{_some([image.name for image in annotations.images])}"
        )
    used = [image.name for image in found]
    if len(set(used)) < len(used):
        twin = next(name for name in used if used.count(name) > 1)
        raise FolderError(f"{twin}: two annotated images are found in this one file")
    return Photographs(found, missing, [path for path in paths if path not in set(used)])


class _Places:
    """Files of a folder by several names."""

    def __init__(self, paths: list[str], folder: str):
        self.relative = {os.path.relpath(p, folder).replace(os.sep, "/"): p for p in paths}
        self.by_file: dict[str, list[str]] = {}
        self.by_stem: dict[str, list[str]] = {}
        for path in paths:
            self.by_file.setdefault(os.path.basename(path), []).append(path)
            self.by_stem.setdefault(stem_of(path), []).append(path)

    def of(self, name: str) -> str | None:
        if name in self.relative:
            return self.relative[name]
        file = name.rpartition("/")[2]
        shorter = UPLOADED.sub("", file, count=1) if UPLOADED.match(file) else file
        for names, key in (
            (self.by_file, file),
            (self.by_file, shorter),
            (self.by_stem, stem_of(file)),
            (self.by_stem, stem_of(shorter)),
        ):
            found = names.get(key, [])
            if len(found) > 1:
                raise FolderError(
                    f"{name}: {len(found)} files have this name, {_some(found)}; annotations must "
                    "then hold their paths"
                )
            if found:
                return found[0]
        return None


def chosen_label(annotations: Annotations, label: str | None, default: str | None = None) -> str:
    """Return which label to take: the given one, the default if it occurs, or the only one.

    Where boxes have no labels it is the empty one.

    Raises
    ------
    FolderError
        The label does not occur, or there are several and none was given.
    """
    counts = annotations.counts()
    if not counts:
        raise FolderError("no box in any annotated image")
    if set(counts) == {""}:  # a format, or a table, without labels
        return ""
    if label is not None:
        if label not in counts:
            raise FolderError(f"no box is labelled {label!r}, but {_listed(counts)}")
        return label
    if default is not None and default in counts:
        return default
    if len(counts) > 1:
        raise FolderError(f"boxes are labelled {_listed(counts)}; choose one with --label")
    return next(iter(counts))


def _listed(counts: dict[str, int]) -> str:
    return _some([f"{name!r} ({n})" for name, n in counts.items()])


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
