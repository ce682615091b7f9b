"""A cache of features on disk that can be wrong, old, shared or interrupted without harm.

An entry is keyed by a fingerprint of the image file's bytes and by what was computed from them (the
name, parameters and version of an extractor and of the preprocessing). It carries a checksum of its
key and content, which detects corruption, not tampering: the folder is made for its user alone, and
whoever else may write to it is reported. Damaged entries count as absent. Links are neither read
nor written through.

Many small entries are in few files, `segment-….vwc`, that any number of processes read. Each
process appends to a segment of its own, which is never renamed or changed otherwise: a key, a size
and as many bytes, again and again. What a killed writer left incomplete is never read. A folder
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
from visualwords.files import StrPath, open_regular

DEFAULT_SIZE = 10_000_000_000  # bytes
CHECKSUM_BYTES = 16
KEY_BYTES = 20
HEAD_BYTES = KEY_BYTES + 8  # of an entry: its key and its size
KINDS = "biufV"  # of numbers, and of records of them
SEGMENT_BYTES = 64 << 20  # no entry begins behind them
FEWEST_SEGMENTS = 16  # that fit in a folder: smaller limits have smaller segments
REFRESH = 0.2  # seconds until a key that is not known is looked for in the files of others again
TOUCH = 60.0  # seconds between two notes that a segment is in use
SEGMENT = re.compile(r"segment-[0-9a-f]{16}\.vwc")


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

    def __init__(self, folder: StrPath, most_bytes: int | None = DEFAULT_SIZE):
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
        payload = memoryview(entry)[CHECKSUM_BYTES:]
        if entry[:CHECKSUM_BYTES] != _checksum(key, payload):
            return None
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
        # A write that fails is passed over: the feature is at hand, only the next run is slower.
        with suppress(OSError):
            entry = _checksum(key, payload) + payload
            self._segments.put(bytes.fromhex(key), entry, self.most_bytes)

    def size(self) -> tuple[int, int]:
        """How many entries there are, and their bytes."""
        return self._segments.size()

    def clear(self) -> tuple[int, int]:
        """Delete all entries and nothing else; return how many there were, and their bytes."""
        return self._segments.clear()

    def close(self) -> None:
        """Close the file that this process writes to, so that Windows can delete it."""
        self._segments.close()


def open_cache(folder: StrPath, most_bytes: int | None = DEFAULT_SIZE) -> FeatureCache:
    """Open the cache in a folder.

    A folder that other users can write to is reported by a warning; if it is the default one, which
    nobody shares on purpose, by a `FolderError`.
    """
    with suppress(OSError, AttributeError):  # Windows has neither owners nor such modes
        status, user = os.stat(folder), os.geteuid()
        owner = None
        if status.st_uid not in (user, 0):
            owner = f"belongs to another user ({status.st_uid})"
        elif status.st_mode & stat.S_IWOTH:
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
        self._places: dict[bytes, tuple[Path, int, int]] = {}  # key → segment, offset, bytes
        self._n_read: dict[Path, int] = {}  # bytes of each segment whose entries are known
        self._refreshed = -1e9
        self._touched: dict[Path, float] = {}
        self._own: tuple[Path, BinaryIO] | None = None  # what this process appends to

    def get(self, key: bytes, expected: bool) -> bytes:
        """Entry of a key, or nothing; ``expected``: another process may have just written it."""
        with self._lock:
            if key not in self._places and (
                expected or time.monotonic() - self._refreshed > REFRESH
            ):
                self._refresh()
            if key not in self._places:
                return b""
            path, offset, size = self._places[key]
        try:
            with open_regular(path, follow_links=False) as file:
                file.seek(offset)
                entry = file.read(size)
        except OSError:  # evicted meanwhile
            with self._lock:
                self._places.pop(key, None)
            return b""
        now = time.monotonic()
        if now - self._touched.get(path, -1e9) > TOUCH:  # for those who make room
            self._touched[path] = now
            with suppress(OSError):  # of another user
                os.utime(path)
        return entry

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
            own = self._own
            is_there = own is not None and os.path.lexists(own[0])
            if own is None or not is_there or own[1].tell() + len(entry) > segment:
                self.close()
                if most_bytes is not None:
                    self._evict(most_bytes - segment)
                self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                path = self.folder / f"segment-{secrets.token_hex(8)}.vwc"
                own = self._own = path, open(path, "xb", buffering=0)  # noqa: SIM115
            path, file = own
            content = key + len(entry).to_bytes(8, "little") + entry
            begin = file.tell()
            try:
                if file.write(content) != len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                self.close()  # what lies behind a part of an entry could not be found
                raise
            self._places[key] = path, begin + HEAD_BYTES, len(entry)
            self._n_read[path] = begin + len(content)

    def size(self) -> tuple[int, int]:
        """How many different entries are listed, and the bytes of all files."""
        with self._lock:
            self._refresh()
            sizes = self._files()
            n_entries = sum(path in sizes for path, _, _ in self._places.values())
        return n_entries, sum(status.st_size for status in sizes.values())

    def clear(self) -> tuple[int, int]:
        """Delete all segments; return what their `size` was."""
        with self._lock:
            size = self.size()
            self.close()
            for path in self._files():
                _delete(path)
            self._places.clear()
            self._n_read.clear()
        return size

    def close(self) -> None:
        """Close this process's segment; the next entry begins another."""
        with self._lock:
            if self._own is not None:
                self._own[1].close()
            self._own = None

    def _evict(self, most_bytes: int) -> None:
        """Delete the least recently used segments until the others fit."""
        sizes = self._files()
        total = sum(status.st_size for status in sizes.values())
        for path in sorted(sizes, key=lambda path: sizes[path].st_mtime_ns):
            if total <= most_bytes:
                break
            total -= sizes[path].st_size * _delete(path)

    def _files(self) -> dict[Path, os.stat_result]:
        sizes = {}
        with suppress(OSError), os.scandir(self.folder) as scan:
            for name in sorted(entry.name for entry in scan if SEGMENT.fullmatch(entry.name)):
                path = self.folder / name
                with suppress(OSError):  # another process has deleted it meanwhile
                    sizes[path] = path.stat(follow_symlinks=False)
        return sizes

    def _refresh(self) -> None:
        """Find what has been added to segments since the last time."""
        sizes = self._files()
        # of two entries with one key the later one counts
        for path in sorted(sizes, key=lambda path: sizes[path].st_mtime_ns):
            end, place = sizes[path].st_size, self._n_read.get(path, 0)
            if place >= end:
                continue
            with suppress(OSError), open_regular(path, follow_links=False) as file:
                while place < min(end, SEGMENT_BYTES):
                    file.seek(place)
                    head = file.read(HEAD_BYTES)
                    begin, size = place + HEAD_BYTES, int.from_bytes(head[KEY_BYTES:], "little")
                    if begin + size > end:  # not complete yet
                        break
                    self._places[head[:KEY_BYTES]] = path, begin, size
                    place = begin + size
                self._n_read[path] = place
        self._refreshed = time.monotonic()


@cache
def _segments_of(folder: Path) -> _Segments:
    """Segments of a folder; all caches of a process share what they know of it."""
    return _Segments(folder)


if hasattr(os, "register_at_fork"):  # a forked process must not write to its parent's segment
    os.register_at_fork(after_in_child=_segments_of.cache_clear)


def _delete(path: Path) -> bool:
    """Delete a segment; False if it can't be, as on Windows while it is open."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True
