"""Reading files without ever waiting, and writing them so that nobody meets half of one."""

import errno
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


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
    *,
    durable: bool = True,
) -> None:
    """Write a file under a temporary name beside it, then rename it.

    Parameters
    ----------
    path : path-like
        Where the file goes; an existing file is replaced in one step. A link stays, and what it
        points to is replaced. Devices and pipes are refused: renaming would remove them.
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
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    temporary = target.with_name(f".writing-{secrets.token_hex(8)}{target.suffix}")
    try:
        # Not mkstemp: its files are the owner's alone; here the umask decides, as for any file.
        with open(temporary, "xb") as file:
            if callable(content):
                content(file)
            else:
                file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as problem:  # about the file that was asked for, not its temporary name
        temporary.unlink(missing_ok=True)
        raise OSError(problem.errno, problem.strerror, os.fspath(path)) from None
    except BaseException:  # Ctrl-C too must leave no litter
        temporary.unlink(missing_ok=True)
        raise
