"""A cache of features on disk that can be wrong, old, shared or interrupted without harm.

An entry is keyed by a fingerprint of the image file's bytes and by what was computed from them (the
name, parameters and version of an extractor and of the preprocessing). It carries a checksum of its
key and content, in the user's default cache with a secret. Whatever does not check out counts as
absent and is computed again. Links are neither read nor written through.
"""

import errno
import hashlib
import hmac
import io
import json
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from visualwords.cache_secret import secret_of, why_not_trusted
from visualwords.files import open_regular, remove_abandoned, write_atomically

MAGIC = b"VWCACHE1"
CHECKSUM_BYTES = 16
KINDS = "biufV"  # of numbers, and of records of them
_ENTRY = re.compile(r"[0-9a-f]{2}/[0-9a-f]{38}\.npy")  # a folder may hold files of others
_HALF = re.compile(r"[0-9a-f]{2}/\.writing-[0-9a-f]{16}\.npy")  # left by a process that was killed


class FeatureCache:
    """Arrays on disk, found by the content they were computed from.

    Parameters
    ----------
    folder : path-like
        Created when the first entry is written.

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

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = Path(folder)
        self._is_swept = False
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

    def get(self, key: str) -> np.ndarray | None:
        """Return the array of a key, or None if there is no entry or it is not intact."""
        try:
            entry = self._load(key)
        except OSError:
            return None
        start = len(MAGIC) + CHECKSUM_BYTES
        checksum, payload = entry[len(MAGIC) : start], memoryview(entry)[start:]
        expected = _checksum(key, payload, self._secret)
        if not entry.startswith(MAGIC) or not hmac.compare_digest(checksum, expected):
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

    def entries(self) -> Iterator[Path]:
        """Yield the files of the cache."""
        return self._files(_ENTRY)

    def _files(self, pattern: re.Pattern[str]) -> Iterator[Path]:
        for path in self.folder.glob("??/*.npy"):
            if (
                pattern.fullmatch(f"{path.parent.name}/{path.name}")
                and not path.parent.is_symlink()
            ):
                yield path

    def size(self) -> tuple[int, int]:
        """Return how many entries there are, and their bytes."""
        sizes = [_size(path) for path in self.entries()]
        return len(sizes), sum(sizes)

    def clear(self) -> tuple[int, int]:
        """Delete all entries and nothing else; return how many there were, and their bytes."""
        n_entries = n_bytes = 0
        for path in [*self.entries(), *self._files(_HALF)]:
            n_bytes += _size(path)
            n_entries += 1
            path.unlink(missing_ok=True)
        for folder in list(self.folder.glob("??")):
            with suppress(OSError):  # not empty: it holds files of others
                folder.rmdir()
        return n_entries, n_bytes

    def _load(self, key: str) -> bytes:
        folder = f"{self.folder}/{key[:2]}"
        if os.path.islink(folder):
            raise OSError(errno.ELOOP, "a link in a cache")
        with open_regular(f"{folder}/{key[2:]}.npy", follow_links=False) as file:
            return file.read()

    def _store(self, key: str, entry: bytes) -> None:
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent.is_symlink():
            raise OSError(errno.ELOOP, "a link in a cache")
        self._sweep()
        # Not durable: the checksum tells what a power failure did to an entry.
        write_atomically(path, entry, durable=False, temporary_folder=self.folder)

    def _sweep(self) -> None:
        """Remove, once, what writers that were killed left; it is all in one place."""
        if not self._is_swept:
            remove_abandoned(self.folder)
            self._is_swept = True

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.npy"


def open_cache(place: str | os.PathLike[str]) -> FeatureCache:
    """Return the cache in a folder, or at a URL; a folder is named absolutely for workers."""
    if isinstance(place, str) and "://" in place:
        from visualwords.remote_cache import RemoteCache

        return RemoteCache(place)
    problem = why_not_trusted(place)
    if problem is not None:
        warnings.warn(problem, stacklevel=2)
    return FeatureCache(os.path.abspath(place))


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
    except Exception:  # a header by another hand can be wrong in any way
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
