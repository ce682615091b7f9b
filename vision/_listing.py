"""Walking folders: candidate files and parts of a data set by name only; nothing is opened."""

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from visualwords.errors import FolderError

NOT_IMAGES = frozenset(
    [
        *[".cache", ".csv", ".db", ".html", ".ini", ".json", ".jsonl", ".log", ".md", ".parquet"],
        *[".pdf", ".py", ".toml", ".tsv", ".txt", ".xml", ".yaml", ".yml", ".zip"],
    ]
)
IMAGE_SUFFIXES = frozenset(
    [
        *[".avif", ".bmp", ".gif", ".heic", ".jp2", ".jpeg", ".jpg", ".pgm", ".png", ".ppm"],
        *[".tif", ".tiff", ".webp"],
    ]
)
SPLITS = ("train", "val", "test")
SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "test": "test",
    "testing": "test",
}


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


def folders_in(root: str) -> dict[str, str]:
    """Return the visible sub-folders of a folder, name → path, sorted by name."""
    return _entries(root, _is_dir)


def files_in(root: str) -> dict[str, str]:
    """Return the visible regular files of a folder itself, name → path, sorted by name."""
    return _entries(root, _is_file)


def images_in(root: str) -> dict[str, str]:
    """Return those files of a folder itself that may be images."""
    return {name: path for name, path in files_in(root).items() if not _names_other(name)}


def files_below(folder: str, skipped: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the candidate files of a folder and its sub-folders."""
    seen = set()
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        try:
            status = os.stat(current)
            if (status.st_dev, status.st_ino) in seen:  # a link back to a folder already listed
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
            elif _is_file(entry) and not _names_other(entry.name):
                yield entry.path
            elif suffix not in NOT_IMAGES:
                skipped.append((entry.path, "not a regular file"))
        # Sorted: of two links to one folder the same one is followed, whatever the order on disk.
        waiting += sorted(folders, key=os.fsencode, reverse=True)


def _entries(root: str, wanted: Callable[[os.DirEntry[str]], bool]) -> dict[str, str]:
    try:
        with os.scandir(root) as entries:
            found = {e.name: e.path for e in entries if not _hidden(e.name) and wanted(e)}
    except OSError as problem:
        raise FolderError(f"{root}: {(problem.strerror or str(problem)).lower()}") from None
    return dict(sorted(found.items(), key=lambda pair: os.fsencode(pair[0])))


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


def _names_other(name: str) -> bool:
    """Return whether a file's name says that it is not an image."""
    return os.path.splitext(name)[1].lower() in NOT_IMAGES


def _hidden(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"


def split_of(name: str) -> str | None:
    """Return "train", "val" or "test" for a name in any case; None for any other.

    Examples
    --------
    >>> split_of("Valid"), split_of("photos")
    ('val', None)
    """
    return SPLIT_NAMES.get(name.strip().lower())
