"""Check where results are to be written before the work starts, not after."""

import os

from visualwords.errors import FolderError


def check_output(path: str) -> None:
    """Raise `FolderError` if a file can't be written there."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise FolderError(f"{path}: the folder {folder} does not exist; create it first")
    if not os.access(folder, os.W_OK):
        raise FolderError(f"{path}: the folder {folder} is not writable; choose another one")
