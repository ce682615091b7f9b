"""Rows of numbers in a file: written once, a block at a time, and read in blocks."""

import os
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np


class RowFile:
    """A matrix in a file, of which memory holds the rows that are asked for and no others.

    Rows are read, not mapped: mapped pages would count as memory of the process. The object has
    only the file's name and shape, so that it can be sent to workers that see the same folder.

    Parameters
    ----------
    path : path-like
        Of a new file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = RowFile(os.path.join(folder, "rows"))
    ...     rows.append(np.array([[1, 2], [3, 4], [5, 6]], np.int8))
    ...     rows.shape, rows[1:].tolist()
    ((3, 2), [[3, 4], [5, 6]])
    """

    ndim = 2

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self.shape = (0, 0)
        self.dtype: Any = None
        self.path.write_bytes(b"")

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<RowFile: {self.shape[0]} × {self.shape[1]} {self.dtype}>"

    def append(self, rows: np.ndarray) -> None:
        """Write rows at the end; the first ones decide about columns and type."""
        if self.dtype is None:
            self.dtype, self.shape = rows.dtype, (0, rows.shape[1])
        if rows.dtype != self.dtype or rows.shape[1] != self.shape[1]:
            raise ValueError(f"{rows.shape[1]} columns of {rows.dtype} do not fit to {self!r}")
        with open(self.path, "ab") as file:
            file.write(np.ascontiguousarray(rows).data)
        self.shape = (self.shape[0] + len(rows), self.shape[1])

    def __getitem__(self, part: slice) -> np.ndarray:
        """Read neighbouring rows."""
        start, stop, step = part.indices(len(self))
        if step != 1:
            raise ValueError("a file gives neighbouring rows only")
        count, offset = max(stop - start, 0), start * self.shape[1] * self.dtype.itemsize
        try:
            rows = np.fromfile(self.path, self.dtype, count * self.shape[1], offset=offset)
        except FileNotFoundError as problem:
            raise FileNotFoundError(
                f"{self.path} is not there; the workers of a cluster need a cache folder that all "
                "machines mount (--cache)"
            ) from problem
        if rows.size < count * self.shape[1]:
            raise OSError(f"{self.path} is shorter than {self!r}")
        return rows.reshape(count, self.shape[1])


AnyRows: TypeAlias = np.ndarray | RowFile  # in memory or in a file
