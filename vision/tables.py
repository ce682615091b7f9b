"""Tables of labelled images: CSV, TSV and JSONL, with the column names that people use."""

import csv
import io
import json
import os
import unicodedata
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TextIO

from visualwords.errors import FolderError
from visualwords.files import open_regular

TABLES = (".csv", ".tsv", ".jsonl")
PATH = ("path", "file", "file_name", "filename", "image", "name", "fname")
LABEL = ("label", "class", "target")
VALIDATION = "is_valid"  # fastai's column: true where a row belongs to the validation split
MEANT = (*PATH, *LABEL, "split", "group", VALIDATION)
MOST_LABEL = 1000  # characters
MOST_BYTES = 1 << 30  # of a table
HOW = "name the columns path,label or path,label,split,group"
SPLITS = ("train", "val", "test")
SPLIT_NAMES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "val"),
    **dict.fromkeys(("test", "testing"), "test"),
}


class Item(NamedTuple):
    """One image of a data set."""

    path: str
    label: str
    split: str | None = None
    group: str | None = None


class _Row(NamedTuple):
    line: int
    values: dict[str, object]


class _Cells(NamedTuple):
    """Texts of one row; empty where it has none."""

    path: str
    label: str
    split: str
    group: str


class _BadTableError(Exception):
    """The reason why a table is refused, without its name."""


class _RepeatedColumnError(_BadTableError):
    """The reason why a table of labels is ambiguous."""


def split_of(name: str) -> str | None:
    """ "train", "val" or "test" for a name in any case; None for any other.

    Examples
    --------
    >>> split_of("Valid"), split_of("photos")
    ('val', None)
    """
    return SPLIT_NAMES.get(name.strip().lower())


def clean_label(label: str) -> str:
    """A label without spaces around it, in Unicode's composed form."""
    return unicodedata.normalize("NFC", label.strip())


def is_table(name: str) -> bool:
    """Whether a file's name is that of a table."""
    return name.lower().endswith(TABLES)


def has_labels(path: str) -> bool:
    """Whether a table has columns of images and of labels."""
    try:
        _opened(path)
    except _RepeatedColumnError:
        return True
    except (_BadTableError, FolderError):
        return False
    return True


def read_table(path: str, base: str | None = None, split: str | None = None) -> list[Item]:
    """The images that a table lists.

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
        rows, cells = _opened(path)
        items = [_item(row, cells(row), base, split) for row in rows]
        if not items:
            raise _BadTableError("the table has no rows")
    except _BadTableError as problem:
        raise FolderError(f"{path}: {problem}") from None
    return items


def _opened(path: str) -> tuple[list[_Row], Callable[[_Row], _Cells]]:
    """The rows of a table, and a function that finds the cells of one."""
    is_json = path.lower().endswith(".jsonl")
    try:
        if os.path.getsize(path) > MOST_BYTES:
            raise _BadTableError(f"larger than the {MOST_BYTES:,} bytes that are read")
        # A byte-order mark is what spreadsheets put first; surrogateescape: names are bytes.
        with io.TextIOWrapper(
            open_regular(path), "utf-8-sig", errors="surrogateescape", newline=""
        ) as file:
            rows, columns = _json_rows(file) if is_json else _csv_rows(file)
    except OSError as problem:
        raise FolderError(f"{path}: {(problem.strerror or str(problem)).lower()}") from None
    if is_json and not rows:
        raise _BadTableError("the table has no rows")
    # Roboflow's table has a column for each class, 1 in one of them.
    is_one_hot = os.path.basename(path).lower() == "_classes.csv"
    return rows, _one_hot_cells(columns) if is_one_hot else _named_cells(columns)


def _csv_rows(file: TextIO) -> tuple[list[_Row], list[str]]:
    header = file.readline()
    file.seek(0)
    # Spreadsheets of many countries separate by semicolons, and other programs by tabs.
    reader = csv.DictReader(file, delimiter=max(",;\t", key=header.count))
    try:
        reader.fieldnames = columns = [name.strip() for name in reader.fieldnames or []]
        return [_Row(reader.line_num, dict(row)) for row in reader], columns
    except csv.Error as problem:
        raise _BadTableError(f"line {reader.line_num} is not CSV ({problem})") from None


def _json_rows(file: TextIO) -> tuple[list[_Row], list[str]]:
    rows = []
    for number, line in enumerate(file, start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as problem:
                raise _BadTableError(f"line {number} is not JSON ({problem})") from None
            if not isinstance(row, dict):
                raise _BadTableError(f"line {number} needs a path and a label, found {row!r}")
            rows.append(_Row(number, row))
    return rows, list(dict.fromkeys(name for row in rows for name in row.values))


def _named_cells(columns: list[str]) -> Callable[[_Row], _Cells]:
    """The function of a row → cells, by the columns that there are."""
    named: dict[str, str] = {}
    for name in columns:
        key = name.lower()
        if key in named and key in MEANT:
            raise _RepeatedColumnError(
                f"two columns are called {name!r}; keep one, or rename the other"
            )
        named.setdefault(key, name)
    path, label = (next((named[k] for k in keys if k in named), None) for keys in (PATH, LABEL))
    if path is None or label is None:
        missing = ["path"] * (path is None) + ["label"] * (label is None)
        raise _BadTableError(f"no column {' and '.join(missing)}; {HOW}")
    split, group, validation = (named.get(name) for name in ("split", "group", VALIDATION))

    def cells(row: _Row) -> _Cells:
        part = _text(row, split)
        if not part and validation is not None:
            part = "val" if _text(row, validation).lower() in ("true", "1", "yes") else "train"
        return _Cells(_text(row, path), _text(row, label), part, _text(row, group))

    return cells


def _one_hot_cells(columns: list[str]) -> Callable[[_Row], _Cells]:
    """The same for Roboflow's table; a row must have a 1 in exactly one class."""
    path, *classes = columns or [""]
    for name, count in Counter(classes).items():
        if count > 1:
            raise _RepeatedColumnError(f"{count} columns are called {name!r}; keep one")

    def cells(row: _Row) -> _Cells:
        marked = [name for name in classes if _text(row, name).strip() == "1"]
        if len(marked) != 1:
            raise _BadTableError(
                f"line {row.line} marks {len(marked)} classes; each image needs exactly one"
            )
        return _Cells(_text(row, path), marked[0], "", "")

    return cells


def _text(row: _Row, column: str | None) -> str:
    value = row.values.get(column) if column is not None else None
    return str(value) if isinstance(value, str | int) else ""


def _item(row: _Row, cells: _Cells, base: str, default: str | None) -> Item:
    """The image that a row lists."""
    label, group = clean_label(cells.label), cells.group.strip()
    if not cells.path or not label:
        raise _BadTableError(f"line {row.line} needs a path and a label, found {row.values!r}")
    split = split_of(cells.split) if cells.split else default
    if cells.split and split is None:
        raise _BadTableError(
            f"line {row.line} has split {cells.split!r}; it must be one of {', '.join(SPLITS)}"
        )
    if not (_is_text(cells.path) and "\0" not in cells.path):
        raise _BadTableError(f"line {row.line}: {cells.path[:200]!r} can't be the name of a file")
    if not (_is_text(label) and _is_text(group)):
        raise _BadTableError(f"line {row.line}: the label {label[:200]!r} or the group is not text")
    if len(label) > MOST_LABEL:
        raise _BadTableError(
            f"line {row.line} has a label of {len(label):,} characters; "
            f"at most {MOST_LABEL} are kept"
        )
    return Item(os.path.join(base, cells.path), label, split, group or None)


def _is_text(text: str) -> bool:
    """Whether a text can be written; bytes that are not UTF-8 can, as file names have."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeError:
        return False
    return True
