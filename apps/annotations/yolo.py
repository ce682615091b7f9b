"""YOLO's text files: one for each image, a line for each box, in shares of the image."""

import json
import os
import re
from collections.abc import Sequence

from visualwords.apps.annotations import checks
from visualwords.apps.annotations.boxed_image import Annotations, BoxedImage, BoxList
from visualwords.errors import FolderError, ImageError
from visualwords.files import write_atomically
from visualwords.folders import list_files
from visualwords.images import image_size

__all__ = ["YoloFolder", "names_in_yaml", "read_yolo"]

MOST_LINES = 1 << 24  # bytes of the boxes of one image
BEYOND = 1e-3  # share of the image by which rounded boxes may exceed it
LISTS = ("classes.txt", "obj.names", "names.txt", "labels.txt")  # of names, one a line
TABLES = ("data.yaml", "data.yml", "dataset.yaml")
NOT_LABELS = {
    *("classes.txt", "labels.txt", "names.txt", "train.txt", "val.txt", "valid.txt", "test.txt"),
    *("README.txt", "README.dataset.txt", "README.roboflow.txt", "requirements.txt", "LICENSE.txt"),
}
MOST_BYTES = 1 << 20  # of names
MOST_CLASSES = 100_000
QUOTED = r"""\"(?:[^"\\]|\\.)*\"|'(?:[^']|'')*'"""
IN_BRACKETS = re.compile(rf"\s*(?:(\d{{1,6}})\s*:\s*)?({QUOTED}|[^,\"'\[\]{{}}]+?)\s*(?:,\s*|$)")
ON_A_LINE = re.compile(rf"\s*(?:-\s+|(\d{{1,6}})\s*:\s*)({QUOTED}|[^\n]*?)\s*(?:\n|$)")
NAMES = re.compile(r"^names:(.*(?:\n(?:[ \t\-\]}].*)?)*)", re.MULTILINE)


def read_yolo(
    folder: str | os.PathLike[str], images: str | os.PathLike[str] | None = None
) -> Annotations:
    """Read a folder of images and label files: those of ``a/images/x.jpg`` in ``a/labels/x.txt``.

    A label file may also stand beside its image. Lines have a class and x, y (of the middle),
    width and height as shares of the image's, and perhaps a confidence, which is not read; or the
    corners of a polygon, whose box is taken. Class names are those of ``data.yaml``,
    ``classes.txt`` or ``obj.names``, else the classes' numbers. An image without a label file has
    no boxes.

    Parameters
    ----------
    folder : path-like
    images : path-like, optional
        Folder of the images: a part of the data set, or another folder, where they are matched with
        label files by their names alone.
    """
    root = os.path.abspath(folder)
    base = root if images is None else os.path.abspath(images)
    names, files = _class_names(root), _label_files(root)
    paths, unreadable = list_files(base)
    if not paths:
        raise FolderError(f"{base}: no images; YOLO's boxes are shares of an image's size")
    is_elsewhere = not os.path.join(base, "").startswith(os.path.join(root, ""))
    by_key: dict[str, str] = {}
    for path in sorted(files):
        other = by_key.setdefault(_key(path, root, is_elsewhere), path)
        if other != path:
            raise FolderError(f"{path} and {other}: two label files for images of one name")
    boxed, skipped, used = [], list(unreadable), set()
    for path in paths:
        try:
            name = os.path.relpath(path, base).replace(os.sep, "/")
            boxes = BoxList(BoxedImage(name, size_wh=image_size(path)))
        except ImageError as problem:
            skipped.append((path, str(problem)))
            continue
        label_file = by_key.get(_key(path, root, is_elsewhere))
        if label_file is not None:
            used.add(label_file)
            _read_lines(label_file, boxes, names)
        boxed.append(boxes.image())
        skipped += boxes.skipped
    if not used:
        raise FolderError(f"{root}: no label file has the name of an image")
    if is_elsewhere or base == root:  # else they belong to other parts of the data set
        skipped += [(file, "the image of this label file is missing") for file in files - used]
    return Annotations(boxed, sorted(skipped))


def _label_files(root: str) -> set[str]:
    """The text files below a folder that may hold boxes."""
    files = set()
    for folder, _, names in os.walk(root):
        other = set() if os.path.basename(folder) == "labels" else NOT_LABELS
        own = [name for name in names if name.endswith(".txt") and name[0] != "."]
        files |= {os.path.join(folder, name) for name in own if name not in other}
    if not files:
        raise FolderError(f"{root}: no label files (.txt)")
    return files


def _key(path: str, root: str, is_elsewhere: bool) -> str:
    """What an image and its label file share: the folders but images and labels, and the name."""
    folders = [] if is_elsewhere else os.path.relpath(os.path.dirname(path), root).split(os.sep)
    shared = [folder for folder in folders if folder not in ("images", "labels", ".")]
    return "/".join([*shared, checks.stem_of(path)])


def _read_lines(path: str, boxes: BoxList, names: Sequence[str] | None) -> None:
    width, height = boxes.empty.size_wh or (1, 1)
    for number, line in enumerate(checks.text_of(path, MOST_LINES).splitlines(), start=1):
        if line.strip():
            place = f"{path}, line {number}"
            first, *rest = line.split()
            values = [checks.number_of(place, word) for word in rest]
            x0, y0, x1, y1 = _corners(place, values)
            corners = [x0 * width, y0 * height, x1 * width, y1 * height]
            boxes.add(place, corners, _label(place, first, names))


def _corners(place: str, values: Sequence[float]) -> list[float]:
    """X0, y0, x1, y1 in shares of the image."""
    if len(values) in (4, 5):
        x, y, width, height = values[:4]
        if width < 0 or height < 0:
            raise FolderError(f"{place}: a box of negative size, {width:g} by {height:g}")
        corners = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
    elif len(values) >= 6 and len(values) % 2 == 0:
        xs, ys = values[::2], values[1::2]
        corners = [min(xs), min(ys), max(xs), max(ys)]
    else:
        found = f"{len(values)} numbers after the class"
        raise FolderError(f"{place}: {found}; a box has 4, with a confidence 5")
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


def _class_names(root: str) -> list[str] | None:
    """The names of a data set's classes; None if it names none."""
    for name in (*TABLES, *LISTS):
        path = os.path.join(root, name)
        if os.path.exists(path):
            text = checks.text_of(path, MOST_BYTES)
            if name in TABLES:
                return names_in_yaml(text, path)
            return [line.strip() for line in text.splitlines() if line.strip()]
    return None


def names_in_yaml(text: str, path: str) -> list[str]:
    r"""The names of ``names:``, a list or numbered entries, in brackets or line by line.

    Examples
    --------
    >>> names_in_yaml("nc: 2\nnames: ['cup', mug]", "data.yaml")
    ['cup', 'mug']
    >>> names_in_yaml("names:\n  0: cup  # small\n  1: mug\n", "data.yaml")
    ['cup', 'mug']
    """
    found = NAMES.search(re.sub(rf"({QUOTED})|(^|\s)#.*", r"\1", text, flags=re.MULTILINE))
    if found is None:
        raise FolderError(f"{path}: no names of classes (names: [cup, mug])")
    content, at, end = found[1].strip(), 0, "\n"
    if content[:1] + content[-1:] in ("[]", "{}"):
        content, end = content[1:-1].strip().rstrip(","), ","
    entries: list[tuple[str | None, str]] = []
    while at < len(content):
        entry = (IN_BRACKETS if end == "," else ON_A_LINE).match(content, at)
        if entry is None:
            raise FolderError(f"{path}: names has {content[at : at + 40]!r}; write [cup, mug]")
        entries.append((entry[1], _unquoted(entry[2])))
        at = entry.end()
    if not 0 < len(entries) <= MOST_CLASSES:
        raise FolderError(f"{path}: {len(entries)} names of classes; write names: [cup, mug]")
    numbered = {int(number): name for number, name in entries if number is not None}
    if numbered and sorted(numbered) != list(range(len(entries))):
        raise FolderError(f"{path}: the classes are not numbered from 0 without gaps")
    return [numbered.get(k, name) for k, (_, name) in enumerate(entries)]


def _unquoted(text: str) -> str:
    if text[:1] == "'":
        return text[1:-1].replace("''", "'")
    try:
        return str(json.loads(text)) if text[:1] == '"' else text.strip()
    except ValueError:
        return text[1:-1]


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
        width, height = image.size_wh
        name, lines = f"{checks.stem_of(image.name)}.txt", []
        if name in self.written:
            raise FolderError(f"{name}: two images would have this file; give them other names")
        self.written.add(name)
        for k, (x0, y0, x1, y1) in enumerate(image.boxes_xyxy.tolist()):
            shares = (x0 + x1) / 2 / width, (y0 + y1) / 2 / height, (x1 - x0) / width
            values = [f"{share:.12g}" for share in (*shares, (y1 - y0) / height)]
            if image.confidences is not None:
                values.append(repr(float(image.confidences[k])))
            number = self.numbers.setdefault(image.labels[k], len(self.numbers))
            lines.append(" ".join([str(number), *values]) + "\n")
        path = os.path.join(self.folder, "labels", name)
        write_atomically(path, "".join(lines).encode(), durable=False)

    def close(self) -> None:
        """Write ``classes.txt`` and ``data.yaml``; names are quoted as JSON, which YAML reads."""
        lines = {"classes.txt": list(self.numbers), "data.yaml": ["names:"]}
        lines["data.yaml"] += [f"  {k}: {json.dumps(name)}" for name, k in self.numbers.items()]
        for name, content in lines.items():
            text = "".join(f"{line}\n" for line in content)
            write_atomically(os.path.join(self.folder, name), text.encode())
