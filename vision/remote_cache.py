"""The feature cache at a place that is no folder: an object store, another machine."""

import os
from typing import Any

from visualwords.cache import FeatureCache
from visualwords.errors import FolderError

__all__ = ["RemoteCache"]


class RemoteCache(FeatureCache):
    """Arrays at any location that fsspec reaches, found by the content they were computed from.

    An entry that was written in part, or by another, fails its checksum and counts as absent.

    Parameters
    ----------
    url : str
        ``s3://bucket/features``, ``ssh://host/path``, ``memory://features``, …

    Examples
    --------
    >>> import numpy as np
    >>> cache = RemoteCache("memory://features")
    >>> cache.put("0a", np.arange(3))
    >>> cache.get("0a")
    array([0, 1, 2])
    """

    def __init__(self, url: str):
        self.url = url.rstrip("/")
        self._is_own = False
        self.most_bytes = None
        try:
            self._files_of_url()
        except ImportError as problem:
            raise FolderError(f"{url}: needs a package that is not installed ({problem})") from None
        except ValueError as problem:
            raise FolderError(f"{url}: {problem}") from None

    def size(self) -> tuple[int, int]:
        """Return how many entries there are, and their bytes."""
        files, root = self._files_of_url()
        sizes = [entry["size"] for entry in files.find(root, detail=True).values()]
        return len(sizes), sum(sizes)

    def clear(self) -> tuple[int, int]:
        """Delete all entries; return how many there were, and their bytes."""
        n_entries, n_bytes = self.size()
        files, root = self._files_of_url()
        for name in files.find(root):
            if name.endswith(".npy"):
                files.rm_file(name)
        return n_entries, n_bytes

    def close(self) -> None:
        """Do nothing: every entry is a file of its own."""

    def _load(self, key: str, expected: bool) -> bytes:
        files, root = self._files_of_url()
        return files.cat_file(f"{root}/{self._name(key)}")

    def _store(self, key: str, entry: bytes) -> None:
        files, root = self._files_of_url()
        name = f"{root}/{self._name(key)}"
        files.makedirs(os.path.dirname(name), exist_ok=True)
        files.pipe_file(name, entry)

    def _name(self, key: str) -> str:
        return f"{key[:2]}/{key[2:]}.npy"

    def _files_of_url(self) -> tuple[Any, str]:
        """Return the file system, which fsspec remembers, and the path in it."""
        try:
            import fsspec
        except ImportError:
            raise FolderError(
                f"{self.url}: a cache at a URL needs fsspec: pip install fsspec"
            ) from None
        return fsspec.core.url_to_fs(self.url)
