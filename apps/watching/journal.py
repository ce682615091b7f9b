"""Which files are done, kept on disk so that a restart neither repeats one nor loses one.

A line is appended after the results of a file are written, and holds how long the results file
was then. Whatever a killed process wrote to the results after its last line is cut off at the next
start, and its file is done again: every file has its results once.
"""

import json
import os
from io import FileIO
from typing import Any

from visualwords.apps.watching.arrivals import Arrival
from visualwords.errors import FolderError
from visualwords.files import lock_file, write_atomically

LARGEST = 16 << 20  # bytes; above, files that are gone are dropped at the next start


class Journal:
    """The files that are done.

    Parameters
    ----------
    path : str
        Made if it is not there.
    results : file of `open_results`, optional
        Where results are appended.
    """

    def __init__(self, path: str, results: FileIO | None = None):
        self.path = path
        self._done: dict[str, tuple[int, int]] = {}
        self._file = open_results(path)
        try:
            self._start(results)
        except BaseException:
            self._file.close()
            raise

    def _start(self, results: FileIO | None) -> None:
        if not lock_file(self._file):
            raise FolderError(
                f"{self.path}: in use by another process; stop that, or give --journal"
            )
        identity = _identity(results)
        entries, same_results = self._read(identity)
        if results is not None and same_results:
            entries = _reconcile(entries, results)
        self._done = {name: (size, modified) for name, size, modified, _ in entries}
        self._rewrite(entries, identity)

    def is_done(self, arrival: Arrival) -> bool:
        """Return whether a file, as it is, is done."""
        return self._done.get(arrival.path) == arrival[1:]

    def add(self, arrival: Arrival, end: int = 0) -> None:
        """Remember that a file is done, and how long the results are now."""
        self._write([*arrival, end])
        self._done[arrival.path] = (arrival.size, arrival.modified)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _read(self, identity: Any) -> tuple[list[Any], bool]:
        """Return the entries, and whether the last ones are about the results file of now."""
        self._file.seek(0)
        *lines, _ = self._file.readall().split(b"\n")  # the last one is empty, or was cut short
        entries, last = [], None
        for line in lines:
            try:
                entry = json.loads(line)
                if isinstance(entry, dict):
                    last = entry["results"]
                else:
                    name, size, modified, end = entry
                    entries.append((str(name), int(size), int(modified), int(end)))
            except (ValueError, TypeError, KeyError):
                raise FolderError(
                    f"{self.path}: not a journal of this command; choose another one"
                ) from None
        return entries, last is not None and last == identity

    def _rewrite(self, entries: list[Any], identity: Any) -> None:
        """Write what holds now, if that is less than the file has."""
        if self._file.tell() > LARGEST:
            entries = [entry for entry in entries if os.path.exists(entry[0])]
        content = "".join(json.dumps(entry) + "\n" for entry in [*entries, {"results": identity}])
        self._file.seek(0)
        if self._file.readall() == content.encode():
            return
        write_atomically(self.path, content.encode())
        self._file.close()
        self._file = open_results(self.path)
        lock_file(self._file)

    def _write(self, entry: Any) -> None:
        append(self._file, (json.dumps(entry) + "\n").encode())


def open_results(path: str) -> FileIO:
    """Open a file that is appended to; nothing waits in a buffer."""
    return open(path, "a+b", buffering=0)


def append(file: FileIO, data: bytes) -> int:
    """Append all bytes or none to a file; return where it ends now."""
    start = file.seek(0, os.SEEK_END)
    written = 0
    try:
        while written < len(data):
            written += file.write(data[written:])
    except OSError:
        file.truncate(start)  # the disk is full: a part of a line may be written
        raise
    return start + len(data)


def _identity(results: FileIO | None) -> list[int] | None:
    """Return what distinguishes a results file from one that takes its place."""
    if results is None:
        return None
    status = os.fstat(results.fileno())
    return [status.st_dev, status.st_ino]


def _reconcile(entries: list[Any], results: FileIO) -> list[Any]:
    """Make results and entries agree: cut off what has no entry, drop what has no results."""
    size = results.seek(0, os.SEEK_END)
    kept = [entry for entry in entries if entry[3] <= size]
    end = max((entry[3] for entry in kept), default=0)
    if kept and end < size:
        results.truncate(end)
    return kept
