"""Writing files so that a reader never meets half of one."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


def write_atomically(
    path: str | os.PathLike[str],
    content: bytes | Callable[[BinaryIO], object],
) -> None:
    """Write a file under a temporary name beside it, flush it to disk, then rename it.

    Parameters
    ----------
    path : path-like
        Where the file goes; an existing file is replaced in one step.
    content : bytes, or a function that writes to the binary file it is given

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "answer.txt"
    >>> write_atomically(target, b"42")
    >>> target.read_bytes()
    b'42'
    """
    target = Path(path)
    descriptor, temporary = tempfile.mkstemp(
        dir=target.parent, prefix=".writing-", suffix=target.suffix
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            if callable(content):
                content(file)
            else:
                file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _default_mode())
        os.replace(temporary, target)
    except BaseException:  # Ctrl-C too must leave no litter
        Path(temporary).unlink(missing_ok=True)
        raise


def _default_mode() -> int:
    """Return the permissions that ``open`` would have given; ``mkstemp`` gives owner-only."""
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
