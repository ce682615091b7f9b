"""Which files are done, kept on disk so that a restart neither repeats one nor loses one.

A line is appended after the results of a file are written, and holds how long the results file
was then. Whatever a killed process wrote to the results after its last line is cut off at the next
start, and its file is done again: every file has its results once.
"""

import json
import os
import stat
from contextlib import suppress
from io import FileIO
from typing import NamedTuple

from visualwords.errors import FolderError
from visualwords.files import lock_file, write_atomically

LARGEST = 16 << 20  # bytes; above, files that are gone are dropped at the next start


class FileState(NamedTuple):
    """A file, and what it was when it was looked at."""

    path: str
    size: int
    modified: int  # in nanoseconds


def look_at(path: str) -> FileState | None:
    """The state of a regular file; None if there is none."""
    with suppress(OSError):
        status = os.stat(path)
        if stat.S_ISREG(status.st_mode):
            return FileState(path, status.st_size, status.st_mtime_ns)
    return None


Entry = tuple[FileState, int]  # a file that is done, and where its results end


class Journal:
    """The files that were processed.

    Parameters
    ----------
    path : str
        Created if it does not exist.
    results : file of `open_results`, optional
        Where results are appended.
    """

    def __init__(self, path: str, results: FileIO | None = None):
        self.path = path
        self._file = open_results(path)
        try:
            if not lock_file(self._file):
                raise FolderError(f"{path}: in use by another process; stop that, or use --journal")
            entries, known = self._read()
            status = None if results is None else os.fstat(results.fileno())
            identity = status and [status.st_dev, status.st_ino]  # another file may take its place
            if results is not None and identity == known:
                entries = _reconcile(entries, results)
            self._rewrite(entries, identity)
        except BaseException:
            self._file.close()
            raise
        self._done = {state.path: state for state, _ in entries}

    def is_done(self, state: FileState) -> bool:
        """Whether a file, as it is, is done."""
        return self._done.get(state.path) == state

    def add(self, state: FileState, end: int = 0) -> None:
        """Record that a file is done, and how long the results are now."""
        append(self._file, _line([*state, end]))
        self._done[state.path] = state

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _read(self) -> tuple[list[Entry], list[int] | None]:
        """The entries, and the identity of the results file that they are about."""
        self._file.seek(0)
        *lines, _ = self._file.readall().split(b"\n")  # the last one is empty, or was cut short
        entries, identity = [], None
        for line in lines:
            try:
                entry = json.loads(line)
                if isinstance(entry, dict):
                    identity = entry["results"]
                else:
                    name, size, modified, end = entry
                    entries.append((FileState(str(name), int(size), int(modified)), int(end)))
            except (ValueError, TypeError, KeyError):
                sentence = "not a journal of this command; choose another one"
                raise FolderError(f"{self.path}: {sentence}") from None
        return entries, identity

    def _rewrite(self, entries: list[Entry], identity: list[int] | None) -> None:
        """Write the present entries, unless the file has them."""
        if self._file.tell() > LARGEST:
            entries = [entry for entry in entries if os.path.exists(entry[0].path)]
        lines = [_line([*state, end]) for state, end in entries]
        content = b"".join([*lines, _line({"results": identity})])
        self._file.seek(0)
        if self._file.readall() != content:
            write_atomically(self.path, content)
            self._file.close()
            self._file = open_results(self.path)
            lock_file(self._file)


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


def _line(entry: object) -> bytes:
    return (json.dumps(entry) + "\n").encode()


def _reconcile(entries: list[Entry], results: FileIO) -> list[Entry]:
    """Make results and entries agree: cut off what has no entry, drop what has no results."""
    size = results.seek(0, os.SEEK_END)
    kept = [entry for entry in entries if entry[1] <= size]
    end = max((end for _, end in kept), default=0)
    if kept and end < size:
        results.truncate(end)
    return kept
