"""Data larger than memory: iterables of blocks of rows, and rows of pairs kept on disk.

A block is ``(X, y)`` or ``(X, y, sample_weight)``. Training goes over the blocks a few times, so
they must come from something that can be iterated again: a list, or one of the classes here.
"""

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from visualwords.classifiers.low_rank.level_rows import LevelRows

_ANY_NUMBER = 2**31 - 1  # of features, while it is not known


class ArrayBlocks:
    """Blocks of consecutive rows of arrays that may be mapped from disk.

    Parameters
    ----------
    X : (n, d) array, ``numpy.memmap``, or CSR matrix of such
    y : (n,) array
    n_rows : int, default=65536
        Rows of a block.

    Examples
    --------
    >>> blocks = ArrayBlocks(np.eye(5), np.arange(5), n_rows=2)
    >>> [len(y) for X, y in blocks]
    [2, 2, 1]
    """

    def __init__(self, X: Any, y: Any, n_rows: int = 65536):
        self.X, self.y, self.n_rows = X, y, n_rows

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for start in range(0, self.X.shape[0], self.n_rows):
            rows = slice(start, start + self.n_rows)
            yield self.X[rows], self.y[rows]
            _release_pages(self.X)


def _release_pages(array: Any) -> None:
    """Give back the memory that holds what was read of a file mapped for reading."""
    mapped = getattr(array, "_mmap", None)
    if mapped is not None and array.mode == "r" and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


class SvmlightBlocks:
    """Blocks of a text file in LIBSVM's format, parsed by scikit-learn a few megabytes at a time.

    Parameters
    ----------
    path : path-like
    n_features : int, optional
        Default: found by reading the file once.
    n_bytes : int, default=2**25
        Text of a block.
    zero_based : bool, default=False
        Whether the first feature is number 0; LIBSVM's own is 1.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "toy.txt"
    >>> _ = path.write_text("1 1:0.5 3:2\\n-1 2:1\\n")
    >>> [X.toarray().tolist() for X, y in SvmlightBlocks(path)]
    [[[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]]]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        n_features: int | None = None,
        *,
        n_bytes: int = 1 << 25,
        zero_based: bool = False,
    ):
        self.path, self.n_bytes, self.zero_based = Path(path), n_bytes, zero_based
        if n_features is None:
            n_features = max(X.indices.max(initial=-1) + 1 for X, _ in self._read(_ANY_NUMBER))
        self.n_features = int(n_features)

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        return self._read(self.n_features)

    def _read(self, n_features: int) -> Iterator[tuple[Any, np.ndarray]]:
        for offset in range(0, self.path.stat().st_size, self.n_bytes):
            X, y = load_svmlight_file(
                self.path,
                n_features=n_features,
                dtype=np.float32,
                zero_based=self.zero_based,
                offset=offset,
                length=self.n_bytes,
            )
            if y.size:
                yield X, y


class StoredLevelRows:
    """Rows of pairs in a folder, one chunk in three ``.npy`` files, read when asked for.

    Parameters
    ----------
    folder : path-like
        Must exist.
    """

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = Path(folder)
        self.sizes: list[int] = []

    def append(self, rows: LevelRows) -> None:
        """Write one more chunk."""
        for name in ("columns", "levels", "bounds"):
            np.save(self._path(len(self.sizes), name), getattr(rows, name), allow_pickle=False)
        self.sizes.append(len(rows))

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, k: int) -> LevelRows:
        parts = ("columns", "levels", "bounds")
        return LevelRows(*(np.load(self._path(k, name), allow_pickle=False) for name in parts))

    def _path(self, k: int, name: str) -> Path:
        return self.folder / f"{k:06d}-{name}.npy"
