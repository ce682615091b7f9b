"""Many small entries in few files that any number of processes read and write.

Each process appends to a segment of its own, a file that is never renamed or changed otherwise:
`segment-….vwc` has the entries, `segment-….vwi` the beginnings of their keys and their places. An
entry is listed after it is complete; what a killed writer left behind it is never read. A folder
that grows beyond its limit loses whole segments, the least recently used first.
"""

import errno
import os
import re
import secrets
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

import numpy as np

from visualwords.files import open_regular

SEGMENT_BYTES = 64 << 20  # of a segment, unless an entry is larger
FEWEST_SEGMENTS = 16  # that fit in a folder: smaller limits have smaller segments
MOST_INDEX = 64 << 20  # bytes of an index that are read, of four million entries
REFRESH = 0.2  # seconds until a key that is not known is looked for in the files of others again
TOUCH = 60.0  # seconds between two notes that a segment is in use
KEY_BYTES = 20
_INDEX = re.compile(r"segment-[0-9a-f]{16}\.vwi")
_SEGMENT = re.compile(r"segment-[0-9a-f]{16}\.vwc")


class SegmentFolder:
    """Entries by keys of 20 bytes; what is read back may be damaged, which the caller checks.

    Parameters
    ----------
    folder : Path
        Created when the first entry is written.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._process = 0
        self._lock = threading.RLock()
        self._begin()

    def _begin(self) -> None:
        """Forget all; a forked process must not write to its parent's segment."""
        self._process = os.getpid()
        self._places: dict[int, int] = {}  # the key's first 8 bytes → segment and offset
        self._names: list[str] = []  # of segments, by number
        self._numbers: dict[str, int] = {}
        self._read: dict[str, int] = {}  # bytes of each index that are known
        self._looked = -1e9
        self._touched: dict[int, float] = {}
        self._own: _Writer | None = None

    def get(self, key: bytes, *, expected: bool = False) -> bytes | None:
        """Return an entry, or None.

        Parameters
        ----------
        key : 20 bytes
        expected : bool
            Whether another process has just written it, so that files are looked at at once.
        """
        with self._lock:
            place = self._find(key, expected)
            if place is None:
                return None
            number, offset = place >> 40, place & ((1 << 40) - 1)
            path = self.folder / f"{self._names[number]}.vwc"
        try:
            with open_regular(path, follow_links=False) as file:
                file.seek(offset)
                header = file.read(KEY_BYTES + 8)
                size = int.from_bytes(header[KEY_BYTES:], "little")
                rest = os.fstat(file.fileno()).st_size - file.tell()
                if header[:KEY_BYTES] != key or size > rest:
                    return None
                entry = file.read(size)
        except (OSError, OverflowError):  # evicted meanwhile
            with self._lock:
                self._places.pop(_prefix(key), None)
            return None
        self._touch(number, path)
        return entry

    def put(self, key: bytes, entry: bytes, most_bytes: int | None) -> None:
        """Append an entry, and make room for it.

        Parameters
        ----------
        key : 20 bytes
        entry : bytes
        most_bytes : int or None
            What all segments may take, roughly. An entry of more than a fourth is not kept.
        """
        if most_bytes is not None and len(entry) > most_bytes // 4:
            return
        with self._lock:
            self._check_process()
            segment = SEGMENT_BYTES
            if most_bytes is not None:
                segment = min(segment, most_bytes // FEWEST_SEGMENTS)
            own = self._own
            if own is None or own.size + len(entry) > segment or own.is_gone():
                own = self._started_segment(most_bytes)
            offset = own.append(key, entry)
            self._places[_prefix(key)] = self._number_of(own.name) << 40 | offset

    def _started_segment(self, most_bytes: int | None) -> "_Writer":
        self.close()
        if most_bytes is not None:
            self.evict(most_bytes - min(SEGMENT_BYTES, most_bytes // FEWEST_SEGMENTS))
        self.folder.mkdir(parents=True, exist_ok=True)
        self._own = _Writer(self.folder)
        return self._own

    def evict(self, most_bytes: int) -> int:
        """Delete the least recently used segments until the others fit; return their bytes."""
        segments = []
        for path in self.segments():
            with suppress(OSError):
                status = path.stat(follow_symlinks=False)
                segments.append((status.st_mtime_ns, status.st_size, path))
        total, freed = sum(size for _, size, _ in segments), 0
        for _, size, path in sorted(segments):
            if total - freed <= most_bytes:
                break
            if not self._is_own(path.stem):
                freed += size * _deleted(path)
        return freed

    def segments(self) -> list[Path]:
        """Return the files that have entries."""
        return self._files(_SEGMENT)

    def indices(self) -> list[Path]:
        """Return the files that list entries."""
        return self._files(_INDEX)

    def _files(self, pattern: re.Pattern[str]) -> list[Path]:
        names: list[str] = []
        with suppress(OSError), os.scandir(self.folder) as found:
            names = sorted(entry.name for entry in found if pattern.fullmatch(entry.name))
        return [self.folder / name for name in names]

    def clear(self) -> None:
        """Delete all segments."""
        with self._lock:
            self.close()
            for path in (*self.segments(), *self.indices()):
                _deleted(path.with_suffix(".vwc"))
            self._begin()

    def close(self) -> None:
        """Close this process's segment; the next entry begins another."""
        with self._lock:
            if self._own is not None:
                self._read[self._own.name] = 16 * self._own.n_entries
                self._own.close()
            self._own = None

    def n_entries(self) -> int:
        """Return how many different entries are listed."""
        with self._lock:
            self._refresh()
            there = {path.stem for path in self.segments()}
            lost = {self._numbers[name] for name in self._names if name not in there}
            return sum(place >> 40 not in lost for place in self._places.values())

    def _find(self, key: bytes, expected: bool) -> int | None:
        self._check_process()
        place = self._places.get(_prefix(key))
        if place is None and (expected or time.monotonic() - self._looked > REFRESH):
            self._refresh()
            place = self._places.get(_prefix(key))
        return place

    def _refresh(self) -> None:
        """Read what has been added to indices since the last time."""
        self._check_process()
        grown = []
        with suppress(OSError), os.scandir(self.folder) as found:
            for entry in found:
                name = entry.name.removesuffix(".vwi")
                if not _INDEX.fullmatch(entry.name) or self._is_own(name):
                    continue
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    size = min(status.st_size, MOST_INDEX) // 16 * 16
                    if size > self._read.get(name, 0):
                        grown.append((status.st_mtime_ns, name, size))
        for _, name, size in sorted(grown):  # of two entries with one key the later one counts
            self._read_index(name, size)
        self._looked = time.monotonic()

    def _read_index(self, name: str, size: int) -> None:
        known = self._read.get(name, 0)
        try:
            with open_regular(self.folder / f"{name}.vwi", follow_links=False) as file:
                file.seek(known)
                rows = np.frombuffer(file.read(size - known), "<u8").reshape(-1, 2)
        except (OSError, ValueError):  # being deleted, or not an index
            return
        self._read[name] = known + rows.nbytes
        number = self._number_of(name) << 40
        offsets = rows[:, 1] & np.uint64((1 << 40) - 1) | np.uint64(number)
        self._places.update(zip(rows[:, 0].tolist(), offsets.tolist()))

    def _is_own(self, name: str) -> bool:
        return self._own is not None and name == self._own.name

    def _number_of(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self._names)
            self._names.append(name)
        return self._numbers[name]

    def _touch(self, number: int, path: Path) -> None:
        """Note that a segment is in use, for those who make room."""
        now = time.monotonic()
        if now - self._touched.get(number, -1e9) > TOUCH:
            self._touched[number] = now
            with suppress(OSError):  # of another user
                os.utime(path)

    def _check_process(self) -> None:
        if self._process != os.getpid():
            self._begin()


@cache
def segment_folder(folder: Path) -> SegmentFolder:
    """Return the segments of a folder; all of a process share what they know of it."""
    return SegmentFolder(folder)


class _Writer:
    """The segment that this process appends to."""

    def __init__(self, folder: Path):
        self.name = f"segment-{secrets.token_hex(8)}"
        self._path = folder / f"{self.name}.vwc"
        self._entries: BinaryIO = open(self._path, "xb", buffering=0)  # noqa: SIM115
        self._index: BinaryIO = open(folder / f"{self.name}.vwi", "xb", buffering=0)  # noqa: SIM115
        self.size = 0
        self.n_entries = 0

    def append(self, key: bytes, entry: bytes) -> int:
        """Write an entry, then list it; return where it begins."""
        offset = self.size
        _append(self._entries, offset, key + len(entry).to_bytes(8, "little") + entry)
        place = key[:8] + offset.to_bytes(8, "little")
        _append(self._index, 16 * self.n_entries, place)
        self.size += KEY_BYTES + 8 + len(entry)
        self.n_entries += 1
        return offset

    def is_gone(self) -> bool:
        """Return whether another process has deleted it."""
        return not os.path.lexists(self._path)

    def close(self) -> None:
        """Close both files; so does the end of the process."""
        try:  # not suppress, which is gone when a process ends
            self._entries.close()
            self._index.close()
        except AttributeError:  # the second one could not be opened
            pass

    __del__ = close


def _append(file: BinaryIO, end: int, content: bytes) -> None:
    """Write to the end of a file all or, where the disk is full, nothing."""
    try:
        file.seek(end)
        if file.write(content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError:
        with suppress(OSError):
            file.truncate(end)
        raise


def _deleted(path: Path) -> bool:
    """Delete a segment and its index; False if it can't be, as on Windows while it is open."""
    try:
        path.unlink(missing_ok=True)
        path.with_suffix(".vwi").unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _prefix(key: bytes) -> int:
    return int.from_bytes(key[:8], "little")
