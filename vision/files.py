"""Reading files without ever waiting, and writing them so that nobody meets half of one."""

import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

TEMPORARY = re.compile(r"\.writing-[0-9a-f]{16}(\.|$)")


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; anything else raises ``OSError``, a pipe without waiting.

    Examples
    --------
    >>> open_regular(os.curdir)
    Traceback (most recent call last):
    IsADirectoryError: [Errno 21] a folder, not a file
    """
    try:
        # O_NONBLOCK: opening a pipe without a writer would otherwise wait for one for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        if problem.errno == errno.ENXIO:  # a socket
            raise OSError(errno.ENXIO, "not a regular file") from None
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


def write_atomically(
    path: str | os.PathLike[str],
    content: bytes | Callable[[BinaryIO], object],
    durable: bool = True,
    *,
    temporary_folder: str | os.PathLike[str] | None = None,
) -> None:
    """Write a file under a temporary name, then rename it.

    Parameters
    ----------
    path : path-like
        Where the file goes; an existing file is replaced in one step. A link stays, and what it
        points to is replaced. Devices and pipes are refused: renaming would remove them.
    content : bytes, or a function that writes to the binary file it is given
    durable : bool
        Wait until the content is on the disk, so that even a power failure leaves the old file or
        the new one. Without it such a failure may leave a damaged file.
    temporary_folder : path-like, optional
        Where the temporary file is, on the same disk. By default it is beside the file, and
        what writers that were killed left there is removed.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "answer.txt"
    >>> write_atomically(target, b"42")
    >>> target.read_bytes()
    b'42'
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    folder = target.parent if temporary_folder is None else Path(temporary_folder)
    temporary = None
    try:
        if temporary_folder is None:
            remove_abandoned(folder)
        temporary, file = _create_temporary(folder, target.suffix)
        with file:
            if callable(content):
                content(file)
            else:
                file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
            os.replace(temporary, target)  # while the file is open, and so locked
    except OSError as problem:  # about the file that was asked for, not its temporary name
        _forget(temporary)
        raise OSError(problem.errno, problem.strerror, os.fspath(path)) from None
    except BaseException:  # Ctrl-C too must leave no litter
        _forget(temporary)
        raise


def remove_abandoned(folder: str | os.PathLike[str]) -> None:
    """Remove the temporary files that no living process holds: their writers were killed."""
    try:
        with os.scandir(folder) as entries:
            paths = [entry.path for entry in entries if TEMPORARY.match(entry.name)]
    except OSError:  # a folder may be written and yet not be listed
        return
    for path in paths:
        with suppress(OSError), open_regular(path) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)


def _create_temporary(folder: Path, suffix: str) -> tuple[Path, BinaryIO]:
    """Create a file whose lock ends with its writer, however that ends."""
    while True:
        path = folder / f".writing-{secrets.token_hex(8)}{suffix}"
        # Not mkstemp: its files are the owner's alone; here the umask decides, as for any file.
        file = open(path, "xb")  # noqa: SIM115  (the caller closes it)
        with suppress(OSError):  # a disk without locks: then nothing is ever taken for abandoned
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return path, file
        file.close()  # taken for abandoned in the moment before it was locked


def _forget(temporary: Path | None) -> None:
    if temporary is not None:
        temporary.unlink(missing_ok=True)
