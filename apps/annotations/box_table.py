"""Tables of boxes: CSV with one row for each box."""

import csv
import io
import os
from collections.abc import Iterable

from visualwords.apps.annotations.boxed_image import (
    Annotations,
    BoxedImage,
    BoxList,
    as_annotations,
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
    file = next((one for one in NAME if one in columns), None)
    corners = next((four for four in CORNERS if set(four) <= set(columns)), None)
    label = next((one for one in LABEL if one in columns), "")
    if file is None or corners is None:
        lacking = [] if file else ["file"]
        lacking += [] if corners else CORNERS[0]
        raise FolderError(
            f"{name}: no column {', '.join(lacking)}; a table of boxes has file, xmin, ymin, xmax, "
            "ymax"
        )
    lists: dict[tuple[str, str], BoxList] = {}
    for number, row in rows:
        place = f"{name}, line {number}"
        if None in row or None in row.values():
            raise FolderError(f"{place}: {len(columns)} columns, but another number of cells")
        image = checked_name(place, _text(row[file]))
        size = checked_size(place, _number(place, row, "width"), _number(place, row, "height"))
        key = image, row.get("frame", "").strip()
        if key not in lists:
            frame, seconds = _whole(place, row, "frame"), _number(place, row, "time")
            lists[key] = BoxList(image, size, frame, seconds)
        elif size != lists[key].empty.size_wh:
            raise FolderError(f"{place}: another size of {image} than in the lines before")
        texts = [row[column].strip() for column in corners]
        if any(texts):
            if not all(texts):
                raise FolderError(f"{place}: a box is four numbers, not {texts}")
            lists[key].add(
                place,
                [number_of(place, text) for text in texts],
                _text(row.get(label, "")),
                ignored=_whole(place, row, "ignored") not in (None, 0),
                confidence=_number(place, row, "confidence"),
                track=_whole(place, row, "track"),
            )
    return as_annotations(path, lists.values())


def _rows(name: str) -> tuple[list[tuple[int, dict[str, str]]], list[str]]:
    """Return the lines of a table with their numbers, and its columns in lower case."""
    text = text_of(name)
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


def box_rows(image: BoxedImage) -> list[list[object]]:
    """Return the rows of one image, under `HEADER`; one with an empty box if it has none."""
    start = [image.name, image.frame, image.seconds, *(image.size_wh or ("", ""))]
    if not len(image):
        return [[*start, *[""] * (len(HEADER) - len(start))]]
    rows: list[list[object]] = []
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
