"""Tables of boxes: CSV with one row for each box."""

import csv
import io
import os
from collections.abc import Iterable
from typing import Any

from visualwords.apps.annotations.boxed_image import (
    Annotations,
    BoxedImage,
    BoxList,
    checked_name,
    checked_size,
)
from visualwords.apps.annotations.documents import number_of, short, text_of
from visualwords.apps.command_line.csv_cells import FORMULA, csv_cells
from visualwords.errors import FolderError
from visualwords.files import write_atomically

__all__ = ["HEADER", "box_rows", "read_box_table", "write_box_table"]

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

    label, width and height (of the image), confidence, track, ignored, frame and time are read if
    present, other columns are not. A row whose box is empty says that the image shows no object.
    """
    name = os.fspath(path)
    rows, columns = _rows(name)
    lists: dict[tuple[str, str], BoxList] = {}
    times: dict[tuple[str, str], tuple[int | None, float | None]] = {}
    file, corners, label = _first(NAME, columns), _corners(columns), _first(LABEL, columns)
    if file is None or corners is None:
        lacking = [] if file else ["file"]
        lacking += [] if corners else CORNERS[0]
        raise FolderError(
            f"{name}: no column {', '.join(lacking)}; a table of boxes has file, xmin, ymin, xmax, "
            "ymax"
        )
    for number, row in rows:
        place = f"{name}, line {number}"
        if None in row or None in row.values():
            raise FolderError(f"{place}: {len(columns)} columns, but another number of cells")
        key = checked_name(place, _text(row[file])), row.get("frame", "").strip()
        size = _size(place, row)
        if key not in lists:
            lists[key] = BoxList(key[0], size)
            times[key] = _whole(place, row, "frame"), _number(place, row, "time")
        elif size != lists[key].size_wh:
            raise FolderError(f"{place}: another size of {key[0]} than in the lines before")
        texts = [row[column].strip() for column in corners]
        if not any(texts):
            continue
        if not all(texts):
            raise FolderError(f"{place}: a box is four numbers, not {texts}")
        lists[key].add(
            place,
            [number_of(place, text) for text in texts],
            _text(row[label]) if label else "",
            ignored=_whole(place, row, "ignored") not in (None, 0),
            confidence=_number(place, row, "confidence"),
            track=_whole(place, row, "track"),
        )
    images = [boxes.image(*times[key]) for key, boxes in lists.items()]
    return Annotations(images, [one for boxes in lists.values() for one in boxes.skipped])


def _rows(name: str) -> tuple[list[tuple[int, dict[str, str]]], list[str]]:
    text = text_of(name)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        columns = [column.strip().lower() for column in reader.fieldnames or []]
        if len(set(columns)) < len(columns):
            raise FolderError(f"{name}: two columns have the same name")
        reader.fieldnames = columns
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as problem:
        raise FolderError(f"{name}, line {reader.line_num}: not CSV ({problem})") from None
    return rows, columns


def _first(choices: Iterable[str], columns: list[str]) -> str | None:
    return next((name for name in choices if name in columns), None)


def _corners(columns: list[str]) -> tuple[str, ...] | None:
    return next((names for names in CORNERS if set(names) <= set(columns)), None)


def _text(cell: str) -> str:
    """Return a text; the quote that keeps spreadsheets from running it is removed."""
    is_guarded = cell.startswith("'") and cell[1:].startswith(FORMULA)
    return cell[1:] if is_guarded else cell.strip()


def _number(place: str, row: dict[str, str], column: str) -> float | None:
    text = row.get(column, "").strip()
    return number_of(f"{place}, {column}", text) if text else None


def _whole(place: str, row: dict[str, str], column: str) -> int | None:
    value = _number(place, row, column)
    if value is not None and not (value.is_integer() and abs(value) < 2**63):
        raise FolderError(f"{place}, {column}: {value:g} where a whole number belongs")
    return None if value is None else int(value)


def _size(place: str, row: dict[str, str]) -> tuple[int, int] | None:
    sides = _number(place, row, "width"), _number(place, row, "height")
    if sides[0] is None or sides[1] is None:
        return None
    return checked_size(place, sides[0], sides[1])


def box_rows(image: BoxedImage) -> list[list[Any]]:
    """Return the rows of one image, under `HEADER`; one with an empty box if it has none."""
    width, height = image.size_wh or ("", "")
    start = [image.name, image.frame, image.seconds, width, height]
    if not len(image):
        return [[*start, *[""] * (len(HEADER) - len(start))]]
    rows = []
    for k, box in enumerate(image.boxes_xyxy.tolist()):
        confidence = "" if image.confidences is None else repr(float(image.confidences[k]))
        track = "" if image.tracks is None or not image.tracks[k] else int(image.tracks[k])
        ignored = int(image.ignored[k]) or ""
        rows.append([*start, image.labels[k], *map(short, box), confidence, track, ignored])
    return rows


def write_box_table(path: str | os.PathLike[str], images: Iterable[BoxedImage]) -> None:
    """Write a CSV file; texts that a spreadsheet takes for a formula get a quote before them."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(HEADER)
    for image in images:
        writer.writerows(csv_cells(row) for row in box_rows(image))
    write_atomically(path, text.getvalue().encode())
