"""Copies of images, sorted into one folder a label; nothing is moved, nothing overwritten."""

import errno
import fcntl
import filecmp
import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

from visualwords.files import open_regular, remove_abandoned
from visualwords.progress import Progress, Silent

UNKNOWN = "unknown"
LONGEST_NAME = 200  # bytes of a folder's name; file systems allow 255


def sort_images(
    paths: Sequence[str],
    labels: Sequence[str],
    folder: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
) -> list[str]:
    """Copy images into ``folder/label/``.

    A name that is taken gets a number: ``1.jpg``, ``1-2.jpg``, ``1-3.jpg``. A file that is there
    already, with the same name and content, is not copied again, so that a second run adds only
    what is new. Copies appear complete or not at all.

    Parameters
    ----------
    paths, labels : sequences of str
    folder : path-like
        Made if it is not there.
    progress : Progress, optional

    Returns
    -------
    list of str
        Where the copies are.

    Examples
    --------
    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> _ = (root / "1.jpg").write_bytes(b"a sunset")
    >>> target, = sort_images([str(root / "1.jpg")], ["evening"], root / "sorted")
    >>> Path(target).relative_to(root).as_posix()
    'sorted/evening/1.jpg'
    """
    progress = progress or Silent()
    progress.start("copying images", len(paths))
    copies = []
    for path, label in zip(paths, labels):
        copies.append(_copy(path, Path(folder, folder_name(label))))
        progress.advance()
    return copies


def folder_name(label: str) -> str:
    """Return a label as the name of one folder, whatever characters it has.

    Examples
    --------
    >>> folder_name("../sea side"), folder_name("..")
    ('.._sea side', '_')
    """
    name = label.replace("/", "_").replace("\0", "_")
    name = os.fsdecode(os.fsencode(name)[:LONGEST_NAME])
    return "_" if name in ("", ".", "..") else name


def _copy(path: str, folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    remove_abandoned(folder)
    temporary = folder / f".writing-{secrets.token_hex(8)}"
    try:
        with open_regular(path) as source, open(temporary, "xb") as target:
            fcntl.flock(target, fcntl.LOCK_EX)  # it is not abandoned
            shutil.copyfileobj(source, target)
            target.flush()
            shutil.copystat(path, temporary)
            return _give_name(temporary, folder, Path(path))
    except OSError as problem:
        raise OSError(problem.errno, f"not copied to {folder}: {problem.strerror}", path) from None
    finally:
        temporary.unlink(missing_ok=True)


def _give_name(temporary: Path, folder: Path, original: Path) -> str:
    """Name a complete copy; the name is free, or has the same content."""
    number = 1
    while True:
        suffix = "" if number == 1 else f"-{number}"
        target = folder / f"{original.stem}{suffix}{original.suffix}"
        try:
            _name(temporary, target)
            return str(target)
        except FileExistsError:
            if target.is_file() and filecmp.cmp(temporary, target, shallow=False):
                return str(target)
            number += 1


def _name(temporary: Path, target: Path) -> None:
    """Give a file a second name; unlike renaming, this fails where a file has that name."""
    try:
        os.link(temporary, target)
    except OSError as problem:
        if problem.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
            raise
        with open(target, "xb"):  # a disk without second names: reserve it, then take it
            os.replace(temporary, target)
