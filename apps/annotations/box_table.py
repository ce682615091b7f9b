"""Tables of boxes: CSV with one row for each box."""

import csv
import io
import os

from visualwords.apps.annotations import checks
from visualwords.apps.annotations.boxed_image import Annotations, BoxedImage, BoxList
from visualwords.apps.command_line.csv_cells import FORMULA
from visualwords.errors import FolderError

__all__ = ["HEADER", "box_rows", "read_box_table"]

NAME = ("file", "source", "path", "file_name", "filename", "image", "image_path", "name")
CORNERS = (
    ("xmin", "ymin", "xmax", "ymax"),
    ("x0", "y0", "x1", "y1"),
    ("x1", "y1", "x2", "y2"),
    ("left", "top", "right", "bottom"),
)
LABEL = ("label", "class", "category")
HEADER = (
    *("source", "frame", "time", "width", "height", "label"),
    *("x0", "y0", "x1", "y1", "confidence", "track", "ignored"),
)


def read_box_table(path: str | os.PathLike[str]) -> Annotations:
    """Read a table with the columns file, xmin, ymin, xmax, ymax; as others write them, too.

    label, width and height (of the image) and ignored are read if present, other columns are not.
    A row whose box is empty says that the image shows no object.
    """
    name = os.fspath(path)
    rows, columns = _rows(name)
    file = next((one for one in NAME if one in columns), "")
    corners = next((four for four in CORNERS if set(four) <= set(columns)), ())
    label = next((one for one in LABEL if one in columns), "")
    if not (file and corners):
        lacking = ", ".join([*([] if file else ["file"]), *([] if corners else CORNERS[0])])
        needed = "a table of boxes has file, xmin, ymin, xmax, ymax"
        raise FolderError(f"{name}: no column {lacking}; {needed}")
    lists: dict[str, BoxList] = {}
    for line, row in rows:
        place = f"{name}, line {line}"
        if None in row or None in row.values():
            raise FolderError(f"{place}: {len(columns)} columns, but another number of cells")
        image = checks.name_of(place, _text(row[file]))
        size = checks.size(place, _number(place, row, "width"), _number(place, row, "height"))
        boxes = lists.setdefault(image, BoxList(BoxedImage(image, size_wh=size)))
        if size != boxes.empty.size_wh:
            raise FolderError(f"{place}: another size of {image} than in the lines before")
        if any(row[column].strip() for column in corners):
            box = [checks.number_of(f"{place}, {column}", row[column]) for column in corners]
            is_ignored = bool(_number(place, row, "ignored"))
            boxes.add(place, box, _text(row.get(label, "")), ignored=is_ignored)
    return Annotations.of(path, lists.values())


def _rows(name: str) -> tuple[list[tuple[int, dict[str, str]]], list[str]]:
    """The lines of a table with their numbers, and its columns in lower case."""
    text = checks.text_of(name)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        columns = [column.strip().lower() for column in reader.fieldnames or []]
        if len(set(columns)) < len(columns):
            raise FolderError(f"{name}: two columns have the same name")
        reader.fieldnames = columns
        return [(reader.line_num, row) for row in reader], columns
    except csv.Error as problem:
        raise FolderError(f"{name}, line {reader.line_num}: not CSV ({problem})") from None


def _text(cell: str) -> str:
    """A text; the quote that keeps spreadsheets from running it is removed."""
    is_guarded = cell.startswith("'") and cell[1:].startswith(FORMULA)
    return cell[1:] if is_guarded else cell.strip()


def _number(place: str, row: dict[str, str], column: str) -> float | None:
    text = row.get(column, "").strip()
    return checks.number_of(f"{place}, {column}", text) if text else None


def box_rows(image: BoxedImage) -> list[list[object]]:
    """The rows of one image, under `HEADER`; one with an empty box if it has none."""
    start = [image.name, image.frame, image.seconds, *(image.size_wh or ("", ""))]
    if not len(image):
        return [[*start, *[""] * (len(HEADER) - len(start))]]
    rows: list[list[object]] = []
    for k, box in enumerate(image.boxes_xyxy.tolist()):
        confidence = "" if image.confidences is None else repr(float(image.confidences[k]))
        track = "" if image.tracks is None else int(image.tracks[k]) or ""
        ignored = int(image.ignored[k]) or ""
        rows.append([*start, image.labels[k], *map(checks.short, box), confidence, track, ignored])
    return rows
