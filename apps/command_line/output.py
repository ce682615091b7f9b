"""Files for results: checked before the work starts, and written atomically."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

from visualwords.errors import FolderError
from visualwords.files import write_atomically


def check_output(path: str) -> None:
    """Raise `FolderError` if a file can't be written there."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise FolderError(f"{path}: the folder {folder} does not exist; create it first")
    if not os.access(folder, os.W_OK):
        raise FolderError(f"{path}: the folder {folder} is not writable; choose another one")


@contextmanager
def results_in(path: str | None) -> Iterator[None]:
    """Write what the block prints to a file, atomically; to stdout if there is none."""
    if path is None:
        yield
        return
    with redirect_stdout(io.StringIO(newline="")) as printed:
        yield
    write_atomically(path, printed.getvalue().encode("utf-8", "surrogateescape"))
