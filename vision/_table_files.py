"""Tables of labelled images: CSV, TSV and JSONL, with the column names that people use."""

import csv
import io
import json
import os
import unicodedata
from collections.abc import Callable
from typing import Any, TextIO

from visualwords._listing import SPLITS, Item, split_of
from visualwords.errors import FolderError
from visualwords.files import open_regular

TABLES = (".csv", ".tsv", ".jsonl")
PATH = ("path", "file", "file_name", "filename", "image", "name", "fname")
LABEL = ("label", "class", "target")
VALIDATION = "is_valid"  # fastai's column: true where a row belongs to the validation split
MOST_LABEL = 1000  # characters
MOST_BYTES = 1 << 30  # of a table
HOW = "name the columns path,label or path,label,split,group"

Rows = list[tuple[int, dict[str, Any]]]  # each with the number of its line
Reader = Callable[[int, dict[str, Any]], tuple[str, str, str, str]]  # → path, label, split, group


def is_table(name: str) -> bool:
    """Return whether a file's name is that of a table."""
    return name.lower().endswith(TABLES)


def read_table(path: str, base: str | None = None, split: str | None = None) -> list[Item]:
    """Return the images that a table lists.

    Parameters
    ----------
    path : str
    base : str, optional
        The folder that its paths are relative to; that of the table by default.
    split : str, optional
        The split of rows that name none.
    """
    base = os.path.dirname(path) if base is None else base
    try:
        rows, read = _opened(path)
        items = [_item(number, row, read(number, row), base, split) for number, row in rows]
        if not items:
            raise _BadTableError("the table has no rows")
    except _BadTableError as problem:
        raise FolderError(f"{path}: {problem}") from None
    return items


def has_labels(path: str) -> bool:
    """Return whether a table has columns of images and of labels."""
    try:
        _opened(path)
    except (_BadTableError, FolderError):
        return False
    return True


def _opened(path: str) -> tuple[Rows, Reader]:
    """Return the rows of a table, and what reads one of them."""
    try:
        # A byte-order mark is what spreadsheets put first; surrogateescape: names are bytes.
        if os.path.getsize(path) > MOST_BYTES:
            raise _BadTableError(f"larger than the {MOST_BYTES:,} bytes that are read")
        with io.TextIOWrapper(
            open_regular(path), "utf-8-sig", errors="surrogateescape", newline=""
        ) as file:
            rows, columns = _json_rows(file) if _is_json(path) else _csv_rows(file)
    except OSError as problem:
        raise FolderError(f"{path}: {(problem.strerror or str(problem)).lower()}") from None
    if _is_json(path) and not rows:
        raise _BadTableError("the table has no rows")
    return rows, _one_hot_reader(columns) if _is_one_hot(path) else _reader(columns)


class _BadTableError(Exception):
    """What is wrong with a table, without its name."""


def _is_json(path: str) -> bool:
    return path.lower().endswith(".jsonl")


def _is_one_hot(path: str) -> bool:
    """Return whether it is Roboflow's table: a column for each class, 1 in one of them."""
    return os.path.basename(path).lower() == "_classes.csv"


def _csv_rows(file: TextIO) -> tuple[Rows, list[str]]:
    header = file.readline()
    file.seek(0)
    # Spreadsheets of many countries separate by semicolons, and other programs by tabs.
    delimiter = max(",;\t", key=header.count)
    reader = csv.DictReader(file, delimiter=delimiter)
    try:
        columns = [name.strip() for name in reader.fieldnames or []]
        reader.fieldnames = columns
        return [(reader.line_num, row) for row in reader], columns
    except csv.Error as problem:
        raise _BadTableError(f"line {reader.line_num} is not CSV ({problem})") from None


def _json_rows(file: TextIO) -> tuple[Rows, list[str]]:
    rows: Rows = []
    for number, line in enumerate(file, start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as problem:
                raise _BadTableError(f"line {number} is not JSON ({problem})") from None
            if not isinstance(row, dict):
                raise _BadTableError(f"line {number} needs a path and a label, found {row!r}")
            rows.append((number, row))
    return rows, list(dict.fromkeys(name for _, row in rows for name in row))


def _reader(columns: list[str]) -> Reader:
    """Return a function of a row → (path, label, split, group), by the columns that there are."""
    lower = {name.lower(): name for name in reversed(columns)}
    path, label = (
        next((lower[name] for name in names if name in lower), None) for names in (PATH, LABEL)
    )
    missing = [
        names[0] for names, found in ((PATH, path), (LABEL, label)) if columns and found is None
    ]
    if missing or not columns:
        raise _BadTableError(f"no column {' and '.join(missing or ('path', 'label'))}; {HOW}")
    split, group = lower.get("split"), lower.get("group")
    validation = lower.get(VALIDATION)

    def read(number: int, row: dict[str, Any]) -> tuple[str, str, str, str]:
        said = _text(row, split)
        if not said and validation is not None:
            said = "val" if _text(row, validation).lower() in ("true", "1", "yes") else "train"
        return _text(row, path), _text(row, label), said, _text(row, group)

    return read


def _one_hot_reader(columns: list[str]) -> Reader:
    """Return the same for Roboflow's table; a row must have a 1 in exactly one class."""
    path, *classes = columns or [""]

    def read(number: int, row: dict[str, Any]) -> tuple[str, str, str, str]:
        marked = [name for name in classes if _text(row, name).strip() == "1"]
        if len(marked) != 1:
            raise _BadTableError(
                f"line {number} marks {len(marked)} classes; each image needs exactly one"
            )
        return _text(row, path), marked[0], "", ""

    return read


def _text(row: dict[str, Any], column: str | None) -> str:
    value = row.get(column) if column is not None else None
    return str(value) if isinstance(value, str | int) else ""


def _item(
    number: int,
    row: dict[str, Any],
    cells: tuple[str, str, str, str],
    base: str,
    default: str | None,
) -> Item:
    """Return what a row of a table says."""
    path, label, said, group = cells
    if not path or not label:
        raise _BadTableError(f"line {number} needs a path and a label, found {row!r}")
    split = split_of(said) if said else default
    if said and split is None:
        raise _BadTableError(
            f"line {number} has split {said!r}; it must be one of {', '.join(SPLITS)}"
        )
    try:
        possible = b"\0" not in os.fsencode(path)
        f"{label}{group}".encode("utf-8", "surrogateescape")
    except UnicodeError:
        possible = False
    if not possible:
        raise _BadTableError(
            f"line {number}: {path[:200]!r} can't be the name of a file, or its label is not text"
        )
    if len(label) > MOST_LABEL:
        raise _BadTableError(
            f"line {number} has a label of {len(label):,} characters; at most {MOST_LABEL} are kept"
        )
    label = unicodedata.normalize("NFC", label)
    return Item(os.path.join(base, path), label, split, group or None)
