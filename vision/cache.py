"""A cache of features on disk that can be wrong, old, shared or interrupted without harm.

An entry is keyed by a fingerprint of the image file's bytes and by what was computed from them (the
name, parameters and version of an extractor and of the preprocessing). It carries a checksum of its
key and content, in the user's default cache with a secret. Whatever does not check out counts as
absent and is computed again. Entries are in few files (`visualwords.segments`), of which the least
recently used are deleted when the cache exceeds its size. Links are neither read nor written
through.
"""

import hashlib
import hmac
import io
import json
import os
import re
import stat
import warnings
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from visualwords.cache_secret import secret_of
from visualwords.segments import KEY_BYTES, SegmentFolder, segment_folder

MAGIC = b"VWCACHE1"
CHECKSUM_BYTES = 16
KINDS = "biufV"  # of numbers, and of records of them
DEFAULT_SIZE = 10_000_000_000  # bytes
_OLD = re.compile(r"[0-9a-f]{2}/([0-9a-f]{38}|\.writing-[0-9a-f]{16})\.npy")  # of older versions
_without_old: set[Path] = set()  # folders whose entries of older versions were deleted


class FeatureCache:
    """Arrays on disk, found by the content they were computed from.

    Parameters
    ----------
    folder : path-like
        Created when the first entry is written.
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
        self._is_own = self.folder == default_folder()

    @property
    def _secret(self) -> bytes:
        """What checksums depend on; empty in a cache that may be shared."""
        return secret_of(self.folder) if self._is_own else b""

    @staticmethod
    def key(fingerprint: bytes, settings: dict[str, Any] | bytes) -> str:
        """Return the name of what ``settings`` compute from the content with a ``fingerprint``.

        Settings that many files share are better given as `written` has them.
        """
        text = settings if isinstance(settings, bytes) else written(settings)
        digest = hashlib.blake2b(text, digest_size=20)
        digest.update(b"\0")  # JSON has no zero byte: where the settings end is beyond doubt
        digest.update(fingerprint)
        return digest.hexdigest()

    def get(self, key: str, *, expected: bool = False) -> np.ndarray | None:
        """Return the array of a key, or None if there is no entry or it is not intact.

        Parameters
        ----------
        key : str
        expected : bool
            Whether another process has just put it there.
        """
        try:
            entry = self._load(key, expected)
        except OSError:
            return None
        if entry is None:
            return None
        start = len(MAGIC) + CHECKSUM_BYTES
        checksum, payload = entry[len(MAGIC) : start], memoryview(entry)[start:]
        true = _checksum(key, payload, self._secret)
        if not entry.startswith(MAGIC) or not hmac.compare_digest(checksum, true):
            return None
        return _array_of(payload)

    def put(self, key: str, array: np.ndarray) -> None:
        """Keep an array; a disk that is full or read-only makes this a no-op."""
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.asarray(array, order="C"), (1, 0), allow_pickle=False)
        payload = buffer.getvalue()
        # A write that fails is passed over: the feature is at hand, only the next run is slower.
        with suppress(OSError):
            self._store(key, MAGIC + _checksum(key, payload, self._secret) + payload)

    def size(self) -> tuple[int, int]:
        """Return how many entries there are, and their bytes."""
        files = [*self._segments.segments(), *self._segments.indices()]
        return self._segments.n_entries(), sum(map(_size, files))

    def clear(self) -> tuple[int, int]:
        """Delete all entries and nothing else; return how many there were, and their bytes."""
        n_entries, n_bytes = self.size()
        self._segments.clear()
        n_old, old_bytes = self._clear_old()
        return n_entries + n_old, n_bytes + old_bytes

    def close(self) -> None:
        """Close the file that this process writes to, so that Windows can delete it."""
        self._segments.close()

    def _clear_old(self) -> tuple[int, int]:
        """Delete what older versions left, a file for each entry."""
        n_entries = n_bytes = 0
        for path in list(self.folder.glob("??/*.npy")):
            if _OLD.fullmatch(f"{path.parent.name}/{path.name}") and not path.parent.is_symlink():
                n_bytes += _size(path)
                n_entries += 1
                path.unlink(missing_ok=True)
        for folder in list(self.folder.glob("??")):
            with suppress(OSError):  # not empty: it holds files of others
                folder.rmdir()
        return n_entries, n_bytes

    @property
    def _segments(self) -> SegmentFolder:
        return segment_folder(self.folder)

    def _load(self, key: str, expected: bool) -> bytes | None:
        return self._segments.get(_name(key), expected=expected)

    def _store(self, key: str, entry: bytes) -> None:
        if self._is_own and self.folder not in _without_old:
            _without_old.add(self.folder)
            self._clear_old()
        self._segments.put(_name(key), entry, self.most_bytes)


def open_cache(
    place: str | os.PathLike[str], most_bytes: int | None = DEFAULT_SIZE
) -> FeatureCache:
    """Return the cache in a folder, or at a URL, which has no limit of its size."""
    if isinstance(place, str) and "://" in place:
        from visualwords.remote_cache import RemoteCache

        return RemoteCache(place)
    problem = _why_not_trusted(place)
    if problem is not None:
        warnings.warn(problem, stacklevel=2)
    return FeatureCache(place, most_bytes)


def _why_not_trusted(folder: str | os.PathLike[str]) -> str | None:
    """Return a sentence if others can write to a cache; None if they can't, or it is not there."""
    if not hasattr(os, "geteuid"):
        return None
    try:
        status = os.stat(folder)
    except OSError:
        return None
    if status.st_uid not in (os.geteuid(), 0):
        found = f"belongs to another user ({status.st_uid})"
    elif status.st_mode & stat.S_IWOTH:
        found = "is writable by all users of this machine"
    else:
        return None
    return (
        f"the cache {os.fspath(folder)} {found}, who can change the models made with it; "
        "choose another with --cache, or run: chmod go-w on it"
    )


def written(settings: dict[str, Any]) -> bytes:
    """Return settings as `FeatureCache.key` reads them, whatever their order."""
    return json.dumps(settings, sort_keys=True).encode()


def default_folder() -> Path | None:
    """Return the user's cache folder for features; None where there is no home."""
    try:
        folder = Path(platformdirs.user_cache_dir("visualwords", appauthor=False))
    except (RuntimeError, KeyError):
        return None
    return folder if folder.is_absolute() else None


def _name(key: str) -> bytes:
    """Return a key as the name of an entry in segments."""
    return bytes.fromhex(key).ljust(KEY_BYTES, b"\0")


def _size(path: Path) -> int:
    """Return the bytes of a file; 0 if another process has deleted it meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _checksum(key: str, payload: bytes | memoryview, secret: bytes) -> bytes:
    """Return the checksum of an entry; with its key, so that no entry passes for another's."""
    digest = hashlib.blake2b(key.encode(), digest_size=CHECKSUM_BYTES, key=secret)
    digest.update(payload)
    return digest.digest()


def _array_of(payload: memoryview) -> np.ndarray | None:
    """Return the array of an .npy file without copying its numbers; it can't be written to.

    None if it is none that `FeatureCache.put` writes, or has numbers that are not finite.
    """
    start = 10 + int.from_bytes(payload[8:10], "little")
    try:
        dtype, shape = _parsed_header(bytes(payload[:start]))
        array = np.frombuffer(payload, dtype, offset=start).reshape(shape)
    except Exception:  # a header that others wrote can be wrong in any way
        return None
    if dtype.kind not in KINDS or (dtype.kind == "f" and not np.isfinite(array).all()):
        return None
    return array


@lru_cache(maxsize=256)
def _parsed_header(header: bytes) -> tuple[np.dtype, tuple[int, ...]]:
    """Return the type and shape that the first bytes of an .npy file tell; most have the same."""
    file = io.BytesIO(header)
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.hasobject:
        raise ValueError("objects")
    return dtype, shape
