"""Finding the images of a folder or a table: names only, nothing is opened but the table."""

import csv
import io
import json
import os
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple, TextIO

from visualwords.errors import FolderError
from visualwords.files import open_regular

SPLITS = ("train", "val", "test")
NOT_IMAGES = frozenset(
    [
        ".csv",
        ".db",
        ".html",
        ".ini",
        ".json",
        ".jsonl",
        ".log",
        ".md",
        ".pdf",
        ".py",
        ".tsv",
        ".txt",
        ".xml",
        ".yaml",
        ".yml",
        ".zip",
    ]
)
IMAGE_SUFFIXES = frozenset(
    [
        ".avif",
        ".bmp",
        ".gif",
        ".heic",
        ".jp2",
        ".jpeg",
        ".jpg",
        ".pgm",
        ".png",
        ".ppm",
        ".tif",
        ".tiff",
        ".webp",
    ]
)
TABLE_COLUMNS = ("path", "label")


class Item(NamedTuple):
    """One image of a data set."""

    path: str
    label: str
    split: str | None = None
    group: str | None = None


class Listing(NamedTuple):
    """What a scan found."""

    items: list[Item]
    skipped: list[tuple[str, str]]
    warnings: list[str]


def list_folder(root: str) -> Listing:
    """List ``root/class/…`` or ``root/{train,val,test}/class/…``."""
    skipped: list[tuple[str, str]] = []
    classes, warnings = _class_folders(root)
    if not classes:
        raise FolderError(_no_classes(root))
    items = [
        Item(path, unicodedata.normalize("NFC", name), split)
        for name, folder, split in classes
        for path in sorted(files_below(folder, skipped), key=os.fsencode)
    ]
    if not items:
        raise FolderError(f"{root}: {len(classes)} class folders, but no file in any of them")
    skipped.sort(key=lambda pair: os.fsencode(pair[0]))
    # A class may come from two folders (its name typed in two Unicode forms): sort once more.
    items.sort(key=lambda item: (SPLITS.index(item.split) if item.split else 0, item.label))
    labels = {unicodedata.normalize("NFC", name) for name, _, _ in classes}
    empty = sorted(labels - {item.label for item in items})
    warnings += [f"{root}: class {name!r} is empty and was left out" for name in empty]
    return Listing(items, skipped, warnings + _case_twins(root, labels))


def _class_folders(root: str) -> tuple[list[tuple[str, str, str | None]], list[str]]:
    """Return (class, folder, split) of each class folder, and what is odd about the layout."""
    top = _folders_in(root)
    splits = [name for name in SPLITS if name in top]
    warnings = _loose_files(root)
    if splits and len(splits) == len(top) and any(_folders_in(path) for path in top.values()):
        for split in splits:
            warnings += _loose_files(top[split])
        return [
            (name, path, split)
            for split in splits
            for name, path in _folders_in(top[split]).items()
        ], warnings
    if len(splits) > 1 and len(splits) < len(top):
        others = [name for name in top if name not in splits]
        warnings.append(
            f"{root}: {' and '.join(splits)} are taken for classes and not for splits, "
            f"because {others[0]!r} is beside them"
        )
    return [(name, path, None) for name, path in top.items()], warnings


def _loose_files(folder: str) -> list[str]:
    """Return a warning if files that may be images lie beside the class folders."""
    with os.scandir(folder) as entries:
        loose = [e.name for e in entries if not _hidden(e.name) and _may_be_image(e)]
    if not loose:
        return []
    subject = "1 file lies" if len(loose) == 1 else f"{len(loose)} files lie"
    return [
        f"{folder}: {subject} beside the class folders and had to be left out "
        f"(first: {min(loose, key=os.fsencode)!r})"
    ]


def list_table(path: str) -> Listing:
    """List the rows of a CSV or JSONL table; its paths are relative to the table's folder."""
    base = os.path.dirname(path)
    items = []
    try:
        # A byte-order mark is what spreadsheets put first; surrogateescape: names are bytes.
        with io.TextIOWrapper(
            open_regular(path), "utf-8-sig", errors="surrogateescape", newline=""
        ) as file:
            rows = _json_rows(file) if path.lower().endswith(".jsonl") else _csv_rows(file)
            items += [_item(row, base, number) for number, row in rows]
    except OSError as problem:
        raise FolderError(f"{path}: {(problem.strerror or str(problem)).lower()}") from None
    except _BadTableError as problem:
        raise FolderError(f"{path}: {problem}") from None
    if not items:
        raise FolderError(f"{path}: the table has no rows")
    items.sort(key=lambda item: (item.label, os.fsencode(item.path)))
    return Listing(items, [], _case_twins(path, {item.label for item in items}))


class _BadTableError(Exception):
    """What is wrong with a table, without its name."""


def _csv_rows(file: TextIO) -> Iterator[tuple[int, object]]:
    reader = csv.DictReader(file)
    try:
        missing = [name for name in TABLE_COLUMNS if name not in (reader.fieldnames or [])]
        if missing:
            raise _BadTableError(
                f"no column {' and '.join(missing)}; "
                "the first line must be path,label or path,label,split,group"
            )
        for row in reader:
            yield reader.line_num, row
    except csv.Error as problem:
        raise _BadTableError(f"line {reader.line_num} is not CSV ({problem})") from None


def _json_rows(file: TextIO) -> Iterator[tuple[int, object]]:
    for number, line in enumerate(file, start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as problem:
                raise _BadTableError(f"line {number} is not JSON ({problem})") from None


def _item(row: object, base: str, number: int) -> Item:
    """Return what a row of a table says."""
    cells = row if isinstance(row, dict) else {}
    path, label, split, group = (
        str(cells[name]) if isinstance(cells.get(name), str | int) else ""
        for name in ("path", "label", "split", "group")
    )
    if not path or not label:
        raise _BadTableError(f"line {number} needs a path and a label, found {row!r}")
    if split and split not in SPLITS:
        raise _BadTableError(
            f"line {number} has split {split!r}; it must be one of {', '.join(SPLITS)}"
        )
    try:
        possible = b"\0" not in os.fsencode(path)
    except UnicodeError:
        possible = False
    if not possible:
        raise _BadTableError(f"line {number}: {path!r} can't be the name of a file")
    label = unicodedata.normalize("NFC", label)
    return Item(os.path.join(base, path), label, split or None, group or None)


def _folders_in(root: str) -> dict[str, str]:
    """Return the visible sub-folders of a folder, name → path, sorted by name."""
    try:
        with os.scandir(root) as entries:
            names = {e.name: e.path for e in entries if not _hidden(e.name) and _is_dir(e)}
    except OSError as problem:
        raise FolderError(f"{root}: {(problem.strerror or str(problem)).lower()}") from None
    return dict(sorted(names.items(), key=lambda pair: os.fsencode(pair[0])))


def files_below(folder: str, skipped: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the candidate files of a class folder and its sub-folders."""
    seen = set()
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        try:
            status = os.stat(current)
            if (status.st_dev, status.st_ino) in seen:  # a link back to where we have been
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(current) as found:
                entries = [entry for entry in found if not _hidden(entry.name)]
            folders = []
        except OSError as problem:  # no permission, or gone since its parent was listed
            skipped.append((current, (problem.strerror or "can't be listed").lower()))
            continue
        for entry in entries:
            suffix = os.path.splitext(entry.name)[1].lower()
            if _is_dir(entry):
                if suffix in IMAGE_SUFFIXES:
                    skipped.append((entry.path, "a folder, not a file"))
                else:
                    folders.append(entry.path)
            elif _may_be_image(entry):
                yield entry.path
            elif suffix not in NOT_IMAGES:
                skipped.append((entry.path, "not a regular file"))
        # Sorted: of two links to one folder the same one is followed, whatever the order on disk.
        waiting += sorted(folders, key=os.fsencode, reverse=True)


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads back to itself
        return False


def _may_be_image(entry: os.DirEntry[str]) -> bool:
    """Say if it is a regular file whose name does not speak against an image."""
    try:
        return entry.is_file() and os.path.splitext(entry.name)[1].lower() not in NOT_IMAGES
    except OSError:
        return False


def _hidden(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"


def _case_twins(root: str, labels: set[str]) -> list[str]:
    alike = defaultdict(list)
    for label in sorted(labels):
        alike[label.casefold()].append(label)
    return [
        f"{root}: classes {' and '.join(map(repr, twins))} differ only in case and are kept apart"
        for twins in alike.values()
        if len(twins) > 1
    ]


def _no_classes(root: str) -> str:
    n_files = len(list(files_below(root, [])))
    found = f"{n_files} files but no folders" if n_files else "nothing"
    return f"{root}: found {found}; put the images of each class into a folder of its own"
