"""Walking folders, reading files without blocking, and writing them so that no reader sees a part.

A file is written under a temporary name and then renamed. Where a system has POSIX locks, a
temporary file is locked as long as its writer lives, so that one left by a killed writer is
recognised at once. Elsewhere (Windows) an open file can be neither renamed nor deleted: it is
closed first, and a temporary file counts as abandoned once it is `ABANDONED_AFTER` seconds old.
"""

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, TypeAlias

from visualwords.errors import FolderError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NOT_IMAGES = frozenset(
    [
        *[".cache", ".csv", ".db", ".html", ".ini", ".json", ".jsonl", ".log", ".md", ".parquet"],
        *[".pdf", ".py", ".toml", ".tsv", ".txt", ".xml", ".yaml", ".yml", ".zip"],
    ]
)
IMAGE_SUFFIXES = frozenset(
    [
        *[".avif", ".bmp", ".gif", ".heic", ".jp2", ".jpeg", ".jpg", ".pgm", ".png", ".ppm"],
        *[".tif", ".tiff", ".webp"],
    ]
)
StrPath: TypeAlias = str | os.PathLike[str]
TEMPORARY = re.compile(r"\.writing-[0-9a-f]{16}(\.|$)")
ABANDONED_AFTER = 24 * 3600.0  # seconds; only where there are no locks
REPLACE_PATIENCE = 2.0  # seconds to wait for a reader that keeps Windows from replacing its file
READ_ONLY = (
    # O_NONBLOCK: opening a pipe without a writer would otherwise wait for one.
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
MOST_SETTINGS = 1 << 20  # bytes of a file of settings
NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)  # a disk that has none


def has_locks() -> bool:
    """Whether this system locks files as POSIX does, and renames those that are open."""
    return fcntl is not None


def lock_file(file: BinaryIO) -> bool:
    """Lock an open file until it is closed; False if another process has it locked.

    Where there are no locks, on some systems and disks, nothing is locked, and the answer is True.
    """
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a disk without locks
            pass
    return True


def open_regular(path: StrPath, *, follow_links: bool = True) -> BufferedReader:
    """Open a regular file for reading; anything else raises ``OSError``, a pipe without waiting.

    Examples
    --------
    >>> open_regular(os.curdir)
    Traceback (most recent call last):
    IsADirectoryError: [Errno 21] a folder, not a file
    """
    flags = READ_ONLY if follow_links else READ_ONLY | NO_LINKS
    try:
        try:
            descriptor = os.open(path, flags)
        except UnicodeEncodeError:  # a name from a machine with another locale
            descriptor = os.open(os.fspath(path).encode("utf-8", "surrogateescape"), flags)
    except OSError as problem:
        if problem.errno == errno.ENXIO:  # a socket
            raise OSError(errno.ENXIO, "not a regular file") from None
        if os.path.isdir(path):  # Windows does not open folders
            raise IsADirectoryError(errno.EISDIR, "a folder, not a file") from None
        raise
    except ValueError:  # a zero byte in the name
        raise OSError(errno.EINVAL, "not a name of a file") from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "a folder, not a file")
    raise OSError(errno.EINVAL, "not a regular file")


def read_settings(path: StrPath, most: int = MOST_SETTINGS) -> bytes:
    """The content of a small regular file; ``OSError`` if it is larger, or none."""
    with open_regular(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"larger than the {most:,} bytes that are read")
    return content


def write_atomically(
    path: StrPath,
    content: bytes | Callable[[BinaryIO], object],
    durable: bool = True,
) -> None:
    """Write a file under a temporary name, then rename it.

    Parameters
    ----------
    path : path-like
        Where the file goes; an existing file is replaced in one step. A link is replaced, and
        what it points to stays: whoever made the link does not choose what is overwritten.
        Devices and pipes, and links to them, are refused: renaming would remove them.
    content : bytes, or a function that writes to the binary file it is given
    durable : bool
        Wait until the content is on the disk, so that even a power failure leaves the old file or
        the new one. Without it such a failure may leave a damaged file.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "answer.txt"
    >>> write_atomically(target, b"42")
    >>> target.read_bytes()
    b'42'
    """
    target = Path(os.path.abspath(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    temporary = None
    try:
        remove_abandoned(target.parent)
        temporary, file = create_temporary(target.parent, target.suffix)
        with file:
            if callable(content):
                content(file)
            else:
                file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
            if has_locks():
                os.replace(temporary, target)  # while the file is open, and so locked
        if not has_locks():
            _replace_patiently(temporary, target)
    except BaseException as problem:  # Ctrl-C too must leave no litter
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(problem, OSError):  # of the file that was asked for, not its temporary name
            raise OSError(problem.errno, problem.strerror, os.fspath(path)) from None
        raise


def remove_abandoned(folder: StrPath) -> None:
    """Remove the temporary files of writers that were killed."""
    try:
        with os.scandir(folder) as entries:
            paths = [entry.path for entry in entries if TEMPORARY.match(entry.name)]
    except OSError:  # a folder may be written and yet not be listed
        return
    for path in paths:
        with suppress(OSError):
            if fcntl is None:
                if time.time() - os.stat(path).st_mtime > ABANDONED_AFTER:
                    os.unlink(path)
                continue
            with open_regular(path) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path)


def create_temporary(folder: Path, suffix: str = "") -> tuple[Path, BinaryIO]:
    """Create a file whose lock, where there are locks, ends with its writer."""
    while True:
        path = folder / f".writing-{secrets.token_hex(8)}{suffix}"
        # Not mkstemp: its files are the owner's alone; here the umask decides, as for any file.
        file = open(path, "xb")  # noqa: SIM115  (the caller closes it)
        if fcntl is None:
            return path, file
        with suppress(OSError):  # a disk without locks: then nothing is ever taken for abandoned
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return path, file
        file.close()  # removed as abandoned in the moment before it was locked


def move_without_replacing(source: StrPath, target: StrPath) -> None:
    """Give a file another name; unlike renaming, this fails where a file has that name.

    Raises
    ------
    FileExistsError
    """
    try:
        os.link(source, target)
    except OSError as problem:
        if problem.errno not in NO_HARD_LINKS:
            raise
        with open(target, "xb"):  # reserve the name
            pass
        take_away = partial(os.replace, source, target)
    else:
        take_away = partial(os.unlink, source)
    try:
        take_away()
    except OSError:
        os.unlink(target)  # the file is where it was
        raise


def _replace_patiently(temporary: Path, target: Path) -> None:
    """Rename a closed file; on Windows a reader of the target may delay that for a moment."""
    end = time.monotonic() + REPLACE_PATIENCE
    while True:
        try:
            os.replace(temporary, target)
            return
        except PermissionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


# Walking folders by names only


def list_files(folder: StrPath) -> tuple[list[str], list[tuple[str, str]]]:
    """The candidate files of a folder without labels, and what can't be an image."""
    skipped: list[tuple[str, str]] = []
    return sorted(files_below(os.fspath(folder), skipped), key=os.fsencode), skipped


def folders_in(root: str) -> dict[str, str]:
    """The visible sub-folders of a folder, name → path, sorted by name."""
    return _entries(root, "folder")


def files_in(root: str) -> dict[str, str]:
    """The visible regular files of a folder itself, name → path, sorted by name."""
    return _entries(root, "file")


def images_in(root: str) -> dict[str, str]:
    """Those files of a folder itself that may be images."""
    return {name: path for name, path in files_in(root).items() if _suffix(name) not in NOT_IMAGES}


def files_below(folder: str, skipped: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the candidate files of a folder and its sub-folders; append what can't be an image."""
    seen = set()
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        try:
            status = os.stat(current)
            if (status.st_dev, status.st_ino) in seen:  # a link back to a folder already listed
                continue
            seen.add((status.st_dev, status.st_ino))
            entries = _visible(current)
        except OSError as problem:  # no permission, or gone since its parent was listed
            skipped.append((current, (problem.strerror or "can't be listed").lower()))
            continue
        folders = []
        for name, path, kind in entries:
            if kind == "folder" and _suffix(name) in IMAGE_SUFFIXES:
                skipped.append((path, "a folder, not a file"))
            elif kind == "folder":
                folders.append(path)
            elif kind == "file" and _suffix(name) not in NOT_IMAGES:
                yield path
            elif _suffix(name) not in NOT_IMAGES:
                skipped.append((path, "not a regular file"))
        # Sorted: of two links to one folder the same one is followed, whatever the order on disk.
        waiting += sorted(folders, key=os.fsencode, reverse=True)


def _entries(root: str, kind: str) -> dict[str, str]:
    try:
        paths = {name: path for name, path, found in _visible(root) if found == kind}
    except OSError as problem:
        raise FolderError(f"{root}: {(problem.strerror or str(problem)).lower()}") from None
    return dict(sorted(paths.items(), key=lambda pair: os.fsencode(pair[0])))


def _visible(folder: str) -> list[tuple[str, str, str]]:
    """Name, path and kind (folder, file, other) of all that is not hidden; links are followed."""
    found = []
    with os.scandir(folder) as scan:
        for entry in scan:
            if entry.name.startswith(".") or entry.name == "__MACOSX":
                continue
            kind = "other"
            with suppress(OSError):  # of a link that leads back to itself
                kind = "folder" if entry.is_dir() else "file" if entry.is_file() else kind
            found.append((entry.name, entry.path, kind))
    return found


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()
