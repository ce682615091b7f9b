"""A cache of features on disk that can be wrong, old, shared or interrupted without harm.

An entry is keyed by a fingerprint of the image file's bytes and by what was computed from them (the
name, parameters and version of an extractor and of the preprocessing). It carries a checksum of its
key and content, which detects corruption, not tampering: the folder is made for its user alone, and
whoever else may write to it is reported. Damaged entries count as absent. Links are neither read
nor written through.

Many small entries are in few files that any number of processes read and write. Each process
appends to a segment of its own, a file that is never renamed or changed otherwise:
`segment-….vwc` has the entries, `segment-….vwi` the beginnings of their keys and their places. An
entry is listed after it is complete; what a killed writer left behind it is never read. A folder
that grows beyond its limit loses whole segments, the least recently used first.
"""

import errno
import hashlib
import io
import json
import os
import re
import secrets
import stat
import struct
import threading
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np
import platformdirs

from visualwords.errors import FolderError
from visualwords.files import open_regular

__all__ = ["DEFAULT_SIZE", "FeatureCache", "default_folder", "open_cache", "written"]

DEFAULT_SIZE = 10_000_000_000  # bytes
CHECKSUM_BYTES = 16
KEY_BYTES = 20
HEAD_BYTES = KEY_BYTES + 8  # of an entry in a segment: its key and its size
PLACE_BYTES = 16  # of an entry in an index: 8 of its key, 8 of its offset
KINDS = "biufV"  # of numbers, and of records of them
SEGMENT_BYTES = 64 << 20  # of a segment, unless an entry is larger
FEWEST_SEGMENTS = 16  # that fit in a folder: smaller limits have smaller segments
MOST_INDEX = 64 << 20  # bytes of an index that are read, of four million entries
REFRESH = 0.2  # seconds until a key that is not known is looked for in the files of others again
TOUCH = 60.0  # seconds between two notes that a segment is in use
SEGMENT = re.compile(r"segment-[0-9a-f]{16}\.vw[ci]")


class FeatureCache:
    """Arrays on disk, found by the content they were computed from.

    Parameters
    ----------
    folder : path-like
        Created, for this user alone, when the first entry is written.
    most_bytes : int or None
        Size beyond which the least recently used entries are deleted; None for no limit.

    Examples
    --------
    >>> import tempfile
    >>> cache = FeatureCache(tempfile.mkdtemp())
    >>> key = cache.key(b"fingerprint of a file", {"extractor": "ColorHistogram", "bins": 4})
    >>> cache.get(key) is None
    True
    >>> cache.put(key, np.arange(3))
    >>> cache.get(key)
    array([0, 1, 2])
    """

    def __init__(self, folder: str | os.PathLike[str], most_bytes: int | None = DEFAULT_SIZE):
        self.folder = Path(os.path.abspath(folder))
        self.most_bytes = most_bytes

    @property
    def _segments(self) -> "_Segments":
        return _segments_of(self.folder)  # has locks, so that it does not travel with a cache

    @staticmethod
    def key(fingerprint: bytes, settings: Mapping[str, object] | bytes) -> str:
        """Name of what ``settings`` compute from the content with a ``fingerprint``.

        Settings that many files share are better given as `written` has them.
        """
        text = settings if isinstance(settings, bytes) else written(settings)
        digest = hashlib.blake2b(text, digest_size=KEY_BYTES)
        digest.update(b"\0")  # JSON has no zero byte: where the settings end is beyond doubt
        digest.update(fingerprint)
        return digest.hexdigest()

    def get(self, key: str, *, expected: bool = False) -> np.ndarray | None:
        """Array of a key, which can't be written to; None without an intact entry.

        Parameters
        ----------
        key : str
        expected : bool
            Whether another process has just put it there.
        """
        entry = self._segments.get(bytes.fromhex(key), expected)
        if entry is None or entry[:CHECKSUM_BYTES] != _checksum(key, entry[CHECKSUM_BYTES:]):
            return None
        payload = entry[CHECKSUM_BYTES:]
        start = 10 + int.from_bytes(payload[8:10], "little")
        try:
            dtype, shape = _parsed_header(bytes(payload[:start]))
            array = np.frombuffer(payload, dtype, offset=start).reshape(shape)
        except Exception:  # a header that others wrote can be wrong in any way
            return None
        if dtype.kind not in KINDS or (dtype.kind == "f" and not np.isfinite(array).all()):
            return None
        return array

    def put(self, key: str, array: np.ndarray) -> None:
        """Keep an array; a disk that is full or read-only makes this a no-op."""
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.asarray(array, order="C"), (1, 0), allow_pickle=False)
        payload = buffer.getbuffer()
        entry = _checksum(key, payload) + payload
        # A write that fails is passed over: the feature is at hand, only the next run is slower.
        with suppress(OSError):
            self._segments.put(bytes.fromhex(key), entry, self.most_bytes)

    def size(self) -> tuple[int, int]:
        """How many entries there are, and their bytes."""
        return self._segments.size()

    def clear(self) -> tuple[int, int]:
        """Delete all entries and nothing else; return how many there were, and their bytes."""
        size = self._segments.size()
        self._segments.clear()
        return size

    def close(self) -> None:
        """Close the file that this process writes to, so that Windows can delete it."""
        self._segments.close()


def open_cache(
    folder: str | os.PathLike[str], most_bytes: int | None = DEFAULT_SIZE
) -> FeatureCache:
    """Open the cache in a folder.

    A folder that other users can write to is reported by a warning; if it is the default one, which
    nobody shares on purpose, by a `FolderError`.
    """
    with suppress(OSError):
        status = os.stat(folder)
        owner = None
        if hasattr(os, "geteuid") and status.st_uid not in (os.geteuid(), 0):
            owner = f"belongs to another user ({status.st_uid})"
        elif hasattr(os, "geteuid") and status.st_mode & stat.S_IWOTH:
            owner = "is writable by all users of this machine"
        if owner is not None:
            problem = (
                f"the cache {os.fspath(folder)} {owner}, who can change the models made with it; "
                "choose another with --cache, or run: chmod go-w on it"
            )
            if Path(folder) == default_folder():
                raise FolderError(problem)
            warnings.warn(problem, stacklevel=2)
    return FeatureCache(folder, most_bytes)


def default_folder() -> Path | None:
    """The user's cache folder for features; None where there is no home."""
    try:
        folder = Path(platformdirs.user_cache_dir("visualwords", appauthor=False))
    except (RuntimeError, KeyError):
        return None
    return folder if folder.is_absolute() else None


def written(settings: Mapping[str, object]) -> bytes:
    """Settings as `FeatureCache.key` reads them, whatever their order."""
    return json.dumps(settings, sort_keys=True).encode()


def _checksum(key: str, payload: bytes | memoryview) -> bytes:
    """Checksum of an entry; with its key, so that no entry passes for another's."""
    digest = hashlib.blake2b(key.encode(), digest_size=CHECKSUM_BYTES)
    digest.update(payload)
    return digest.digest()


@lru_cache(maxsize=256)
def _parsed_header(header: bytes) -> tuple[np.dtype, tuple[int, ...]]:
    """Type and shape in the first bytes of an .npy file; most have the same."""
    file = io.BytesIO(header)
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return dtype, shape


class _Segments:
    """The segments of a folder: byte strings by keys of 20 bytes, which may come back damaged."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._lock = threading.RLock()
        self._begin()

    def _begin(self) -> None:
        """Forget all; a forked process must not write to its parent's segment."""
        self._process = os.getpid()
        self._places: dict[bytes, tuple[str, int]] = {}  # first 8 bytes of a key → segment, offset
        self._n_read: dict[str, int] = {}  # bytes of each index that are known
        self._refreshed = -1e9
        self._touched: dict[str, float] = {}
        self._own: _Writer | None = None

    def get(self, key: bytes, expected: bool) -> memoryview | None:
        """Entry of a key, or None; ``expected``: another process may have written it just now."""
        with self._lock:
            self._check_process()
            if key[:8] not in self._places and (
                expected or time.monotonic() - self._refreshed > REFRESH
            ):
                self._refresh()
            name, offset = self._places.get(key[:8], ("", 0))
        if not name:
            return None
        path = self.folder / f"{name}.vwc"
        try:
            with open_regular(path, follow_links=False) as file:
                file.seek(offset)
                head = file.read(HEAD_BYTES)
                size = int.from_bytes(head[KEY_BYTES:], "little")
                left = os.fstat(file.fileno()).st_size - file.tell()
                entry = file.read(size) if head[:KEY_BYTES] == key and size <= left else None
        except (OSError, ValueError, OverflowError):  # evicted meanwhile, or a forged place
            with self._lock:
                self._places.pop(key[:8], None)
            return None
        now = time.monotonic()
        if now - self._touched.get(name, -1e9) > TOUCH:  # for those who make room
            self._touched[name] = now
            with suppress(OSError):  # of another user
                os.utime(path)
        return None if entry is None else memoryview(entry)

    def put(self, key: bytes, entry: bytes, most_bytes: int | None) -> None:
        """Append an entry; what all segments may take is roughly ``most_bytes``.

        An entry of more than a fourth of that is not kept.
        """
        segment = SEGMENT_BYTES
        if most_bytes is not None:
            if len(entry) > most_bytes // 4:
                return
            segment = min(segment, most_bytes // FEWEST_SEGMENTS)
        with self._lock:
            self._check_process()
            own = self._own
            if own is None or own.size + len(entry) > segment or not os.path.lexists(own.path):
                self.close()
                if most_bytes is not None:
                    self._evict(most_bytes - segment)
                self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                own = self._own = _Writer(self.folder)
            self._places[key[:8]] = own.name, own.append(key, entry)

    def size(self) -> tuple[int, int]:
        """How many different entries are listed, and the bytes of all files."""
        with self._lock:
            self._refresh()
            sizes = {entry.stem: 0 for entry in self._files(".vwc")}
            n_entries = sum(name in sizes for name, _ in self._places.values())
        n_bytes = 0
        for path in (*self._files(".vwc"), *self._files(".vwi")):
            with suppress(FileNotFoundError):  # another process has deleted it meanwhile
                n_bytes += path.stat().st_size
        return n_entries, n_bytes

    def clear(self) -> None:
        """Delete all segments."""
        with self._lock:
            self.close()
            for path in (*self._files(".vwc"), *self._files(".vwi")):
                _delete(path)
            self._begin()

    def close(self) -> None:
        """Close this process's segment; the next entry begins another."""
        with self._lock:
            if self._own is not None:
                self._n_read[self._own.name] = PLACE_BYTES * self._own.n_entries
                self._own.close()
            self._own = None

    def _evict(self, most_bytes: int) -> None:
        """Delete the least recently used segments until the others fit."""
        segments = []
        for path in self._files(".vwc"):
            with suppress(OSError):
                status = path.stat(follow_symlinks=False)
                segments.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in segments)
        for _, size, path in sorted(segments):
            if total <= most_bytes:
                break
            total -= size * _delete(path)

    def _files(self, suffix: str) -> list[Path]:
        names: list[str] = []
        with suppress(OSError), os.scandir(self.folder) as scan:
            names = sorted(e.name for e in scan if SEGMENT.fullmatch(e.name))
        return [self.folder / name for name in names if name.endswith(suffix)]

    def _refresh(self) -> None:
        """Read what has been added to indices since the last time."""
        self._check_process()
        grown = []
        for path in self._files(".vwi"):
            if self._own is not None and path.stem == self._own.name:
                continue
            with suppress(OSError):
                status = path.stat(follow_symlinks=False)
                size = min(status.st_size, MOST_INDEX) // PLACE_BYTES * PLACE_BYTES
                if size > self._n_read.get(path.stem, 0):
                    grown.append((status.st_mtime_ns, path, size))
        for _, path, size in sorted(grown):  # of two entries with one key the later one counts
            begin = self._n_read.get(path.stem, 0)
            with suppress(OSError), open_regular(path, follow_links=False) as file:
                file.seek(begin)
                index = file.read(size - begin)
                if len(index) == size - begin:  # else it is being deleted
                    self._n_read[path.stem] = size
                    for key, offset in struct.iter_unpack("<8sQ", index):
                        self._places[key] = path.stem, offset
        self._refreshed = time.monotonic()

    def _check_process(self) -> None:
        if self._process != os.getpid():
            self._begin()


@cache
def _segments_of(folder: Path) -> _Segments:
    """Segments of a folder; all caches of a process share what they know of it."""
    return _Segments(folder)


class _Writer:
    """The segment that this process appends to."""

    def __init__(self, folder: Path):
        self.name = f"segment-{secrets.token_hex(8)}"
        self.path = folder / f"{self.name}.vwc"
        self._entries: BinaryIO = open(self.path, "xb", buffering=0)  # noqa: SIM115
        self._index: BinaryIO = open(folder / f"{self.name}.vwi", "xb", buffering=0)  # noqa: SIM115
        self.size = self.n_entries = 0

    def append(self, key: bytes, entry: bytes) -> int:
        """Write an entry, then list it; return where it begins."""
        offset = self.size
        _append(self._entries, offset, key + len(entry).to_bytes(8, "little") + entry)
        _append(self._index, PLACE_BYTES * self.n_entries, struct.pack("<8sQ", key[:8], offset))
        self.size += HEAD_BYTES + len(entry)
        self.n_entries += 1
        return offset

    def close(self) -> None:
        """Close both files; so does the end of the process."""
        for file in vars(self).get("_entries"), vars(self).get("_index"):
            if file is not None:  # else it could not be opened
                file.close()

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


def _delete(path: Path) -> bool:
    """Delete a segment and its index; False if it can't be, as on Windows while it is open."""
    try:
        for suffix in ".vwc", ".vwi":
            path.with_suffix(suffix).unlink(missing_ok=True)
    except OSError:
        return False
    return True
