"""Finding the images of a folder or a table: names only, nothing is opened but the table."""

import csv
import json
import os
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from visualwords.errors import FolderError

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
    top = _folders_in(root)
    if top and set(top) <= set(SPLITS) and any(_folders_in(path) for path in top.values()):
        classes = [
            (name, path, split)
            for split in SPLITS
            if split in top
            for name, path in _folders_in(top[split]).items()
        ]
    else:
        classes = [(name, path, None) for name, path in top.items()]
    if not classes:
        raise FolderError(_no_classes(root))
    items = [
        Item(path, unicodedata.normalize("NFC", name), split)
        for name, folder, split in classes
        for path in sorted(files_below(folder, skipped), key=os.fsencode)
    ]
    if not items:
        raise FolderError(f"{root}: {len(classes)} class folders, but no file in any of them")
    # A class may come from two folders (its name typed in two Unicode forms): sort once more.
    items.sort(key=lambda item: (SPLITS.index(item.split) if item.split else 0, item.label))
    empty = sorted({name for name, _, _ in classes} - {item.label for item in items})
    labels = {unicodedata.normalize("NFC", name) for name, _, _ in classes}
    warnings = [f"{root}: class {name!r} is empty and was left out" for name in empty]
    return Listing(items, skipped, warnings + _case_twins(root, labels))


def list_table(path: str) -> Listing:
    """List the rows of a CSV or JSONL table; its paths are relative to the table's folder."""
    base = os.path.dirname(path)
    rows = _json_rows(path) if path.lower().endswith(".jsonl") else _csv_rows(path)
    items = []
    for number, row in rows:
        if not isinstance(row, dict) or not all(row.get(column) for column in TABLE_COLUMNS):
            raise FolderError(f"{path}: row {number} needs a path and a label, found {row!r}")
        label = unicodedata.normalize("NFC", str(row["label"]))
        split, group = (str(row[name]) if row.get(name) else None for name in ("split", "group"))
        if split is not None and split not in SPLITS:
            raise FolderError(
                f"{path}: row {number} has split {split!r}; it must be one of {', '.join(SPLITS)}"
            )
        items.append(Item(os.path.join(base, str(row["path"])), label, split, group))
    if not items:
        raise FolderError(f"{path}: the table has no rows")
    items.sort(key=lambda item: (item.label, os.fsencode(item.path)))
    return Listing(items, [], _case_twins(path, {item.label for item in items}))


def _csv_rows(path: str) -> Iterator[tuple[int, dict[str, str]]]:
    # utf-8-sig: spreadsheets put a byte-order mark first; surrogateescape: names are bytes.
    with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.DictReader(file)
        missing = [name for name in TABLE_COLUMNS if name not in (reader.fieldnames or [])]
        if missing:
            raise FolderError(
                f"{path}: no column {' and '.join(missing)}; "
                "the first line must be path,label or path,label,split,group"
            )
        yield from enumerate(reader, start=2)


def _json_rows(path: str) -> Iterator[tuple[int, object]]:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                try:
                    yield number, json.loads(line)
                except json.JSONDecodeError as problem:
                    raise FolderError(f"{path}: line {number} is not JSON ({problem})") from None


def _folders_in(root: str) -> dict[str, str]:
    """Return the visible sub-folders of a folder, name → path, sorted by name."""
    with os.scandir(root) as entries:
        names = {e.name: e.path for e in entries if not _hidden(e.name) and e.is_dir()}
    return dict(sorted(names.items(), key=lambda pair: os.fsencode(pair[0])))


def files_below(folder: str, skipped: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the candidate files of a class folder and its sub-folders."""
    seen = set()
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        status = os.stat(current)
        if (status.st_dev, status.st_ino) in seen:  # a link back to where we have been
            continue
        seen.add((status.st_dev, status.st_ino))
        try:
            entries = os.scandir(current)
        except OSError as problem:
            skipped.append((current, (problem.strerror or "can't be listed").lower()))
            continue
        with entries:
            for entry in entries:
                if _hidden(entry.name):
                    continue
                suffix = os.path.splitext(entry.name)[1].lower()
                if _is_dir(entry):
                    if suffix in IMAGE_SUFFIXES:
                        skipped.append((entry.path, "a folder, not a file"))
                    else:
                        waiting.append(entry.path)
                elif suffix not in NOT_IMAGES:
                    if _is_file(entry):
                        yield entry.path
                    else:
                        skipped.append((entry.path, "not a regular file"))


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads back to itself
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
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
