"""The secret of a user's own cache.

Whoever can write to a cache can replace what models are made of. Entries of the default cache
carry a checksum with a secret that only its user can read, so that those of others are not used.
A cache in a folder of one's choice may be shared, and has plain checksums.
"""

import os
import secrets
import stat
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

NAME = ".secret"
SECRET_BYTES = 32
PATIENCE = 1.0  # seconds for another process to write what it has created
BINARY = getattr(os, "O_BINARY", 0)  # Windows would write two bytes for a secret's byte 10


@lru_cache(maxsize=8)
def secret_of(folder: Path) -> bytes:
    """Return the secret in a folder, made at the first time.

    Where it can be neither read nor made, another one is returned every time: no entry is found.
    """
    path = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for _ in range(3):
            with suppress(FileExistsError):
                return _created(path)
            found = _read(path)
            if found is not None:
                return found
            path.unlink()  # of another user, readable by others, or incomplete
    except OSError:
        pass
    return secrets.token_bytes(SECRET_BYTES)


def _created(path: Path) -> bytes:
    secret = secrets.token_bytes(SECRET_BYTES)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o600)
    try:
        os.write(descriptor, secret)
    finally:
        os.close(descriptor)
    return secret


def _read(path: Path) -> bytes | None:
    """Return a secret that only this user can have written and read; else None."""
    end = time.monotonic() + PATIENCE
    while True:
        flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            descriptor = os.open(path, os.O_RDONLY | flags | BINARY)
        except OSError:
            return None
        try:
            status = os.fstat(descriptor)
            content = os.read(descriptor, SECRET_BYTES + 1) if _is_private(status) else b""
        finally:
            os.close(descriptor)
        if len(content) == SECRET_BYTES:
            return content
        if content or not _is_private(status) or time.monotonic() > end:
            return None
        time.sleep(0.01)


def _is_private(status: os.stat_result) -> bool:
    if not stat.S_ISREG(status.st_mode):
        return False
    if not hasattr(os, "geteuid"):  # Windows: the folder is the user's by its access list
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & 0o077
