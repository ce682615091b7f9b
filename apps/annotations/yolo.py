"""YOLO's text files: one for each image, a line for each box, in shares of the image."""

import os
from collections.abc import Iterable, Sequence

from visualwords.apps.annotations.boxed_image import Annotations, BoxedImage, BoxList
from visualwords.apps.annotations.documents import number_of, stem_of, text_of
from visualwords.apps.annotations.yolo_names import find_names, yaml_of_names
from visualwords.errors import FolderError, ImageError
from visualwords.files import write_atomically
from visualwords.folders import list_files
from visualwords.images import image_size

__all__ = ["YoloFolder", "read_yolo"]

MOST_LINES = 1 << 24  # bytes of the boxes of one image
BEYOND = 1e-3  # share of the image by which rounded boxes may exceed it


def read_yolo(
    folder: str | os.PathLike[str], images: str | os.PathLike[str] | None = None
) -> Annotations:
    """Read a folder of images and label files: those of ``a/images/x.jpg`` in ``a/labels/x.txt``.

    A label file may also stand beside its image. Lines have a class and x, y (of the middle),
    width and height as shares of the image's, and perhaps a confidence; or the corners of a
    polygon, whose box is taken. Class names are those of ``data.yaml``, ``classes.txt`` or
    ``obj.names``, else the classes' numbers. An image without a label file has no boxes.

    Parameters
    ----------
    folder : path-like
    images : path-like, optional
        Folder of the images: a part of the data set, or another folder, where they are matched with
        label files by their names alone.
    """
    root = os.path.abspath(folder)
    base = root if images is None else os.path.abspath(images)
    names, files = find_names(root), _label_files(root)
    paths, unreadable = list_files(base)
    if not paths:
        raise FolderError(f"{base}: no images; YOLO's boxes are shares of an image's size")
    is_elsewhere = not os.path.join(base, "").startswith(os.path.join(root, ""))
    by_stem = _by_stem(files) if is_elsewhere else {}
    found, skipped, used = [], list(unreadable), set()
    for path in paths:
        try:
            size = image_size(path)
        except ImageError as problem:
            skipped.append((path, str(problem)))
            continue
        boxes = BoxList(os.path.relpath(path, base).replace(os.sep, "/"), size)
        label_file = by_stem.get(stem_of(path)) if is_elsewhere else _beside(path, files)
        if label_file is not None:
            used.add(label_file)
            _read_lines(label_file, boxes, names)
        found.append(boxes.image())
        skipped += boxes.skipped
    if not used:
        raise FolderError(f"{root}: no label file has the name of an image")
    if is_elsewhere or base == root:  # else they belong to other parts of the data set
        skipped += [(file, "the image of this label file is missing") for file in files - used]
    return Annotations(found, sorted(skipped))


def _label_files(root: str) -> set[str]:
    """Return the text files below a folder that may hold boxes."""
    found = set()
    for folder, _, files in os.walk(root):
        for name in files:
            is_other = name in NOT_LABELS and os.path.basename(folder) != "labels"
            if name.endswith(".txt") and not is_other and not name.startswith("."):
                found.add(os.path.join(folder, name))
    if not found:
        raise FolderError(f"{root}: no label files (.txt)")
    return found


NOT_LABELS = {
    *("classes.txt", "labels.txt", "names.txt", "train.txt", "val.txt", "valid.txt", "test.txt"),
    *("README.txt", "README.dataset.txt", "README.roboflow.txt", "requirements.txt", "LICENSE.txt"),
}


def _by_stem(files: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(files):
        stem = stem_of(path)
        if stem in found:
            raise FolderError(f"{path} and {found[stem]}: two label files for images named {stem}")
        found[stem] = path
    return found


def _beside(path: str, files: set[str]) -> str | None:
    """Return the label file of an image: in the folder labels beside images, or next to it."""
    parts = path.split(os.sep)
    places = [os.path.splitext(path)[0] + ".txt"]
    for k in range(len(parts) - 2, -1, -1):
        if parts[k] == "images":
            there = os.sep.join([*parts[:k], "labels", *parts[k + 1 :]])
            places.insert(0, os.path.splitext(there)[0] + ".txt")
            break
    return next((place for place in places if place in files), None)


def _read_lines(path: str, boxes: BoxList, names: Sequence[str] | None) -> None:
    width, height = boxes.size_wh or (1, 1)
    for number, line in enumerate(text_of(path, MOST_LINES).splitlines(), start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        first, *rest = line.split()
        values = [number_of(place, word) for word in rest]
        x0, y0, x1, y1 = _corners(place, values)
        corners = [x0 * width, y0 * height, x1 * width, y1 * height]
        confidence = values[4] if len(values) == 5 else None
        boxes.add(place, corners, _label(place, first, names), confidence=confidence)


def _corners(place: str, values: Sequence[float]) -> list[float]:
    """Return x0, y0, x1, y1 in shares of the image."""
    if len(values) in (4, 5):
        x, y, width, height = values[:4]
        if width < 0 or height < 0:
            raise FolderError(f"{place}: a box of negative size, {width:g} by {height:g}")
        corners = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
    elif len(values) >= 6 and len(values) % 2 == 0:
        xs, ys = values[::2], values[1::2]
        corners = [min(xs), min(ys), max(xs), max(ys)]
    else:
        raise FolderError(
            f"{place}: {len(values)} numbers after the class; a box has 4, with a confidence 5"
        )
    if min(corners) < -BEYOND or max(corners) > 1 + BEYOND:
        raise FolderError(f"{place}: a box beyond the image; YOLO's numbers are shares from 0 to 1")
    return corners


def _label(place: str, word: str, names: Sequence[str] | None) -> str:
    if not (word.isascii() and word.isdecimal() and len(word) < 10):
        raise FolderError(f"{place}: {word[:40]!r} where the number of a class belongs")
    if names is None:
        return str(int(word))
    if int(word) >= len(names):
        raise FolderError(f"{place}: class {word}, but only {len(names)} classes have names")
    return names[int(word)]


class YoloFolder:
    """Writes label files, ``labels/NAME.txt``, one by one, and the names of classes at the end.

    Parameters
    ----------
    folder : path-like
    labels : sequence of str
        Classes in their order; others are appended.
    """

    def __init__(self, folder: str | os.PathLike[str], labels: Sequence[str] = ()):
        self.folder = os.fspath(folder)
        self.numbers = {name: number for number, name in enumerate(labels)}
        self.written: set[str] = set()
        os.makedirs(os.path.join(self.folder, "labels"), exist_ok=True)

    def add(self, image: BoxedImage) -> None:
        """Write the boxes of one image; an empty file if it has none."""
        if image.size_wh is None:
            raise FolderError(f"{image.name}: its size is needed, as YOLO's boxes are shares of it")
        name = f"{stem_of(image.name)}.txt"
        if name in self.written:
            raise FolderError(
                f"{name}: two images would have this label file; give them other names"
            )
        self.written.add(name)
        lines = [self._line(image, k) + "\n" for k in range(len(image))]
        path = os.path.join(self.folder, "labels", name)
        write_atomically(path, "".join(lines).encode(), durable=False)

    def close(self) -> None:
        """Write ``classes.txt`` and ``data.yaml``."""
        names = "".join(f"{name}\n" for name in self.numbers)
        write_atomically(os.path.join(self.folder, "classes.txt"), names.encode())
        content = yaml_of_names(list(self.numbers))
        write_atomically(os.path.join(self.folder, "data.yaml"), content.encode())

    def _line(self, image: BoxedImage, k: int) -> str:
        width, height = image.size_wh or (1, 1)
        x0, y0, x1, y1 = image.boxes_xyxy[k].tolist()
        shares = (x0 + x1) / 2 / width, (y0 + y1) / 2 / height, (x1 - x0) / width
        values = [f"{share:.12g}" for share in (*shares, (y1 - y0) / height)]
        if image.confidences is not None:
            values.append(repr(float(image.confidences[k])))
        number = self.numbers.setdefault(image.labels[k], len(self.numbers))
        return " ".join([str(number), *values])
